"""The base of plans that ask something before the mechanism proper."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from synth_engine.domain import LeftOut
from synth_engine.hierarchy import Hierarchy
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, GroupSizes, Noise
from synth_engine.measurement.replay import Replay
from synth_engine.models import group_sizes
from synth_engine.models.model import Model, whole_weights
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True)
class MultiStagePlan(Plan):
    """A mechanism after a first stage. All that is forecast before a run comes from its `outlook`: the
    mechanism's own plan, calibrated once, for the domain as it may become. sizes: the noise of the numbers of
    rows a person, None if they are not asked for."""

    sizes: Noise | None

    @property
    @abstractmethod
    def outlook(self) -> Plan: ...

    @abstractmethod
    def second_stage(self, given: Replay) -> Plan:
        """The mechanism's plan after the first stage was answered. given: from the answers to that stage
        on."""

    def fit_replay(self, given: Replay) -> Model:
        sizes = self._group_sizes(given)
        stage = replace(self.second_stage(given), prior=self.prior)
        model = stage.fit(given.rest())
        if sizes is None:
            return model
        return replace(model, groups=whole_weights(group_sizes.frequencies(sizes)))

    def constraints_left_out(self, given: Replay) -> tuple[LeftOut, ...]:
        if not self.domain.constraints:
            return ()
        self._group_sizes(given)
        return self.second_stage(given).constraints_left_out(given)

    def published(self, answers: Answers) -> JsonObject | None:
        given = Replay(answers)
        self._group_sizes(given)
        return self.second_stage(given).published(given.rest())

    def findings(self, answers: Answers, *, rows: int) -> JsonObject | None:
        given = Replay(answers)
        self._group_sizes(given)
        return self.second_stage(given).findings(given.rest(), rows=rows)

    def _group_sizes(self, given: Replay) -> GroupSizes | None:
        """They are asked for first, if at all."""
        if self.sizes is None:
            return None
        most = self.domain.unit.max_records
        return given.next(GroupSizes, lambda sizes: sizes.values.size == most)

    @property
    def advice(self) -> str:
        return self.outlook.advice

    @property
    def tree_hierarchy(self) -> Hierarchy | None:
        return self.outlook.tree_hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int | None:
        return self.outlook.min_records_to_split(rows)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        outlook = self.outlook
        if self.prior is not None:
            outlook = replace(outlook, prior=self.prior)
        return outlook.needs(rows)

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        return self.outlook.expected_error(rows=rows)
