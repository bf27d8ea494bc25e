"""What leaves the room: noisy answers, the calls that produced them, and the protocol by which to ask.

Everything here is safe to store with a release. Nothing here has seen a row.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError, PrivacyError
from synth_engine.hierarchy import Growth, Rule
from synth_engine.privacy import events, rounded
from synth_engine.privacy.loss import ratio
from synth_engine.privacy.receipt import canonical
from synth_engine.privacy.unit import Sensitivity
from synth_engine.privacy.urn import Resampled

if TYPE_CHECKING:
    from synth_engine.domain import Domain

Clique = tuple[str, ...]
Counts = npt.NDArray[np.int64]
Merged = Mapping[str, npt.NDArray[np.integer[Any]]]
"""By attribute: the bin of each of its codes, from 0 on without a gap. Public, or a function of paid answers alone."""
NoiseLaw = Literal["discrete-laplace", "discrete-gaussian", "rounded-gaussian"]
SCHEMA = "synth_engine/answers/1"
_SMALLEST_VARIANCE = 1e-18


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise for one table of counts. `scale`: the Laplace scale, or the Gaussian sigma; exactly a float."""

    law: NoiseLaw
    scale: Fraction

    def __post_init__(self) -> None:
        if self.law not in get_args(NoiseLaw):
            raise TypeError(f"noise is one of: {', '.join(get_args(NoiseLaw))}")
        if not isinstance(self.scale, Fraction) or self.scale <= 0 or Fraction(float(self.scale)) != self.scale:
            raise TypeError("the scale must be a positive Fraction that a float holds exactly")

    @property
    def variance(self) -> float:
        """Of one cell, never zero; for the discrete Gaussian an upper bound that is tight for sigma of 1 and more. Rounding
        adds 1/12 to that of a Gaussian, less than 1e-7 off from sigma of 1 on, and never more (docs/proofs/rounded-gaussian.md)."""
        scale = float(self.scale)
        if self.law == "discrete-gaussian":
            return scale * scale
        if self.law == "rounded-gaussian":
            return scale * scale + 1 / 12 if scale >= 1 else max(rounded.moment(scale, 2), _SMALLEST_VARIANCE)
        ratio_of_neighbours = math.exp(-1 / scale)
        return max(2 * ratio_of_neighbours / math.expm1(-1 / scale) ** 2, _SMALLEST_VARIANCE)

    @property
    def mean_deviation(self) -> float:
        """The expected absolute value of the noise of one cell; for the Gaussian as for the continuous one, unless it is
        rounded and narrow."""
        scale = float(self.scale)
        if self.law == "rounded-gaussian" and scale < 1:
            return rounded.moment(scale, 1)
        if self.law != "discrete-laplace":
            return scale * math.sqrt(2 / math.pi)
        return -2 * math.exp(-1 / scale) / math.expm1(-2 / scale)

    def event(
        self, sensitivity: Sensitivity
    ) -> events.DiscreteLaplace | events.DiscreteGaussian | events.RoundedGaussian:
        """The event of answering a table of counts, or a vector of scores, with this noise."""
        if self.law == "discrete-laplace":
            return events.DiscreteLaplace(scale=self.scale, l1=sensitivity.l1)
        gaussian = events.RoundedGaussian if self.law == "rounded-gaussian" else events.DiscreteGaussian
        return gaussian(sigma_squared=self.scale**2, l2_squared=sensitivity.l2_squared)

    def to_json(self) -> dict[str, str]:
        return {"law": self.law, "scale": ratio(self.scale)}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Noise:
        return cls(law=obj["law"], scale=Fraction(obj["scale"]))


@dataclass(frozen=True, kw_only=True)
class Query:
    """A public question. `clique`: of a measurement, empty for the number of records, or the one attribute of a
    discovery or of items; `candidates`: of a selection, or of scores; `threshold`: of a discovery; `cells`: counts that get noise,
    written down or not, which of group sizes are as many as a unit may have records, or of choices and scores the cells of
    all candidates; `bins`: how many codes or bins each attribute counts by, of a measurement where codes were merged, and of
    every interaction; `rule`, `branching`: of a tree, by what it is grown, and how many children a node has at each depth."""

    verb: Literal["measure", "interaction", "select", "score", "discover", "group-sizes", "grow", "items", "resample"]
    clique: Clique = ()
    candidates: tuple[Clique, ...] = ()
    cells: int
    threshold: int | None = None
    bins: tuple[int, ...] | None = None
    rule: Rule | None = None
    branching: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        shared: dict[str, Any] = {"verb": self.verb, "clique": list(self.clique), "cells": self.cells}
        if self.verb == "discover":
            return shared | {"threshold": self.threshold}
        if self.rule is not None:
            return shared | {"branching": list(self.branching)} | {"grown": self.rule.to_json()}
        if self.bins is not None:
            return shared | {"bins": list(self.bins)}
        choosing = self.verb in ("select", "score")
        return shared | ({"candidates": [list(c) for c in self.candidates]} if choosing else {})

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Query:
        candidates = tuple(tuple(c) for c in obj.get("candidates", ()))
        return cls(
            verb=obj["verb"],
            clique=tuple(obj["clique"]),
            candidates=candidates,
            cells=obj["cells"],
            threshold=obj.get("threshold"),
            bins=tuple(obj["bins"]) if "bins" in obj else None,
            rule=Rule.from_json(obj["grown"]) if "grown" in obj else None,
            branching=tuple(obj.get("branching", ())),
        )


@dataclass(frozen=True, kw_only=True)
class Call:
    """A line of the journal: what was asked and what it cost. It holds no answer."""

    query: Query
    event: events.Event

    def to_json(self) -> dict[str, Any]:
        return {"query": self.query.to_json(), "event": self.event.to_json()}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Call:
        return cls(query=Query.from_json(obj["query"]), event=events.from_json(obj["event"]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """Noisy counts of a clique. `values`: int64, one axis for each attribute of the clique, in its order; along it codes,
    or the bins into which they were merged. interaction: they are not of the counts, but of their interaction."""

    clique: Clique
    noise: Noise
    values: Counts
    interaction: bool = False

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != len(self.clique):
            raise TypeError("values are int64 with one axis for each attribute")

    def header(self) -> dict[str, Any]:
        shared = {"clique": list(self.clique), "noise": self.noise.to_json(), "shape": list(self.values.shape)}
        return shared | ({"interaction": True} if self.interaction else {})


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """The values of a weak attribute whose noisy counts reach a threshold: their numbers within the public set, which may
    be larger than any machine word, and those counts, in the order of the numbers."""

    attribute: str
    noise: Noise
    threshold: int
    found: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        ranks = [rank for rank, _ in self.found]
        if ranks != sorted(set(ranks)) or any(type(n) is not int for pair in self.found for n in pair):
            raise TypeError("what was found is whole numbers, in order")
        if any(count < self.threshold or rank < 0 for rank, count in self.found):
            raise TypeError("what was found lies below the threshold")

    def to_json(self) -> dict[str, Any]:
        return {
            "attribute": self.attribute,
            "noise": self.noise.to_json(),
            "threshold": self.threshold,
            "found": [list(pair) for pair in self.found],
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Discovery:
        return cls(
            attribute=obj["attribute"],
            noise=Noise.from_json(obj["noise"]),
            threshold=obj["threshold"],
            found=tuple((rank, count) for rank, count in obj["found"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSizes:
    """Noisy numbers of units by how many records each has: int64, `values[k - 1]` of those with k."""

    noise: Noise
    values: Counts

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or not self.values.size:
            raise TypeError("group sizes are int64 in one row")


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Noisy scores of candidates, in their order: int64, one axis."""

    noise: Noise
    values: Counts

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or not self.values.size:
            raise TypeError("scores are int64 in one row")


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A clique that may be selected, or gets a score: the L1 distance of the true counts from `reference`, less
    `penalty`; both are public, so the penalty moves no score between neighbours. The reference can no more be written
    to: the same array in a later question has the same distance. `merged`: attributes that are counted by bins."""

    clique: Clique
    reference: Counts
    penalty: int = 0
    merged: Merged | None = None

    def __post_init__(self) -> None:
        if self.reference.dtype != np.int64 or self.reference.ndim != len(self.clique):
            raise TypeError("a reference is int64 with one axis for each attribute")
        if type(self.penalty) is not int:
            raise TypeError("a penalty is a whole number")
        self.reference.setflags(write=False)


class Session(Protocol):
    """How a mechanism asks. Every question is charged before rows are looked at."""

    @property
    def domain(self) -> Domain: ...

    @property
    def calls(self) -> tuple[Call, ...]:
        """The journal so far; holds no answers."""
        ...

    def measure(self, clique: Clique, *, noise: Noise, merged: Merged | None = None) -> Measurement:
        """Counts of every cell of the clique plus independent noise on each cell. The empty clique has one cell, the
        number of records. merged: attributes of the clique that are counted by bins."""
        ...

    def interaction(self, clique: Clique, *, noise: Noise, merged: Merged | None = None) -> Measurement:
        """What of a table its sums do not tell, plus independent noise on each cell: along every axis of K cells, in turn,
        K times each count less the sum of all. For its size it moves less than the counts do."""
        ...

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        """How far every candidate's table is from its reference, plus independent noise on each score; all of them cost
        what one vector costs of which every entry may move."""
        ...

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        """The index of a candidate of large score; larger `scale` means more noise."""
        ...

    def items(self, name: str, *, noise: Noise) -> Measurement:
        """Weighted counts of every item that a weak basket may hold, plus independent noise on each: every record has one
        vote of `VOTE` parts, shared by the items in its basket, and equally long by the norm that the noise goes by."""
        ...

    def group_sizes(self, *, noise: Noise) -> GroupSizes:
        """How many units have 1, 2, … records, up to the most that one may have, plus independent noise on each."""
        ...

    def discover(self, name: str, *, noise: Noise, threshold: int) -> Discovery:
        """The values of a weak attribute whose noisy counts reach a public threshold, with these counts."""
        ...

    def grow(self, columns: Clique, *, rule: Rule, noise: Noise) -> Growth:
        """Which nodes of the public hierarchy over these columns are opened, and, under the basic rule, noisy counts."""
        ...

    def resample(self, origin: str, *, event: events.DirichletMultinomial) -> Resampled:
        """As many records of each group as it publicly has, with origins drawn from its own ones and a prior."""
        ...

    def settle(self, domain: Domain) -> None:
        """From now on the rows are counted under what was learned in place of what was open."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Everything a mechanism got from the room, in the order in which it asked."""

    measurements: tuple[Measurement, ...]
    selections: tuple[int, ...] = ()
    discoveries: tuple[Discovery, ...] = ()
    calls: tuple[Call, ...] = field(default=())
    group_sizes: GroupSizes | None = None
    scores: tuple[Scores, ...] = ()
    growths: tuple[Growth, ...] = ()
    resampled: Resampled | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over cliques, noise, shapes and little-endian values; independent of the file format."""
        sha = hashlib.sha256(SCHEMA.encode())
        sha.update(canonical(self._header()))
        for values in self._arrays().values():
            sha.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
        return sha.hexdigest()

    def save(self, path: Path | str) -> None:
        """Write one .npz file without pickles."""
        header = np.frombuffer(canonical(self._header()), dtype=np.uint8)
        with Path(path).open("wb") as file:
            np.savez_compressed(file, header=header, allow_pickle=False, **self._arrays())

    @classmethod
    def load(cls, path: Path | str) -> Answers:
        """Read what `save` wrote. Errors: InputError if it is something else."""
        try:
            with np.load(Path(path), allow_pickle=False) as archive:
                header = json.loads(archive["header"].tobytes())
                if header["schema"] != SCHEMA:
                    raise KeyError("schema")
                measurements = tuple(
                    Measurement(
                        clique=tuple(m["clique"]),
                        noise=Noise.from_json(m["noise"]),
                        values=archive[f"values_{i}"],
                        interaction=m.get("interaction", False),
                    )
                    for i, m in enumerate(header["measurements"])
                )
                calls = tuple(Call.from_json(call) for call in header["calls"])
                sizes = header.get("group_sizes")
                sizes = sizes and GroupSizes(noise=Noise.from_json(sizes["noise"]), values=archive["group_sizes"])
                resampled = Resampled.read(header.get("resampled"), archive)
                discoveries = tuple(map(Discovery.from_json, header.get("discoveries", ())))
                selections = tuple(header["selections"])
                scores = tuple(
                    Scores(noise=Noise.from_json(s["noise"]), values=archive[f"scores_{i}"])
                    for i, s in enumerate(header.get("scores", ()))
                )
                growths = tuple(
                    Growth.read(g, {part: archive[f"grown_{i}_{part}"] for part in ("opened", "counts", "sizes")})
                    for i, g in enumerate(header.get("growths", ()))
                )
        except (OSError, EOFError, KeyError, TypeError, ValueError, AttributeError, PrivacyError, BadZipFile) as error:
            raise InputError("this is no file of noisy answers", repair="measure again") from error
        return cls(
            measurements=measurements,
            selections=selections,
            discoveries=discoveries,
            calls=calls,
            group_sizes=sizes or None,
            scores=scores,
            growths=growths,
            resampled=resampled,
        )

    def _arrays(self) -> dict[str, Counts]:
        arrays = {f"values_{i}": m.values for i, m in enumerate(self.measurements)}
        arrays |= {f"scores_{i}": scores.values for i, scores in enumerate(self.scores)}
        arrays |= {f"grown_{i}_{name}": a for i, tree in enumerate(self.growths) for name, a in tree.arrays().items()}
        arrays |= {} if self.resampled is None else {"resampled": self.resampled.values}
        return arrays | ({} if self.group_sizes is None else {"group_sizes": self.group_sizes.values})

    def _header(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "measurements": [m.header() for m in self.measurements],
            "selections": list(self.selections),
            "calls": [call.to_json() for call in self.calls],
            # Left out where they were not asked for, so that answers from before there were any keep their digest.
            **({} if self.group_sizes is None else {"group_sizes": {"noise": self.group_sizes.noise.to_json()}}),
            **({} if self.resampled is None else {"resampled": list(self.resampled.clique)}),
            **({"discoveries": [found.to_json() for found in self.discoveries]} if self.discoveries else {}),
            **({"scores": [self._score_header(scores) for scores in self.scores]} if self.scores else {}),
            **({"growths": [growth.header() for growth in self.growths]} if self.growths else {}),
        }

    @staticmethod
    def _score_header(scores: Scores) -> dict[str, Any]:
        return {"noise": scores.noise.to_json(), "number": int(scores.values.size)}
