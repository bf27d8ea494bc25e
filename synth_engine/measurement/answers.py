"""All answers of a run, and the file in which they are stored."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError, PrivacyError
from synth_engine.hierarchy import Growth
from synth_engine.measurement.answer import (
    BoxChoices,
    BoxCounts,
    Discovery,
    GroupSizes,
    Leaves,
    Measurement,
    Scores,
    Selection,
)
from synth_engine.measurement.question import Call
from synth_engine.privacy.dirichlet_multinomial import Resampled
from synth_engine.privacy.receipt import canonical

SCHEMA = "synth_engine/answers/1"

Arrays = Mapping[str, npt.NDArray[Any]]
Answer = (
    Measurement
    | Selection
    | Discovery
    | Scores
    | Growth
    | Leaves
    | Resampled
    | GroupSizes
    | BoxChoices
    | BoxCounts
)
AnyAnswer = TypeVar("AnyAnswer", bound=Answer)

_KIND_OF_VERB: Mapping[str, type[Answer]] = {
    "measure": Measurement,
    "interaction": Measurement,
    "items": Measurement,
    "intervals": Measurement,
    "select": Selection,
    "refine": Selection,
    "score": Scores,
    "discover": Discovery,
    "grow": Growth,
    "leaves": Leaves,
    "resample": Resampled,
    "group-sizes": GroupSizes,
    "divide": BoxChoices,
    "boxes": BoxCounts,
}


class _Kind(NamedTuple):
    """The form in which the answers of one kind are stored. field: of the header; prefix: of the names of
    arrays; digested, others: the arrays of an answer whose values are in the digest, and those whose digest
    is in its header."""

    field: str
    type: type[Measurement | Scores | Growth | Leaves | Discovery | BoxChoices | BoxCounts]
    prefix: str
    digested: tuple[str, ...]
    others: tuple[str, ...] = ()

    def array_name(self, index: int, part: str) -> str:
        return f"{self.prefix}_{index}" + (f"_{part}" if part else "")


_KINDS = (
    _Kind("measurements", Measurement, "values", ("",)),
    _Kind("scores", Scores, "scores", ("",)),
    _Kind("growths", Growth, "grown", ("opened", "counts", "sizes")),
    _Kind("leaves", Leaves, "leaves", ("values",), ("levels", "prefixes")),
    _Kind("discoveries", Discovery, "discoveries", ()),
    _Kind("divisions", BoxChoices, "divisions", ("",)),
    _Kind("boxes", BoxCounts, "boxes", ("",)),
)
"""All kinds, in the order in which the digest takes their arrays, which must never change."""


@dataclass(frozen=True)
class AnsweredCall:
    """A call and its answer, whose kind follows from the verb of the query."""

    call: Call
    answer: Answer

    def __post_init__(self) -> None:
        if not isinstance(self.answer, _KIND_OF_VERB[self.call.query.verb]):
            raise TypeError(f"{self.call.query.verb} has answers of another kind")


@dataclass(frozen=True, eq=False)
class Answers:
    """Everything that a mechanism got from the room: its calls with their answers, in the order in which it
    asked."""

    answered: tuple[AnsweredCall, ...] = ()

    def __len__(self) -> int:
        return len(self.answered)

    def __getitem__(self, part: slice) -> Answers:
        """The answers to consecutive calls, such as those of one stage of a plan."""
        return Answers(self.answered[part])

    def of(self, kind: type[AnyAnswer]) -> tuple[AnyAnswer, ...]:
        """The answers of one kind, in order."""
        return tuple(line.answer for line in self.answered if isinstance(line.answer, kind))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(line.call for line in self.answered)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.of(Measurement)

    @property
    def selections(self) -> tuple[int, ...]:
        return tuple(selection.index for selection in self.of(Selection))

    @property
    def discoveries(self) -> tuple[Discovery, ...]:
        return self.of(Discovery)

    @property
    def scores(self) -> tuple[Scores, ...]:
        return self.of(Scores)

    @property
    def growths(self) -> tuple[Growth, ...]:
        return self.of(Growth)

    @property
    def leaves(self) -> tuple[Leaves, ...]:
        return self.of(Leaves)

    @property
    def resampled(self) -> Resampled | None:
        return next(iter(self.of(Resampled)), None)

    @property
    def group_sizes(self) -> GroupSizes | None:
        return next(iter(self.of(GroupSizes)), None)

    @property
    def digest(self) -> str:
        """SHA-256 over cliques, noise, shapes and little-endian values; independent of the file format."""
        sha = hashlib.sha256(SCHEMA.encode())
        sha.update(canonical(self._header()))
        for values in self._arrays(digested=True).values():
            # Fixed byte order, so that a verifier on another machine computes the same digest.
            sha.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
        return sha.hexdigest()

    def save(self, path: Path | str) -> None:
        """Write one .npz file without pickles."""
        Path(path).write_bytes(self.to_bytes())

    def to_bytes(self, *, compressed: bool = True) -> bytes:
        """One .npz file without pickles."""
        header = np.frombuffer(canonical(self._header()), dtype=np.uint8)
        arrays = {**self._arrays(digested=True), **self._arrays(digested=False)}
        file = io.BytesIO()
        # A pickle runs code when it is read, and these files are handed to auditors.
        save = np.savez_compressed if compressed else np.savez
        save(file, header=header, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, path: Path | str | BinaryIO) -> Answers:
        """Read what `save` wrote. Errors: InputError if it is something else."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                return cls._read(json.loads(archive["header"].tobytes()), archive)
        except (
            OSError,
            EOFError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            PrivacyError,
            BadZipFile,
        ) as error:
            raise InputError(
                "this is no file of noisy answers", repair="measure again"
            ) from error

    @classmethod
    def _read(cls, header: Mapping[str, Any], archive: Arrays) -> Answers:
        if header["schema"] != SCHEMA or "measurements" not in header:
            raise KeyError("schema")
        answers: dict[type[Answer], Iterator[Answer]] = {
            kind.type: iter(
                [
                    kind.type.read(
                        entry,
                        {
                            part: archive[kind.array_name(index, part)]
                            for part in kind.digested + kind.others
                        },
                    )
                    for index, entry in enumerate(header.get(kind.field, ()))
                ]
            )
            for kind in _KINDS
        }
        answers[Selection] = iter([Selection(index) for index in header["selections"]])
        if sizes := header.get("group_sizes"):
            answers[GroupSizes] = iter([GroupSizes.read(sizes, {"": archive["group_sizes"]})])
        if resampled := header.get("resampled"):
            answers[Resampled] = iter([Resampled.read(resampled, archive)])
        # Each kind is stored by itself, in the order in which it was asked for.
        answered = []
        for call in map(Call.from_json, header["calls"]):
            answer = next(answers.get(_KIND_OF_VERB[call.query.verb], iter(())), None)
            if answer is None:
                raise ValueError("fewer answers than calls")
            answered.append(AnsweredCall(call, answer))
        if any(next(remaining, None) is not None for remaining in answers.values()):
            raise ValueError("more answers than calls")
        return cls(tuple(answered))

    def _arrays(self, *, digested: bool) -> Arrays:
        """The arrays of all answers by their names in a file: those in the digest, or the others."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for kind in _KINDS:
            parts = kind.digested if digested else kind.others
            for index, answer in enumerate(self.of(kind.type)):
                own = answer.arrays()
                arrays |= {kind.array_name(index, part): own[part] for part in parts}
        if digested and self.resampled is not None:
            arrays |= self.resampled.arrays()
        if digested and self.group_sizes is not None:
            arrays["group_sizes"] = self.group_sizes.values
        return arrays

    def _header(self) -> dict[str, object]:
        header: dict[str, object] = {
            "schema": SCHEMA,
            "selections": list(self.selections),
            "calls": [call.to_json() for call in self.calls],
        }
        for kind in _KINDS:
            entries = [answer.header() for answer in self.of(kind.type)]
            # But for measurements, a kind that was not asked for is left out.
            if entries or kind.field == "measurements":
                header[kind.field] = entries
        if self.group_sizes is not None:
            header["group_sizes"] = self.group_sizes.header()
        if self.resampled is not None:
            header["resampled"] = self.resampled.header()
        return header
