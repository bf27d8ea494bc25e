"""Numbers are read many at a time where all are plain, and one by one otherwise. Which of the two it is
depends on other records, so both must give the same code for every text: else one record would decide how the
others are counted."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from synth_engine.codec.encoding import encode_column
from synth_engine.domain import Attribute, Integer, Number
from synth_engine.kinds import reading
from synth_engine.kinds.reading import MANY
from tests.privacy.planted import plant

WHOLE = Integer(name="whole", low=0, high=99, missing=("",))
DECIMAL = Number(
    name="decimal",
    low=0.0,
    high=100.0,
    edges=tuple(2.0 * edge for edge in range(51)),
    missing=("",),
)
PLAIN = [str(number) for number in range(MANY)]
"""Different ones: each text is read once."""
ODD = [
    "0x10",
    "0X1F",
    "-0x1",
    "1e400",
    "inf",
    "nan",
    "infinity",
    "1e1",
    " 7",
    "7.0",
    "+7",
    "1_0",
    "٧",
    "x",
    "",
    "9" * 400,
]


def code(attribute: Attribute, text: str, *, among: list[str]) -> int:
    return int(encode_column(attribute, pa.array([*among, text], type=pa.string()))[-1])


def depends_on_others(attribute: Attribute) -> list[str]:
    """Texts that have another code among many plain numbers than by themselves, or that change the codes of
    those."""
    alone = encode_column(attribute, pa.array(PLAIN, type=pa.string())).tolist()
    found = []
    for text in ODD:
        among = encode_column(attribute, pa.array([*PLAIN, text], type=pa.string())).tolist()
        if among[:-1] != alone or among[-1] != code(attribute, text, among=[]):
            found.append(text)
    return found


@pytest.mark.parametrize("attribute", [WHOLE, DECIMAL], ids=lambda attribute: attribute.name)
def test_a_number_has_one_code_whatever_records_are_around_it(attribute: Attribute) -> None:
    assert depends_on_others(attribute) == []


def take_for_plain(patch: pytest.MonkeyPatch, pattern: str) -> None:
    plant(
        patch,
        reading._cast,
        "pc.match_substring_regex(array, plainly)",
        f'pc.match_substring_regex(array, "{pattern}")',
    )


def hexadecimal_taken_for_plain(patch: pytest.MonkeyPatch) -> None:
    """The bulk cast takes 0x10 for sixteen; read by itself it is no number."""
    take_for_plain(patch, "^(0x[0-9A-Fa-f]+|[0-9]{1,9})$")


def capital_hexadecimal_taken_for_plain(patch: pytest.MonkeyPatch) -> None:
    take_for_plain(patch, "^(0X[0-9A-Fa-f]+|[0-9]{1,9})$")


def others_left_at_zero(patch: pytest.MonkeyPatch) -> None:
    """What is not plainly written is not read at all where many are read at once."""
    plant(patch, reading._cast, "np.flatnonzero(~plain)", "np.flatnonzero(~plain)[:0]")


@pytest.mark.parametrize(
    "mistake",
    [hexadecimal_taken_for_plain, capital_hexadecimal_taken_for_plain, others_left_at_zero],
    ids=lambda mistake: mistake.__name__,
)
def test_a_bulk_cast_that_reads_more_than_single_reading_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    assert depends_on_others(WHOLE) or depends_on_others(DECIMAL)
