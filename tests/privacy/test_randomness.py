"""All noise is a function of fresh bytes of the operating system, or of OpenDP's own generator: nothing is
drawn ahead, seeded, or stretched from a few bytes, and no two processes share it.

The laws of the samplers are tested elsewhere; a pseudo-random generator has them as well. These tests ask
where the noise comes from. They fail by chance only where two independent draws agree; every draw has at
least 100 bits of entropy, so that this happens less than once in 10^29 runs.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import random
import secrets
import subprocess
import sys
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import NoReturn

import numpy as np
import pytest

from synth_engine.measurement import Noise
from synth_engine.room import discovery, growth, noise, selection
from synth_engine.room.samplers import SecureSampler
from synth_engine.sources import opening
from tests.privacy.planted import plant

WIDE = Fraction(2**20)
CELLS = 400
ZEROS = np.zeros(CELLS, dtype=np.int64)
ALIKE = np.zeros(16, dtype=np.int64)
LAPLACE = Noise(law="discrete-laplace", scale=WIDE)
ROUNDED = Noise(law="rounded-gaussian", scale=WIDE)
DISCRETE = Noise(law="discrete-gaussian", scale=WIDE)

Draw = Callable[[], Hashable]


def of_noise(law: Noise) -> Draw:
    return lambda: tuple(noise.noisy(ZEROS, law).tolist())


def choices(law: selection.SelectionLaw) -> Draw:
    """Sixty choices among sixteen equal scores: 240 bits."""
    return lambda: tuple(selection.choose(ALIKE, scale=Fraction(1), law=law) for _ in range(60))


def strangers() -> Hashable:
    return tuple(
        discovery.sample_without_replacement(5, size=10**30, taken=(), below=secrets.randbelow)
    )


def numbers_passing() -> Hashable:
    """How many of a million pass, forty times: about 5 bits each."""
    return tuple(
        discovery.number_passing(10**6, scale=Fraction(10), threshold=100) for _ in range(40)
    )


def tree_nodes() -> Hashable:
    """Which of 400 nodes pass by chance, where one in four does, and where about 30 of 100,000 do."""
    often = SecureSampler().passing(
        ZEROS, threshold=1, noise=Noise(law="discrete-laplace", scale=Fraction(1))
    )
    nobody = np.zeros(100_000, dtype=np.int64)
    seldom = SecureSampler().passing(
        nobody, threshold=75, noise=Noise(law="discrete-laplace", scale=Fraction(10))
    )
    return tuple(np.flatnonzero(often).tolist()), tuple(np.flatnonzero(seldom).tolist())


def parts() -> Hashable:
    return tuple(SecureSampler().part(np.full(40, 1_000, dtype=np.int64), 3).ravel().tolist())


def below() -> Hashable:
    return tuple(growth.uniform(np.full(CELLS, 10**6, dtype=np.int64)).tolist())


def records_kept() -> Hashable:
    """Which half of the 200 records of one unit are kept: 195 bits."""
    one_unit = np.zeros(200, dtype=np.int32)
    return tuple(opening._truncate(one_unit, most=100, random_bytes=os.urandom).tolist())


OURS: dict[str, tuple[Draw, int]] = {
    "discrete Laplace noise": (
        of_noise(LAPLACE),
        int(CELLS * math.log2(2 * math.e * float(WIDE))),
    ),
    "rounded Gaussian noise": (
        of_noise(ROUNDED),
        int(CELLS * math.log2(math.sqrt(2 * math.pi * math.e) * float(WIDE))),
    ),
    "discrete Gaussian noise": (
        of_noise(DISCRETE),
        int(CELLS * math.log2(math.sqrt(2 * math.pi * math.e) * float(WIDE))),
    ),
    "ranks of strangers": (strangers, int(5 * math.log2(10**30)) - 5),
    "numbers of strangers": (numbers_passing, 40 * 4),
    "nodes of a tree": (tree_nodes, 300),
    "records taken out of nodes": (parts, int(40 * math.log2(math.comb(1_000, 3)))),
    "numbers below a bound": (below, int(CELLS * math.log2(10**6))),
    "records kept of a unit": (records_kept, int(math.log2(math.comb(200, 100)))),
}
"""What is drawn from bytes of the operating system, and at least how many bits of entropy it has."""
THEIRS: dict[str, Draw] = {
    "permute-and-flip": choices("permute-and-flip"),
    "Gumbel noise": choices("gumbel"),
}
"""What OpenDP draws from its own generator, which no Python code can replace."""
DRAWS: dict[str, Draw] = {name: draw for name, (draw, _) in OURS.items()} | THEIRS


# ---- two processes never share noise
# ------------------------------------------------------------------------------


def in_a_fork(draw: Draw) -> Callable[[], bytes]:
    """Begins to draw in a child of this process; the result is read, and the child waited for, by the call of
    what is returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, pickle.dumps(draw()))
        finally:
            os._exit(0)
    os.close(writing)

    def result() -> bytes:
        with os.fdopen(reading, "rb") as pipe:
            found = pipe.read()
        os.waitpid(child, 0)
        assert found, "the child drew nothing"
        return found

    return result


def forks_agree(draw: Draw) -> bool:
    """Whether two children, forked after this process has drawn already, or this process itself, draw the
    same."""
    draw()  # whatever is drawn ahead is there when the children come into being
    waiting = [in_a_fork(draw) for _ in range(2)]
    found = {pickle.dumps(draw()), *(result() for result in waiting)}
    return len(found) < 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_forked_processes_draw_their_own_noise(draw: Draw) -> None:
    assert not forks_agree(draw)


def drawn_ahead(patch: pytest.MonkeyPatch) -> None:
    """Many bytes at once, which are used up one after another."""
    plant(
        patch,
        noise._uniform,
        "np.frombuffer(os.urandom(8 * number), dtype=np.uint64)",
        "(POOL.extend(os.urandom(2**16) if len(POOL) < 2**15 else b''),"
        " np.array([int.from_bytes([POOL.pop() for _ in range(8)], 'little') for _ in range(number)], "
        "dtype=np.uint64))[1]",
        POOL=bytearray(os.urandom(2**16)),
    )


def generator_of_the_process(patch: pytest.MonkeyPatch) -> None:
    """NumPy's PCG64, seeded once from the operating system."""
    planted_generator(patch, np.random.Generator(np.random.PCG64()))


def generator_with_a_seed(patch: pytest.MonkeyPatch) -> None:
    planted_generator(patch, np.random.Generator(np.random.PCG64(12345)))


def planted_generator(patch: pytest.MonkeyPatch, generator: np.random.Generator) -> None:
    plant(
        patch,
        noise._uniform,
        "np.frombuffer(os.urandom(8 * number), dtype=np.uint64)",
        "GENERATOR.integers(0, 2**64, size=number, dtype=np.uint64)",
        GENERATOR=generator,
    )


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    "name", ["discrete Laplace noise", "rounded Gaussian noise", "discrete Gaussian noise"]
)
@pytest.mark.parametrize(
    "mistake",
    [drawn_ahead, generator_of_the_process, generator_with_a_seed],
    ids=lambda mistake: mistake.__name__,
)
def test_noise_that_forks_share_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    assert forks_agree(DRAWS[name])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_selections_of_opendp_that_are_drawn_ahead_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stock: dict[object, list[int]] = {}
    plant(
        monkeypatch,
        selection.choose,
        "_measurement(law, _exact_float(scale))(scores.tolist())",
        "(STOCK[law] if STOCK.get(law) else STOCK.setdefault(law, [_measurement(law, _exact_float(scale))"
        "(scores.tolist()) for _ in range(200)])).pop()",
        STOCK=stock,
    )
    assert forks_agree(THEIRS["permute-and-flip"])


_FRESH = (
    "import pickle, sys; from tests.privacy import test_randomness as t; "
    "sys.stdout.write(t.fingerprints({planted!r}))"
)


def fingerprints(planted: str) -> str:
    """Of every draw, one on a line, in this process; `planted`: a mistake of this module, or nothing."""
    with pytest.MonkeyPatch.context() as patch:
        if planted:
            globals()[planted](patch)
        return "\n".join(
            hashlib.sha256(pickle.dumps(draw())).hexdigest() for draw in DRAWS.values()
        )


def fresh_processes(planted: str = "") -> list[list[str]]:
    """The fingerprints of all draws in two processes that were started one beside the other."""
    command = [sys.executable, "-c", _FRESH.format(planted=planted)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    found = [process.communicate()[0].split("\n") for process in started]
    assert all(
        process.returncode == 0 and len(lines) == len(DRAWS)
        for process, lines in zip(started, found, strict=True)
    )
    return found


@pytest.mark.slow
def test_fresh_processes_draw_their_own_noise() -> None:
    one, two = fresh_processes()
    assert not set(one) & set(two)


@pytest.mark.slow
def test_noise_that_is_the_same_in_every_process_is_noticed() -> None:
    one, two = fresh_processes(generator_with_a_seed.__name__)
    assert [a == b for a, b in zip(one, two, strict=True)].count(True) == 3, (
        "all laws that draw by `noise._uniform`"
    )


# ---- noise is a function of fresh bytes, and uses as many as it has entropy
# -----------------------------------------


class Tape:
    """Bytes in place of those of the operating system: as random, but known, and the same for the same key.
    `changed`: the place of eight bytes that are others than the key says."""

    def __init__(self, key: int, *, changed: int | None = None) -> None:
        self.key, self.changed, self.taken, self.calls = key, changed, 0, 0

    def __call__(self, number: int) -> bytes:
        found = bytearray()
        for place in range(self.taken, self.taken + number):
            word, byte = divmod(place, 8)
            found.append(self._word(word)[byte])
        self.taken += number
        self.calls += 1
        return bytes(found)

    def _word(self, word: int) -> bytes:
        other = b"other" if word == self.changed else b""
        return hashlib.blake2b(
            word.to_bytes(8, "little") + other,
            key=self.key.to_bytes(8, "little"),
            digest_size=8,
        ).digest()


def on(tape: Callable[[int], bytes], draw: Draw) -> Hashable:
    """What is drawn when this is where all random bytes of Python come from: `os.urandom`, and `secrets` with
    it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", tape)
        patch.setattr(random, "_urandom", tape)
        return draw()


def comes_from_fresh_bytes(draw: Draw, bits: int) -> bool:
    first = Tape(1)
    drawn = on(first, draw)
    return drawn == on(Tape(1), draw) and drawn != on(Tape(2), draw) and 8 * first.taken >= bits


@pytest.mark.parametrize(("draw", "bits"), OURS.values(), ids=OURS.keys())
def test_noise_is_a_function_of_bytes_of_the_operating_system_and_of_enough_of_them(
    draw: Draw, bits: int
) -> None:
    assert bits >= 100
    assert comes_from_fresh_bytes(draw, bits)


def generator_of_the_call(patch: pytest.MonkeyPatch) -> None:
    """A new PCG64 in every call, seeded by 16 bytes of the operating system."""
    plant(
        patch,
        noise._uniform,
        "np.frombuffer(os.urandom(8 * number), dtype=np.uint64)",
        "np.random.Generator(np.random.PCG64(int.from_bytes(os.urandom(16), 'little')))"
        ".integers(0, 2**64, size=number, dtype=np.uint64)",
    )


def generator_of_the_call_by_numpy(patch: pytest.MonkeyPatch) -> None:
    """The same, seeded as NumPy does it."""
    plant(
        patch,
        noise._uniform,
        "np.frombuffer(os.urandom(8 * number), dtype=np.uint64)",
        "np.random.default_rng().integers(0, 2**64, size=number, dtype=np.uint64)",
    )


@pytest.mark.parametrize(
    "mistake",
    [
        drawn_ahead,
        generator_of_the_process,
        generator_with_a_seed,
        generator_of_the_call,
        generator_of_the_call_by_numpy,
    ],
    ids=lambda mistake: mistake.__name__,
)
@pytest.mark.parametrize(
    "name", ["discrete Laplace noise", "rounded Gaussian noise", "discrete Gaussian noise"]
)
def test_noise_from_elsewhere_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    assert not comes_from_fresh_bytes(*OURS[name])


def test_every_cell_has_bytes_of_its_own() -> None:
    """Each word of Laplace noise on 20 cells is exchanged alone: no more than one cell changes, and each does
    by some."""
    cells, moved = 20, set()
    vector = np.zeros(cells, dtype=np.int64)
    tape = Tape(3)
    drawn = on(tape, lambda: tuple(noise.noisy(vector, LAPLACE).tolist()))
    for word in range(tape.taken // 8):
        other = on(Tape(3, changed=word), lambda: tuple(noise.noisy(vector, LAPLACE).tolist()))
        apart = [cell for cell in range(cells) if drawn[cell] != other[cell]]
        assert len(apart) <= 1
        moved |= set(apart)
    assert len(moved) == cells


def words_of(*words: int) -> Callable[[int], bytes]:
    """Bytes that begin with these words of 63 bits, each in the upper bits of eight bytes."""
    left = bytearray(b"".join((word << 1).to_bytes(8, sys.byteorder) for word in words))

    def taken(number: int) -> bytes:
        found = bytes(left[:number])
        del left[:number]
        return found

    return taken


def rejects_what_does_not_divide() -> bool:
    """Below three quarters of 2^63: the last quarter of all words would make the first third too likely."""
    bound = 3 * 2**61
    places = [0, 7, bound - 1]
    kept = [
        on(words_of(place), lambda: growth.uniform(np.array([bound])).tolist())
        for place in places
    ]
    again = on(
        words_of(bound, 2**63 - 1, 5), lambda: growth.uniform(np.array([bound])).tolist()
    )
    return kept == [[place] for place in places] and again == [5]


def test_numbers_below_a_bound_are_exactly_uniform() -> None:
    assert rejects_what_does_not_divide()


def test_numbers_below_a_bound_that_are_not_drawn_again_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(
        monkeypatch,
        growth.uniform,
        "np.flatnonzero(random_bits >= most)",
        "np.flatnonzero(random_bits >= np.uint64(2**63))",
    )
    assert not rejects_what_does_not_divide()


def no_bytes(number: int) -> NoReturn:
    raise AssertionError("random bytes of Python were asked for")


@pytest.mark.parametrize("draw", THEIRS.values(), ids=THEIRS.keys())
def test_opendp_draws_from_a_generator_of_its_own(draw: Draw) -> None:
    assert on(no_bytes, draw) != on(no_bytes, draw)


@pytest.mark.parametrize(
    "generator", ["np.random.default_rng()", "np.random.default_rng(12345)"]
)
def test_a_selection_that_is_not_of_opendp_is_noticed(
    generator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(
        monkeypatch,
        selection.choose,
        "_measurement(law, _exact_float(scale))(scores.tolist())",
        f"{generator}.integers(scores.size)",
    )
    draw = THEIRS["permute-and-flip"]
    if "12345" in generator:
        assert on(no_bytes, draw) == on(no_bytes, draw)
    else:
        with pytest.raises(AssertionError, match="random bytes of Python"):
            on(no_bytes, draw)
