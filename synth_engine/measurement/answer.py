"""Noisy answers, one kind for each way of asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import Choices, NodeSet
from synth_engine.measurement.noise import Noise
from synth_engine.measurement.question import Clique, Counts
from synth_engine.strict_json import JsonObject

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """Noisy counts of a clique. `values`: int64, one axis for each attribute of the clique, in its order;
    along it codes, or the bins into which they were merged. interaction: they are not of the counts, but of
    their interaction. partition: of intervals, the digest of their cuts and divisors
    (`question.partition_digest`); else empty. first: where noise was added to an answer afterwards, the
    answer that the run had; it is never stored."""

    clique: Clique
    noise: Noise
    values: Counts
    interaction: bool = False
    partition: str = ""
    first: Measurement | None = None

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != len(self.clique):
            raise TypeError("values are int64 with one axis for each attribute")

    @property
    def as_answered(self) -> Measurement:
        """The answer that the run had: what was asked after it follows from it."""
        return self if self.first is None else self.first

    def header(self) -> JsonObject:
        shared: JsonObject = {
            "clique": list(self.clique),
            "noise": self.noise.to_json(),
            "shape": list(self.values.shape),
        }
        # Written where they are set alone, so that earlier answers keep their digests.
        if self.partition:
            shared["partition"] = self.partition
        return shared | ({"interaction": True} if self.interaction else {})

    def arrays(self) -> Arrays:
        return {"": self.values}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> Measurement:
        """Reads what `header` and `arrays` wrote. Errors: KeyError, TypeError, ValueError."""
        return cls(
            clique=tuple(header["clique"]),
            noise=Noise.from_json(header["noise"]),
            values=arrays[""],
            interaction=header.get("interaction", False),
            partition=str(header.get("partition", "")),
        )


@dataclass(frozen=True)
class Selection:
    """The index of the candidate that was selected, in the order of the candidates of its query."""

    index: int


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """The values of a weak attribute whose noisy counts reach a threshold: their numbers within the public
    set, which may be larger than any machine word, and those counts, in the order of the numbers."""

    attribute: str
    noise: Noise
    threshold: int
    ranked_counts: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        ranks = [rank for rank, _ in self.ranked_counts]
        if ranks != sorted(set(ranks)) or any(
            type(n) is not int for pair in self.ranked_counts for n in pair
        ):
            raise TypeError("what was found is whole numbers, in order")
        # A count below the threshold cannot come from the mechanism, so the file was changed.
        if any(count < self.threshold or rank < 0 for rank, count in self.ranked_counts):
            raise TypeError("what was found lies below the threshold")

    def header(self) -> JsonObject:
        return {
            "attribute": self.attribute,
            "noise": self.noise.to_json(),
            "threshold": self.threshold,
            "found": [list(pair) for pair in self.ranked_counts],
        }

    def arrays(self) -> Arrays:
        return {}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> Discovery:
        """Reads what `header` wrote; the numbers of values are too large for arrays. Errors:
        KeyError, TypeError."""
        del arrays
        return cls(
            attribute=header["attribute"],
            noise=Noise.from_json(header["noise"]),
            threshold=header["threshold"],
            ranked_counts=tuple((rank, count) for rank, count in header["found"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaves:
    """Noisy counts of the parts of a hierarchy: int64, shape (parts, …), with an axis for each attribute of
    `by`. Where there is a threshold, what does not reach it is 0."""

    partition: NodeSet
    by: Clique = ()
    noise: Noise
    threshold: int | None = None
    values: Counts

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 + len(self.by):
            raise TypeError(
                "leaves are int64, with an axis for parts and one for each attribute"
            )
        if len(self.values) != len(self.partition):
            raise TypeError("leaves have a count for each part")

    def arrays(self) -> Arrays:
        return {
            "values": self.values,
            "levels": self.partition.levels,
            "prefixes": self.partition.prefixes,
        }

    def header(self) -> JsonObject:
        shared: JsonObject = {
            "columns": list(self.partition.columns),
            "by": list(self.by),
            "noise": self.noise.to_json(),
        }
        shape = {"shape": list(self.values.shape), "parts": self.partition.digest}
        return (
            shared | shape | ({} if self.threshold is None else {"threshold": self.threshold})
        )

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> Leaves:
        """Reads what `header` and `arrays` wrote. Errors: KeyError, TypeError, ValueError."""
        levels, prefixes = arrays["levels"], arrays["prefixes"]
        leaves = cls(
            partition=NodeSet(
                columns=tuple(header["columns"]), levels=levels, prefixes=prefixes
            ),
            by=tuple(header["by"]),
            noise=Noise.from_json(header["noise"]),
            threshold=header.get("threshold"),
            values=arrays["values"],
        )
        # The header is what the digest of the answers covers: the arrays must be those that it
        # describes.
        if leaves.header() != header:
            raise ValueError("other parts than they were")
        return leaves


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxChoices:
    """The column by which each box is divided: an index of `columns`, or `UNDIVIDED` for one that was not
    asked about."""

    columns: Clique
    choices: Choices

    def __post_init__(self) -> None:
        if self.choices.dtype != np.int64 or self.choices.ndim != 1 or not self.choices.size:
            raise TypeError("choices of columns are int64 in one row")

    def header(self) -> JsonObject:
        return {"columns": list(self.columns), "boxes": int(self.choices.size)}

    def arrays(self) -> Arrays:
        return {"": self.choices}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> BoxChoices:
        return cls(columns=tuple(header["columns"]), choices=arrays[""])


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxCounts:
    """Noisy counts of boxes, in their order: int64, one axis. boxes: the digest of what they are counts of
    (`Boxes.digest`)."""

    boxes: str
    noise: Noise
    values: Counts

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or not self.values.size:
            raise TypeError("counts of boxes are int64 in one row")

    def header(self) -> JsonObject:
        return {
            "boxes": self.boxes,
            "noise": self.noise.to_json(),
            "number": int(self.values.size),
        }

    def arrays(self) -> Arrays:
        return {"": self.values}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> BoxCounts:
        return cls(
            boxes=str(header["boxes"]),
            noise=Noise.from_json(header["noise"]),
            values=arrays[""],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSizes:
    """Noisy numbers of units by how many records each has: int64, `values[k - 1]` of those with k."""

    noise: Noise
    values: Counts

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or not self.values.size:
            raise TypeError("group sizes are int64 in one row")

    def header(self) -> JsonObject:
        return {"noise": self.noise.to_json()}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> GroupSizes:
        return cls(noise=Noise.from_json(header["noise"]), values=arrays[""])


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Noisy scores of candidates, in their order: int64, one axis."""

    noise: Noise
    values: Counts

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or not self.values.size:
            raise TypeError("scores are int64 in one row")

    def header(self) -> JsonObject:
        return {"noise": self.noise.to_json(), "number": int(self.values.size)}

    def arrays(self) -> Arrays:
        return {"": self.values}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Arrays) -> Scores:
        return cls(noise=Noise.from_json(header["noise"]), values=arrays[""])
