"""What accuracy a budget buys, from public facts alone: the forecast of each of the planned releases."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from django.utils.translation import gettext as _

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import InputError, PrivacyError
from synth_engine.evaluation.forecast import Forecast
from synth_engine.evaluation.forecast import forecast as forecast_of
from synth_engine.spec import Spec
from synthweb.datasets.models import Dataset
from synthweb.ledger.amounts import ATTO, NANO, Amount
from synthweb.ledger.consequences import AT_DELTA
from synthweb.ledger.models import Rule
from synthweb.ledger.selectors import guarantee_of
from synthweb.runs import forecast, planning

SHARES = ((Fraction(1, 2), "half"), (Fraction(1), "asked"), (Fraction(2), "double"))
"""Of what is asked for: what less would cost, and what more would buy."""
FINEST = 10**6  # of an ε that is forecast: 1e-6


@dataclass(frozen=True, kw_only=True)
class AccuracyLine:
    """The forecast if so much is granted, in words. epsilon: of each release."""

    title: str
    as_asked: bool
    epsilon: Fraction
    columns: str
    relations: str


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """What half, all and twice of a budget buy, with the method that is recommended for the table."""

    method: str
    rows: int
    rows_source: str
    releases: int
    lines: tuple[AccuracyLine, ...]


def is_unstated(dataset: Dataset) -> bool:
    """Whether nobody said about how many records there are, so that nothing can be forecast."""
    domain = planning.described(dataset)
    return domain is not None and planning.known_rows(dataset, domain) is None


def bought(
    dataset: Dataset, *, rule: str, amount: Amount, releases: int | None
) -> Accuracy | None:
    """What `amount` buys for each of so many equal releases (None: for one). None if no method can be
    forecast, and if nobody said about how many records there are."""
    domain = planning.described(dataset)
    known = None if domain is None else planning.known_rows(dataset, domain)
    if domain is None or known is None:
        return None
    rows, source = known.rows, known.source
    name = mechanisms.recommended(domain)
    titles = {"half": _("Half of it"), "asked": _("As asked"), "double": _("Twice as much")}
    lines = []
    for part, key in SHARES:
        epsilon, delta = _of_a_release(rule, amount, parts=part / (releases or 1))
        expected = _forecast(domain, name, epsilon=epsilon, delta=delta, rows=rows, rule=rule)
        if expected is not None:
            lines.append(
                AccuracyLine(
                    title=titles[key],
                    as_asked=key == "asked",
                    epsilon=epsilon,
                    columns=forecast.columns_in_words(expected),
                    relations=forecast.relations_in_words(expected),
                )
            )
    method = next((one["title"] for one in mechanisms.describe() if one["id"] == name), name)
    return (
        Accuracy(
            method=method,
            rows=rows,
            rows_source=source,
            releases=releases or 1,
            lines=tuple(lines),
        )
        if lines
        else None
    )


def _of_a_release(rule: str, amount: Amount, *, parts: Fraction) -> tuple[Fraction, Fraction]:
    """(ε, δ) of a release that takes this share of the amount."""
    if rule == Rule.ZCDP:
        whole = guarantee_of(Amount(rho=int(amount.rho * parts)), delta=AT_DELTA)
        return Fraction(int(whole * FINEST), FINEST), AT_DELTA
    epsilon, delta = (
        Fraction(amount.epsilon, NANO) * parts,
        Fraction(amount.delta, ATTO) * parts,
    )
    return Fraction(int(epsilon * FINEST), FINEST), Fraction(int(delta * ATTO), ATTO)


def _forecast(
    domain: Domain, name: str, *, epsilon: Fraction, delta: Fraction, rows: int, rule: str
) -> Forecast | None:
    if epsilon <= 0:
        return None
    spec = Spec(mechanism=name, epsilon=epsilon, delta=delta)
    try:
        return forecast_of(
            domain,
            planning.with_records(spec, rows),
            rows=rows,
            rule="zcdp" if rule == Rule.ZCDP else "basic",
            advises=False,
        )
    except (InputError, PrivacyError):
        return None
