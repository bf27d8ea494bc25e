"""Expected error of a release after its run: the plan is simulated on a table that the released model
generates.

A parametric bootstrap of the whole method (Efron and Tibshirani 1993, chapter 6). Records of the model, drawn
again with replacement, take the place of the real table: their columns and pairs are about as dependent as
the noisy answers say, and chance makes them differ from the model as it made the real records differ. The
plan asks the same kind of questions of them, with noise of the same scales, and its release is compared with
them exactly. Nothing but the model and the plan goes in, so this is post-processing. Measured coverage:
docs/forecast.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from synth_engine import mechanisms, watching
from synth_engine.domain import Domain
from synth_engine.errors import SynthError
from synth_engine.evaluation import model_pairs
from synth_engine.evaluation.dependences import lost_dependence
from synth_engine.evaluation.distances import shares, total_variation
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.measurement import (
    Answers,
    Candidate,
    Clique,
    Measurement,
    Noise,
    Query,
    Scores,
    Selection,
    Session,
)
from synth_engine.measurement.answers import AnsweredCall
from synth_engine.measurement.question import Call, Merged
from synth_engine.models.model import Model, generator
from synth_engine.plans.multi_stage import MultiStagePlan
from synth_engine.plans.plan import Plan
from synth_engine.privacy.events import Gumbel
from synth_engine.privacy.receipt import Receipt
from synth_engine.spec import Spec

Codes = Mapping[str, NDArray[Any]]
AnyOfThese = TypeVar("AnyOfThese", Measurement, Scores, Selection)

WITHIN = 1.5
"""The band goes from the estimate divided by this to the estimate times this: all 18 releases of the
benchmarks were within it."""
LEVEL = 0.9
MAX_SECONDS = 600.0
"""Forecast of the time of a run above which it is not simulated."""
Step = Literal["ask", "fit", "compare"]
Progress = Callable[[Step, float], None]
"""Is told the step and the share of it that is done; fitting does not say how far it is."""
_SEED = "expected-errors/1"
_DENSE = 1 << 22
"""Cells of a table up to which all of them are counted, instead of those that hold records."""


@dataclass(frozen=True, kw_only=True)
class ExpectedErrors:
    """Mean total variation distances between release and real table, of single columns and of pairs of
    columns, and the share of the dependence between columns that is lost. relations: None where no columns go
    together."""

    columns: ExpectedRange
    pairs: ExpectedRange
    relations: ExpectedRange | None


def plan_of(domain: Domain, receipt: Receipt) -> Plan | None:
    """Return the plan of a release; None if these documents do not determine it, as after a stage
    that learned columns or beside a public table."""
    stated = receipt["mechanism"]["parameters"]
    if isinstance(stated.get("prior"), Mapping) or stated.get("earlier") is not None:
        return None  # it was fitted beside a public table, which a release does not hold
    target = receipt["target"]
    spec = Spec(
        mechanism=receipt["mechanism"]["id"],
        parameters=receipt["mechanism"]["parameters"],
        epsilon=Fraction(target["epsilon"]),
        delta=Fraction(target["delta"]),
    )
    for rule in ("basic", "zcdp"):
        try:
            plan = mechanisms.plan(domain, spec, rule=cast(Any, rule))
        except SynthError:
            continue
        if plan.digest == receipt["plan"]["sha256"]:
            return plan
    return None


def simulated(
    model: Model, plan: Plan, *, progress: Progress = lambda _step, _share: None
) -> ExpectedErrors | None:
    """Return the expected errors; None for a method that does not look at every pair of columns, whose model
    says too little of what it misses, for a plan of several stages, and for a run that takes too long. The
    same documents give the same errors."""
    if not plan.config.looks_at_all_pairs or isinstance(plan, MultiStagePlan):
        return None
    if plan.needs(model.rows).seconds > MAX_SECONDS:
        return None
    names = plan.domain.names
    if len(names) < 2 or model.rows < 1:
        return None
    progress("ask", 0.0)
    rng = generator(_SEED, purpose=("records",))
    with watching.watched(lambda share: progress("ask", share / 2)):
        records = model.sample(model.rows, seed=f"{_SEED}/model")
    # Records drawn with replacement differ from the model by chance, as real ones do.
    chosen = rng.integers(0, model.rows, model.rows)
    table = {name: np.asarray(records[name], dtype=np.int64)[chosen] for name in names}
    session = SimulatedSession(domain=plan.domain, table=table, rng=rng)
    with watching.watched(lambda share: progress("ask", (1 + share) / 2)):
        answers = plan.run(cast(Session, session))
    progress("fit", 0.0)
    with watching.watched(lambda share: progress("fit", share)):
        with watching.part(0.0, 0.6):
            again = plan.fit(answers)
        with watching.part(0.6, 1.0):
            synthetic = again.sample(again.rows, seed=f"{_SEED}/again")
    sizes = plan.domain.sizes
    pairs = list(itertools.combinations(names, 2))
    cliques: list[Clique] = [*[(name,) for name in names], *pairs]
    distances = []
    for number, clique in enumerate(cliques):
        progress("compare", number / len(cliques))
        distances.append(_distance(table, synthetic, clique, sizes))
    return ExpectedErrors(
        columns=_band(fmean(distances[: len(names)])),
        pairs=_band(fmean(distances[len(names) :])),
        relations=_relations(table, synthetic, names[: model_pairs.MAX_COLUMNS]),
    )


def _relations(table: Codes, synthetic: Codes, names: Sequence[str]) -> ExpectedRange | None:
    sides = [
        model_pairs.of_codes([np.asarray(side[name], dtype=np.int64) for name in names])
        for side in (table, synthetic)
    ]
    lost = lost_dependence(list(zip(*sides, strict=True))).lost
    return None if lost is None else _band(lost)


def _band(estimate: float) -> ExpectedRange:
    return ExpectedRange(
        estimate=ModelFigure(value=estimate),
        low=estimate / WITHIN,
        high=min(1.0, estimate * WITHIN),
        level=LEVEL,
    )


class SimulatedSession:
    """Answers the questions of a plan that measures and selects tables, from records that are not real.

    It gives no guarantee: noise comes from a public seed. It has the methods of `Session` that such plans
    use."""

    def __init__(self, *, domain: Domain, table: Codes, rng: np.random.Generator) -> None:
        self.domain = domain
        self._table, self._rng = table, rng
        self._answered: list[AnsweredCall] = []

    @property
    def answers(self) -> Answers:
        return Answers(tuple(self._answered))

    def measure(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        watching.tell(0.0)
        counts = self._counts(clique, merged)
        answer = Measurement(clique=clique, noise=noise, values=self._noisy(counts, noise))
        return self._record(Query(verb="measure", clique=clique, cells=counts.size), answer)

    def interaction(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        contrast = self._counts(clique, merged)
        for axis, size in enumerate(contrast.shape):
            contrast = size * contrast - contrast.sum(axis=axis, keepdims=True)
        answer = Measurement(
            clique=clique, noise=noise, values=self._noisy(contrast, noise), interaction=True
        )
        query = Query(
            verb="interaction", clique=clique, cells=contrast.size, bins=contrast.shape
        )
        return self._record(query, answer)

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        answer = Scores(noise=noise, values=self._noisy(self._scores(candidates), noise))
        return self._record(_query("score", candidates), answer)

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        scores = self._scores(candidates)
        noisy = scores + self._rng.gumbel(0, float(scale), scores.size)
        answer = Selection(index=int(noisy.argmax()))
        return self._record(_query("select", candidates), answer).index

    def _record(self, query: Query, answer: AnyOfThese) -> AnyOfThese:
        # Nothing is paid here, so that every call has the same event.
        event = Gumbel(scale=Fraction(1), linf=1)
        self._answered.append(AnsweredCall(Call(query=query, event=event), answer))
        return answer

    def _scores(self, candidates: Sequence[Candidate]) -> NDArray[np.int64]:
        distances = []
        for one in watching.each(candidates):
            counts = self._counts(one.clique, one.merged)
            distances.append(int(np.abs(counts - one.reference).sum()) - one.penalty)
        return np.array(distances, dtype=np.int64)

    def _counts(self, clique: Clique, merged: Merged | None) -> NDArray[np.int64]:
        bins = merged or {}
        shape = [
            int(bins[name].max()) + 1 if name in bins else self.domain.sizes[name]
            for name in clique
        ]
        rows = len(next(iter(self._table.values())))
        cell = np.zeros(rows, dtype=np.int64)
        for name, size in zip(clique, shape, strict=True):
            codes = self._table[name]
            cell = cell * size + (bins[name][codes] if name in bins else codes)
        return np.bincount(cell, minlength=math.prod(shape)).reshape(shape)

    def _noisy(self, counts: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        deviation = math.sqrt(noise.variance)
        if noise.law == "discrete-laplace":
            spread = self._rng.laplace(0, deviation / math.sqrt(2), counts.shape)
        else:
            spread = self._rng.normal(0, deviation, counts.shape)
        return counts + np.rint(spread).astype(np.int64)


def _query(verb: Any, candidates: Sequence[Candidate]) -> Query:
    return Query(
        verb=verb,
        candidates=tuple(one.clique for one in candidates),
        cells=sum(one.reference.size for one in candidates),
    )


def _distance(
    table: Codes, synthetic: Codes, clique: Clique, sizes: Mapping[str, int]
) -> float:
    """Return the total variation distance of two tables of a clique."""
    cells = []
    for records in (table, synthetic):
        cell = np.zeros(len(records[clique[0]]), dtype=np.int64)
        for name in clique:
            cell = cell * sizes[name] + np.asarray(records[name], dtype=np.int64)
        cells.append(cell)
    if math.prod(sizes[name] for name in clique) > _DENSE:
        both = np.unique(np.concatenate(cells), return_inverse=True)[1]
        cells = [both[: cells[0].size], both[cells[0].size :]]
    most = 1 + max(int(cell.max()) for cell in cells)
    first, second = (shares(np.bincount(cell, minlength=most)) for cell in cells)
    return total_variation(first, second)


def to_json(errors: ExpectedErrors | None) -> dict[str, object] | None:
    """The errors as plain values."""
    if errors is None:
        return None
    return {
        name: None
        if one is None
        else {"estimate": one.estimate.value, "low": one.low, "high": one.high}
        for name, one in (
            ("columns", errors.columns),
            ("pairs", errors.pairs),
            ("relations", errors.relations),
        )
    }


def from_json(document: Mapping[str, Any] | None) -> ExpectedErrors | None:
    """The errors of `to_json`."""
    if document is None:
        return None
    relations = document.get("relations")
    return ExpectedErrors(
        columns=_range(document["columns"]),
        pairs=_range(document["pairs"]),
        relations=None if relations is None else _range(relations),
    )


def _range(document: Mapping[str, Any]) -> ExpectedRange:
    return ExpectedRange(
        estimate=ModelFigure(value=document["estimate"]),
        low=document["low"],
        high=document["high"],
        level=LEVEL,
    )
