"""An ε for "counts of 500 within 5 %": what the criteria of a new release need, from the forecast of errors
and public facts alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from django.utils.translation import gettext as _

from synth_engine import mechanisms
from synth_engine.errors import InputError, PrivacyError
from synth_engine.evaluation.criteria import Criterion
from synth_engine.plans import two_stage
from synth_engine.privacy.loss import plain
from synthweb.lib.language import written_number
from synthweb.lib.number_format import grouped, share
from synthweb.runs.planning import ReleaseProposal
from synthweb.runs.proposals import rule_of

GRID = tuple(
    Fraction(step, 10) * Fraction(10) ** power
    for power in range(-2, 2)
    for step in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
)
"""0.01 to 80 in steps of a quarter, about: a forecast is no more precise."""
RADIUS = 2.456
"""Half the width of a 95 % interval over the mean absolute error, of normal errors."""


def sentences(proposal: ReleaseProposal, *, rows: int) -> tuple[str, ...]:
    """For each criterion of counts of one column, about which ε it needs with this method."""
    if two_stage.needed(proposal.plan.config, proposal.plan.domain):
        return ()
    return tuple(
        _sentence(criterion, epsilon_for(proposal, criterion, rows=rows))
        for criterion in proposal.request.facts.criteria
        if criterion.asked.kind == "counts" and len(criterion.asked.columns) == 1
    )


def epsilon_for(
    proposal: ReleaseProposal, criterion: Criterion, *, rows: int
) -> Fraction | None:
    """The least ε of the grid at which a count is expected to be near enough; None where none is. Errors are
    taken to be alike in all cells of the column."""
    low, high = 0, len(GRID)
    while low < high:
        middle = (low + high) // 2
        if _suffices(proposal, criterion, epsilon=GRID[middle], rows=rows):
            high = middle
        else:
            low = middle + 1
    return GRID[low] if low < len(GRID) else None


def _suffices(
    proposal: ReleaseProposal, criterion: Criterion, *, epsilon: Fraction, rows: int
) -> bool:
    (column,) = criterion.asked.columns
    plan = proposal.plan
    spec = replace(mechanisms.without_prior(proposal.asked.spec), epsilon=epsilon)
    try:
        config = mechanisms.traits(spec.mechanism).from_parameters(spec.parameters)
        forecast = config.forecast(plan.domain, spec, rows=rows, rule=rule_of(proposal.account))
    except (InputError, PrivacyError, NotImplementedError):
        return False
    if column not in forecast.attributes:
        return False
    # A total variation distance is half the sum of the errors of all cells, as a share.
    error = 2 * forecast.attributes[column] * rows / plan.domain.sizes[column]
    return RADIUS * error <= float(criterion.asked.within) * criterion.asked.least


def _sentence(criterion: Criterion, epsilon: Fraction | None) -> str:
    asked = criterion.asked
    words = {
        "column": asked.columns[0],
        "least": grouped(asked.least),
        "within": share(float(asked.within)),
    }
    if epsilon is None:
        return (
            _(
                "Counts of %(column)s of %(least)s within %(within)s are not expected with this method at "
                "any ε: allow more, or count larger groups."
            )
            % words
        )
    return _(
        "Counts of %(column)s of %(least)s within %(within)s need an ε of about %(epsilon)s with this method."
    ) % {**words, "epsilon": written_number(plain(epsilon))}
