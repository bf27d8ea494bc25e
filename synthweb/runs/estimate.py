"""What a release would mean, before anything is spent: guarantee, price, forecast, time. Public facts
alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from synth_engine import mechanisms
from synth_engine.evaluation import cell_sizes
from synthweb.ledger import selectors as ledger
from synthweb.ledger import yearly_limits
from synthweb.ledger.amounts import ATTO, Amount, Shortfall
from synthweb.ledger.errors import Earmarked, ShareReached, YearlyLimitReached
from synthweb.ledger.models import Rule
from synthweb.ledger.proposals import DELTA_OF_A_RELEASE
from synthweb.lib import guarantee
from synthweb.lib.hundred import HundredGuesses
from synthweb.runs import (
    epsilon_proposal,
    forecast,
    learning,
    priors,
    public_tables,
    release_plan,
    timing,
)
from synthweb.runs.forecast import ForecastWords
from synthweb.runs.learning import Learning
from synthweb.runs.planning import ReleaseProposal
from synthweb.runs.proposals import AnyProposal
from synthweb.runs.public_tables import SharedColumns
from synthweb.runs.release_plan import ReleasePlan
from synthweb.runs.timing import Band

CONFIRM_ABOVE = 0.5  # of what the account has left: dearer runs are asked for twice
# Bytes of the libraries; and of the table while it is read, as a multiple of its file.
MEMORY_BASE, MEMORY_FACTOR = 250e6, 4


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One currency of what pays: what the ledger's bar shows before and after. set_aside: what this run may
    not take of it."""

    unit: str
    cap: int
    held: int
    charged: int
    planned: int
    set_aside: int = 0

    @property
    def free(self) -> int:
        return self.cap - self.held - self.charged - self.set_aside

    @property
    def free_after(self) -> int:
        return max(0, self.free - self.planned)

    @property
    def fits(self) -> bool:
        return self.planned <= self.free

    @property
    def lacks(self) -> Shortfall | None:
        """The missing part of it, in words and numbers."""
        return (
            None
            if self.fits
            else Shortfall(currency=self.unit, left=self.free, costs=self.planned)
        )

    @property
    def whole(self) -> int:
        """The width of its bar: the cap, or more where the plan goes beyond it."""
        return max(self.cap, self.held + self.charged + self.set_aside + self.planned)

    @property
    def within(self) -> int:
        """How much of the plan the cap covers."""
        return max(0, min(self.planned, self.free))

    @property
    def share_of_free(self) -> float:
        return self.planned / self.free if self.free > 0 else float("inf")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Everything on the right of the new-release page. paid_from: the purpose of the part of the budget that
    pays, empty: what is free. refusal: why the ledger would not hold the price, empty where it would.
    left_delta: the δ that the budget has left, where that is less than a release usually takes. planned: of
    how many planned releases this is one; None of a run that an earmark pays for. is_beyond_share: whether it
    takes more than its share of them."""

    sentence: str
    meaning: str
    guesses: HundredGuesses
    bars: tuple[Bar, ...]
    paid_from: str
    refusal: str
    rows: int
    rows_source: str
    time: Band
    memory: int
    digest: str
    forecast: ForecastWords
    learning: Learning | None
    priors: priors.PriorSummary | None
    advice: str
    cells: str
    left_delta: int | None
    table: SharedColumns | None
    needed_epsilons: tuple[str, ...]
    planned: ReleasePlan | None
    is_beyond_share: bool

    @property
    def price(self) -> Bar:
        """The currency that the button names."""
        return self.bars[0]

    @property
    def learns_once(self) -> bool:
        """Whether undeclared columns are better learned once, before this release: others are planned."""
        return self.learning is not None and self.planned is not None and self.planned.left > 1

    @property
    def affordable(self) -> bool:
        return not self.refusal and all(bar.fits for bar in self.bars)

    @property
    def lacking(self) -> tuple[Shortfall, ...]:
        """Every currency that runs out."""
        return tuple(bar.lacks for bar in self.bars if bar.lacks)

    @property
    def dear(self) -> bool:
        """Whether it takes a large part of what is left, so that it is asked for twice; what cannot be paid
        is refused at once."""
        # Without δ: it is granted by planned releases, so the
        # last ones always take much of the rest.
        return self.affordable and any(
            bar.share_of_free > CONFIRM_ABOVE for bar in self.bars if bar.unit != "delta"
        )


def estimate(proposal: ReleaseProposal) -> Estimate:
    """What `proposal` would mean."""
    dataset, facts = proposal.request.dataset, proposal.request.facts
    known = proposal.request.known(proposal.plan.domain)
    rows, source = known.rows, known.source
    expected = mechanisms.Estimate(plan=proposal.plan, rows=rows)
    needed, error = expected.resources, expected.errors
    parts = yearly_limits.open_earmarks(proposal.account)
    paying = yearly_limits.usable_of(parts, proposal.asked.earmark)
    planned = None if paying else release_plan.plan_of(proposal.account)
    return Estimate(
        sentence=proposal.plan.sentence,
        meaning=guarantee.meaning(
            epsilon=proposal.asked.spec.epsilon,
            delta=proposal.asked.spec.delta,
            relation=proposal.plan.domain.relation,
            unit=proposal.plan.domain.unit,
        ),
        guesses=HundredGuesses(
            right=guarantee.right_guesses(
                epsilon=proposal.asked.spec.epsilon, delta=proposal.asked.spec.delta
            )
        ),
        bars=_bars(proposal, parts),
        paid_from="" if paying is None else paying.earmark.purpose,
        refusal=_refusal(proposal),
        rows=rows,
        rows_source=source,
        time=timing.forecast(dataset, method=proposal.asked.spec.mechanism, needed=needed),
        memory=int(
            MEMORY_BASE + max(MEMORY_FACTOR * timing.unpacked(dataset), needed.memory_bytes)
        ),
        digest=proposal.plan.digest,
        forecast=forecast.in_words(forecast.of_proposal(proposal), proposal.plan.domain),
        learning=learning.cost(error),
        priors=priors.summarise(proposal.plan, assumes=error.assumes),
        advice=proposal.plan.advice,
        cells=_cells(proposal),
        left_delta=_left_delta(proposal),
        table=public_tables.shared_columns(facts.table, proposal.plan),
        needed_epsilons=epsilon_proposal.sentences(proposal, rows=rows),
        planned=planned,
        is_beyond_share=planned is not None and planned.exceeds(proposal.price),
    )


def _left_delta(proposal: ReleaseProposal) -> int | None:
    """The δ that the budget has left; None where a release gets as much as it usually takes."""
    # Under zCDP the δ is that of the whole account, and no run takes any of it.
    if (
        proposal.account.rule == Rule.ZCDP
        or proposal.asked.spec.delta * ATTO >= DELTA_OF_A_RELEASE
    ):
        return None
    left = ledger.balance(proposal.account).free.delta
    return max(0, left) if left < DELTA_OF_A_RELEASE else None


def _cells(proposal: ReleaseProposal) -> str:
    """How large cells of its tree are, depth by depth; empty of a method without a tree of places."""
    hierarchy = proposal.plan.tree_hierarchy
    return (
        "" if hierarchy is None else cell_sizes.describe_depths(hierarchy, proposal.plan.domain)
    )


def takes_large_share(bars: Iterable[Bar]) -> bool:
    """Whether a price is so large a part of what is left that whoever spends it has to confirm their
    identity."""
    # Without δ, as of `Estimate.dear`.
    return any(
        bar.share_of_free > settings.REAUTHENTICATION_SHARE
        for bar in bars
        if bar.unit != "delta"
    )


def bars_of(proposal: AnyProposal) -> tuple[Bar, ...]:
    """The currencies of what pays, before and after: the part of the account that the proposal names, else
    the account without all that is set aside."""
    return _bars(proposal, yearly_limits.open_earmarks(proposal.account))


def _bars(
    proposal: AnyProposal,
    parts: list[yearly_limits.EarmarkBalance],
) -> tuple[Bar, ...]:
    """parts: the open earmarks of the account."""
    account, price = proposal.account, proposal.price
    chosen = yearly_limits.usable_of(parts, proposal.asked.earmark)
    if chosen is None:
        balance = ledger.balance(account)
        cap, held, charged = balance.cap, balance.held, balance.charged
        set_aside = yearly_limits.left_of(parts)
    else:
        cap, held = chosen.whole, chosen.held
        charged = cap - held - chosen.left
        set_aside = Amount()
    bars = [
        Bar(
            unit=unit,
            cap=getattr(cap, unit),
            held=getattr(held, unit),
            charged=getattr(charged, unit),
            planned=getattr(price, unit),
            set_aside=getattr(set_aside, unit),
        )
        for unit in ledger.counted(account.rule)
    ]
    return tuple(bar for bar in bars if bar.unit != "delta" or bar.planned or bar.cap)


def _refusal(proposal: ReleaseProposal) -> str:
    """What the ledger would say besides that the cap is too small: the same rule as of a hold, which asks
    again under a lock."""
    try:
        yearly_limits.require(proposal.account, proposal.price, earmark=proposal.asked.earmark)
    except (Earmarked, ShareReached, YearlyLimitReached) as error:
        return str(error)
    return ""
