"""Links of tables of two organisations: what one side offers, the agreement, what it costs, and the plan of
each sketch.

Public facts only, as in `planning`: confirmed descriptions, accounts and names of columns. ADR 92 has the
states of a link.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import cast

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from synth_engine.domain import Attribute
from synth_engine.errors import DomainError
from synth_engine.linking import agreement as agreements
from synth_engine.linking import sketch as sketches
from synth_engine.linking.agreement import SIDES, Agreement, Offer, Side
from synth_engine.linking.sketch import SketchPlan
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import parse_decimal
from synth_engine.strict_json import JsonObject
from synthweb.accounts import selectors as people
from synthweb.accounts.models import Organisation, User
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger import yearly_limits
from synthweb.ledger.models import BudgetAccount, Earmark, PublicationPlan
from synthweb.lib import marks
from synthweb.releases import chain
from synthweb.runs import errors, planning, ticks
from synthweb.runs.models import Link, LinkSide, LinkSideMark, SketchRun, SynthesisRun
from synthweb.runs.proposals import (
    DomainReader,
    NumberedTable,
    PaidRequest,
    Proposal,
    RequestTerms,
)

MECHANISM = sketches.MECHANISM
State = Link.State


@dataclass(frozen=True, kw_only=True)
class SideOffer:
    """What a steward offers: a dataset, its columns of texts in the order of the other side's, and its linked
    columns. earmark: the code of the part of its account that pays; empty: what is free. The other side does
    not see it."""

    dataset: Dataset
    texts: tuple[str, ...]
    columns: tuple[str, ...]
    earmark: str = ""


@dataclass(frozen=True, kw_only=True)
class LinkTerms:
    """What both sides agree on besides. epsilon, other_epsilon: what the side that proposes and the one that
    is invited spend. rows: about how many records a side has. typos: the largest share of persons whose texts
    differ. functions: hash functions that decide together; None for the usual number."""

    name: str
    epsilon: Fraction
    other_epsilon: Fraction
    rows: int
    typos: Fraction = Fraction(0)
    functions: int | None = None


# --- what a side may offer ----------------------------------------------------------------------------------
def linkable(dataset: Dataset) -> list[Attribute]:
    """The columns of its description in force that a link may count."""
    domain = planning.described(dataset)
    return [] if domain is None else agreements.linkable(domain)


def basis(offer: SideOffer) -> tuple[DomainVersion, BudgetAccount]:
    """The description and the account of a side. Errors: NotReady, RelationMismatch, Earmarked; DomainError
    naming a column that the table lacks."""
    version, account = planning.basis(offer.dataset)
    if offer.earmark:
        yearly_limits.require_earmark(account, offer.earmark)
    planning.require_terms(version, account)
    planning.require_table(offer.dataset, version)
    known = datasets.columns_of(offer.dataset)
    for column in offer.texts:
        if known is not None and column not in known:
            raise DomainError(
                "the table has no such column",
                repair="name a column of the table that identifies a person",
                column=column,
            )
    return version, account


def require_offer(offer: SideOffer, epsilon: Fraction) -> tuple[DomainVersion, BudgetAccount]:
    """The same, and that what it offers can be linked with a side of its kind. Errors: SpecError, DomainError
    besides."""
    version, account = basis(offer)
    made = _offer(offer, version, epsilon)
    # With itself, so that what no other side could mend is refused at once.
    agreements.agree(made, made, rows=1, seed="0" * 32)
    return version, account


def _offer(offer: SideOffer, version: DomainVersion, epsilon: Fraction) -> Offer:
    return Offer(
        domain=domain_of(version), texts=offer.texts, attributes=offer.columns, epsilon=epsilon
    )


def agree(link: Link, right: SideOffer, *, version: DomainVersion) -> Agreement:
    """The agreement of a proposed link with what the other side offers. Errors: RelationMismatch, SpecError,
    DomainError."""
    left = side_of(link, "left")
    left_offer = _offer_of(left)
    return agreements.agree(
        _offer(left_offer, left.domain_version, _loss(left.epsilon)),
        _offer(right, version, _loss(link.invited_epsilon)),
        rows=link.rows,
        typos=parse_decimal(link.typos, name="typos"),
        functions=link.functions,
        seed=link.seed,
    )


def _loss(text: str) -> Fraction:
    return parse_decimal(text, name="epsilon")


# --- its agreement and plans --------------------------------------------------------------------------------
def agreement_of(link: Link) -> Agreement:
    """What both sides agreed on. Errors: NotReady before they did."""
    if link.agreement is None:
        raise errors.NotReady(
            "the other side has not accepted the link yet", repair="wait until it does"
        )
    return Agreement.from_json(link.agreement)


def side_of(link: Link, side: Side) -> LinkSide:
    """One side of a link, which has to be there."""
    return (
        LinkSide.objects.select_related(
            "dataset__organisation", "domain_version", "account", "steward"
        )
        .defer("sketch")
        .get(link=link, side=side)
    )


def sides_of(link: Link) -> tuple[LinkSide, LinkSide]:
    """Both sides of an accepted link, the left one first."""
    left, right = (side_of(link, side) for side in SIDES)
    return left, right


@dataclass(frozen=True, kw_only=True)
class SketchRequest(PaidRequest[SketchPlan]):
    """The sketch of one side of a link that both accepted, or are about to. side: with its link, and the
    agreement of that."""

    own_row = SketchRun
    result = "side__sketch"
    side: LinkSide

    def asked(self) -> RequestTerms:
        side = self.side
        return RequestTerms(
            spec=sketches.spec_of(agreement_of(side.link), _side(side)),
            name=side.link.name,
            tables=[NumberedTable(side.dataset)],
            earmark=side.earmark,
            fields={"side": side},
        )

    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        """Errors: NotReady for a table that was replaced by one without its columns, that is not there, or
        that is described otherwise now; RelationMismatch."""
        version, account = basis(_offer_of(self.side))
        agreed = (self.side.domain_version_id, self.side.account_id)
        if (version.pk, account.pk) != agreed:
            raise errors.NotReady(
                "a table of this link is described otherwise now, or has another budget",
                repair="withdraw this link, and agree on another one",
            )
        return version, account

    @classmethod
    def plan_of(cls, run: SynthesisRun, _read: DomainReader, /) -> SketchPlan:
        side = run.sketch_run.side
        return sketches.plan(agreement_of(side.link), _side(side))


SketchProposal = Proposal[SketchRequest, SketchPlan]


def _offer_of(side: LinkSide) -> SideOffer:
    """What a side offered."""
    return SideOffer(
        dataset=side.dataset,
        texts=tuple(side.texts),
        columns=tuple(side.columns),
        earmark=side.earmark,
    )


def preview(link: Link, offer: SideOffer, *, steward: User) -> tuple[Agreement, SketchProposal]:
    """The agreement that an invited side would accept with this offer, and what that costs it; nothing is
    kept. Errors: NotReady, SpecError, DomainError, RelationMismatch."""
    version, account = basis(offer)
    agreed = agree(link, offer, version=version)
    link = copy.copy(link)
    link.agreement = agreed.to_json()
    side = LinkSide(
        link=link,
        side=LinkSide.Side.RIGHT,
        dataset=offer.dataset,
        domain_version=version,
        account=account,
        steward=steward,
        texts=list(offer.texts),
        columns=list(offer.columns),
        earmark=offer.earmark,
    )
    return agreed, SketchRequest(side=side).propose()


def paid_from(side: LinkSide) -> str:
    """The purpose of the part of the account, or the plan, that pays for a side; empty where what is free
    does."""
    purposes = Earmark.objects.filter(account=side.account_id, code=side.earmark)
    plans = PublicationPlan.objects.filter(account=side.account_id, code=side.earmark)
    return next(
        itertools.chain(
            purposes.values_list("purpose", flat=True), plans.values_list("name", flat=True)
        ),
        "",
    )


def runs_of(link: Link) -> QuerySet[SynthesisRun]:
    """The runs of both sides, the left one first; none before it is started."""
    runs = SynthesisRun.objects.filter(sketch_run__side__link=link)
    return runs.select_related(
        "sketch_run__side", "hold__account", "dataset__organisation"
    ).order_by("sketch_run__side__side")


def _side(side: LinkSide) -> Side:
    return "left" if side.side == LinkSide.Side.LEFT else "right"


# --- who sees a link ----------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class SeenLink:
    """A link as somebody of one organisation sees it. own: the side of that organisation; other: the
    organisation of the other side, None before it accepted. Of the other side nothing else is shown than the
    agreement, its receipt and the estimate; and of what workers do, that it is done, at a tick (`ticks`): how
    long it took depends on its table. link: as it was at the last tick, not to be written."""

    link: Link
    own: LinkSide
    other: Organisation | None

    @property
    def side(self) -> Side:
        return _side(self.own)

    @property
    def other_side(self) -> Side:
        return "right" if self.side == "left" else "left"


def links_for(user: people.Person) -> QuerySet[Link]:
    """The links of which one side belongs to the organisation of `user`, newest first. PermissionDenied for
    who sees no tables."""
    people.require(user, Need.VIEW)
    links = Link.objects.filter(sides__dataset__organisation=people.organisation_of(user))
    return links.defer("agreement", "estimate").order_by("-created_at", "-pk")


def link_for(user: people.Person, code: str, need: Need = Need.VIEW) -> SeenLink:
    """A link with a side of the organisation of `user`: 404 to strangers, PermissionDenied to colleagues
    without the role."""
    if not people.can(user, Need.VIEW):
        raise Http404("no such link")
    link = links_for(user).filter(code=code).defer(None).first()
    if link is None:
        raise Http404("no such link")
    seen = seen_by(link, people.organisation_of(user))
    if not datasets.may(user, seen.own.dataset, need):
        raise PermissionDenied
    return seen


def seen_by(link: Link, organisation: Organisation) -> SeenLink:
    """A link as an organisation with a side of it sees it."""
    sides = LinkSide.objects.filter(link=link).select_related(
        "dataset__organisation", "domain_version", "account", "steward", "release"
    )
    both = list(sides.defer("sketch", "dataset__draft", "release__model", "release__receipt"))
    own = next(side for side in both if side.dataset.organisation_id == organisation.pk)
    other = next((side for side in both if side.pk != own.pk), None)
    return SeenLink(
        link=_at_last_tick(link),
        own=own,
        other=None if other is None else other.dataset.organisation,
    )


def shown_at(link: Link, done: datetime) -> datetime:
    """The tick at which the other side may know of something that a worker did. Ticks are counted from the
    start of a link, and as long as for the number of records that both agreed on."""
    length = ticks.length(link.rows)
    return ticks.shown_at(done, due=(link.started_at or done) + length, length=length)


def _at_last_tick(link: Link) -> Link:
    """What both sides may know of a link."""
    seen, now = copy.copy(link), timezone.now()
    if link.charged_at is not None:
        tick = shown_at(link, link.charged_at)
        seen.charged_at = tick if tick <= now else None
    # Who withdraws a link does so in front of both.
    if link.state in (State.FINISHED, State.FAILED) and link.finished_at is not None:
        tick = shown_at(link, link.finished_at)
        seen.finished_at = tick if tick <= now else None
    if link.state != State.WITHDRAWN and link.finished_at is not None and not seen.finished_at:
        seen.state, seen.estimate = State.CHARGED, None
    if seen.state == State.CHARGED and seen.charged_at is None:
        seen.state = State.STARTED
    return seen


@dataclass(frozen=True, kw_only=True)
class SeenRun:
    """The run of one side. own: whether it is of one's own side; else its state is WAITING, FINISHED or
    NO_ANSWER as of the last tick, or CANCELLED with its link."""

    side: Side
    own: bool
    code: str
    state: str


def runs_seen(seen: SeenLink) -> list[SeenRun]:
    """The runs of both sides, the left one first, as one side may know them; none before the link is
    started."""
    return [
        SeenRun(
            side=_side(run.sketch_run.side),
            own=run.sketch_run.side == seen.own,
            code=run.code,
            state=run.state if run.sketch_run.side == seen.own else _state_seen(seen, run),
        )
        for run in runs_of(seen.link)
    ]


def _state_seen(seen: SeenLink, run: SynthesisRun) -> str:
    """Of the other side's run."""
    link, now = seen.link, timezone.now()
    if link.state == State.WITHDRAWN:
        return SynthesisRun.State.CANCELLED
    if _is_sketch_shown(link, run):
        return SynthesisRun.State.FINISHED
    length = ticks.length(link.rows)
    first = (link.started_at or now) + length
    return (
        ticks.NO_ANSWER
        if ticks.next_after(now, due=first, length=length) is None
        else ticks.WAITING
    )


def _is_sketch_shown(link: Link, run: SynthesisRun) -> bool:
    """Whether the other side may know that a sketch is there."""
    return (
        run.state == SynthesisRun.State.FINISHED
        and run.finished_at is not None
        and shown_at(link, run.finished_at) <= timezone.now()
    )


FILES = (
    "agreement",
    "estimate",
    *(f"{side}-{what}" for what in ("receipt", "sketch") for side in SIDES),
)
"""What both sides may download of a link, as it comes to be there."""


def marks_of(side: LinkSide) -> list[receipts.Mark]:
    """The marks of the receipt of a side, the oldest first."""
    return marks.documents(LinkSideMark.objects.filter(link_side=side))


def receipt_of(side: LinkSide) -> JsonObject | None:
    """The receipt of a sketch, with its marks, signed; None before there is one."""
    if side.receipt is None:
        return None
    document = receipts.with_marks(cast("receipts.Receipt", side.receipt), marks_of(side))
    return cast(JsonObject, chain.signed(document))


def file_of(seen: SeenLink, name: str) -> JsonObject | None:
    """One of its documents; None where there is none to be seen yet."""
    link = seen.link
    match name:
        case "agreement":
            return cast("JsonObject | None", link.agreement)
        case "estimate":
            return cast("JsonObject | None", link.estimate)
    side, _dash, what = name.partition("-")
    if name not in FILES:
        return None
    if side != seen.side and not any(
        run.state == SynthesisRun.State.FINISHED for run in runs_seen(seen) if not run.own
    ):
        return None
    row = LinkSide.objects.filter(link=link, side=side).first()
    if row is None or row.receipt is None:
        return None
    receipt = receipt_of(row)
    if what == "receipt" or row.sketch is None:
        return receipt
    # A sketch has its receipt with it.
    return cast(JsonObject, row.sketch) | {"receipt": receipt}
