"""All answers of a run, and the file in which they are stored."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError, PrivacyError
from synth_engine.hierarchy import Growth
from synth_engine.measurement.answer import Discovery, GroupSizes, Leaves, Measurement, Scores
from synth_engine.measurement.question import Call
from synth_engine.privacy.dirichlet_multinomial import Resampled
from synth_engine.privacy.receipt import canonical
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/answers/1"

Arrays = Mapping[str, npt.NDArray[Any]]


class _Answer(Protocol):
    """An answer that writes itself: its public facts as JSON, and its numbers."""

    def header(self) -> JsonObject: ...

    def arrays(self) -> Arrays: ...

    @classmethod
    def read(cls, header: Mapping[str, object], arrays: Arrays) -> Self: ...


class _Kind(NamedTuple):
    """The form in which the answers of one kind are stored. field: of `Answers`, and of the
    header; prefix: of the names of arrays; digested, others: the arrays of an answer whose
    values are in the digest, and those whose digest is in its header."""

    field: str
    type: type[_Answer]
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
)
"""All kinds, in the order in which the digest takes their arrays, which must never change."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Everything a mechanism got from the room: the calls, and the answers of each kind, in the order in which it asked."""

    measurements: tuple[Measurement, ...]
    selections: tuple[int, ...] = ()
    discoveries: tuple[Discovery, ...] = ()
    calls: tuple[Call, ...] = ()
    group_sizes: GroupSizes | None = None
    scores: tuple[Scores, ...] = ()
    growths: tuple[Growth, ...] = ()
    leaves: tuple[Leaves, ...] = ()
    resampled: Resampled | None = None

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

    def to_bytes(self) -> bytes:
        """One .npz file without pickles."""
        header = np.frombuffer(canonical(self._header()), dtype=np.uint8)
        arrays = {**self._arrays(digested=True), **self._arrays(digested=False)}
        file = io.BytesIO()
        # A pickle runs code when it is read, and these files are handed to auditors.
        np.savez_compressed(file, header=header, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, path: Path | str) -> Answers:
        """Read what `save` wrote. Errors: InputError if it is something else."""
        try:
            with np.load(Path(path), allow_pickle=False) as archive:
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
        answers: dict[str, Any] = {}
        for kind in _KINDS:
            answers[kind.field] = tuple(
                kind.type.read(
                    entry,
                    {
                        part: archive[kind.array_name(index, part)]
                        for part in kind.digested + kind.others
                    },
                )
                for index, entry in enumerate(header.get(kind.field, ()))
            )
        sizes = header.get("group_sizes")
        return cls(
            **answers,
            calls=tuple(map(Call.from_json, header["calls"])),
            selections=tuple(header["selections"]),
            group_sizes=GroupSizes.read(sizes, {"": archive["group_sizes"]}) if sizes else None,
            resampled=Resampled.read(header.get("resampled"), archive),
        )

    def _arrays(self, *, digested: bool) -> Arrays:
        """The arrays of all answers by their names in a file: those in the digest, or the others."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for kind in _KINDS:
            parts = kind.digested if digested else kind.others
            for index, answer in enumerate(getattr(self, kind.field)):
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
            entries = [answer.header() for answer in getattr(self, kind.field)]
            # Kinds that came later are left out where they were not asked for: older answers have their old digest.
            if entries or kind.field == "measurements":
                header[kind.field] = entries
        if self.group_sizes is not None:
            header["group_sizes"] = self.group_sizes.header()
        if self.resampled is not None:
            header["resampled"] = self.resampled.header()
        return header


def not_of_this_plan() -> InputError:
    """The error of a plan that is given the answers of another one."""
    return InputError(
        "these answers are not of this plan", repair="use the answers of this release"
    )
