"""What a plan would give and need, from public facts alone, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.events import Event
from synth_engine.privacy.receipt import Guarantee


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The estimate of a plan that was calibrated once. Each part is computed when it is first asked for.
    rows: how many records to assume; None: the public number, else those asked for, else 10,000."""

    plan: Plan
    rows: int | None = None

    @cached_property
    def errors(self) -> ErrorForecast:
        """Expected total variation distances of marginals, 0 to 1."""
        return self.plan.expected_error(rows=self.rows)

    @cached_property
    def resources(self) -> ResourceEstimate:
        """Time and memory of a run."""
        return self.plan.needs(self.rows)

    @property
    def loss(self) -> Guarantee:
        """The guarantee that the plan meets."""
        return self.plan.guarantee

    @property
    def noise(self) -> tuple[Event, ...]:
        """The laws of noise of all calls, with their scales; empty where calls follow from answers."""
        return self.plan.events

    @cached_property
    def min_records_to_split(self) -> int | None:
        """About how many records open a node of its tree; None of a method without one."""
        return self.plan.min_records_to_split(self.rows)
