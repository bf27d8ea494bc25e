"""What people do with links: propose, accept, start and withdraw; and what a worker writes of one.

Locks are taken in the order link, runs, datasets, accounts, audit log; several of one kind in the order of
their keys. Nothing is held on one side alone: both prices are held in one transaction, and both are charged
in one.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from synth_engine.errors import InputError, PrivacyError
from synth_engine.linking import estimate as estimates
from synth_engine.linking.agreement import Agreement
from synth_engine.linking.sketch import Sketch
from synth_engine.privacy.loss import plain
from synth_engine.privacy.receipt import Receipt
from synthweb.accounts import selectors as people
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.ledger import services as ledger
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import names
from synthweb.lib.errors import Refused
from synthweb.notifications import services as notifications
from synthweb.notifications.models import Event
from synthweb.releases import chain
from synthweb.releases import services as releases
from synthweb.runs import errors, linking, services
from synthweb.runs.linking import LinkTerms, SeenLink, SideOffer
from synthweb.runs.models import Link, LinkSide, LinkSideMark, SynthesisRun

State = Link.State


@transaction.atomic
def propose(*, steward: User, offer: SideOffer, terms: LinkTerms) -> tuple[Link, str]:
    """Propose a link, and make the invitation that the steward of the other side needs: shown once. Nothing
    is held. Errors: NotReady, InputError, RelationMismatch."""
    version, account = linking.require_offer(offer, terms.epsilon)
    token = secrets.token_urlsafe(32)
    link = Link.objects.create(
        name=names.one_line(terms.name) or f"Link of {offer.dataset.name}"[:200],
        invitation=_digest(token),
        invited_epsilon=plain(terms.other_epsilon),
        rows=terms.rows,
        typos=plain(terms.typos),
        functions=terms.functions,
        seed=secrets.token_hex(16),
    )
    side = LinkSide.objects.create(
        link=link,
        side=LinkSide.Side.LEFT,
        dataset=offer.dataset,
        domain_version=version,
        account=account,
        steward=steward,
        texts=list(offer.texts),
        columns=list(offer.columns),
        earmark=offer.earmark,
        epsilon=plain(terms.epsilon),
    )
    _record(steward, "link.proposed", link, side)
    return link, token


@transaction.atomic
def invite_again(*, actor: User, seen: SeenLink) -> str:
    """Another invitation, with which the one before opens nothing. Errors: NotOpen once the link is
    accepted."""
    link = locked(seen.link)
    _require_state(link, State.PROPOSED)
    token = secrets.token_urlsafe(32)
    link.invitation = _digest(token)
    link.save(update_fields=["invitation"])
    _record(actor, "link.invited", link, seen.own)
    return token


def invited(*, user: User, token: str) -> tuple[Link, LinkSide]:
    """The proposed link that an invitation is for, with the side that proposed it. Http404 for another text,
    a link that is accepted or withdrawn, and for the organisation that proposed it."""
    link = Link.objects.filter(invitation=_digest(token), state=State.PROPOSED).first()
    if link is None:
        raise Http404("no such invitation")
    left = linking.side_of(link, "left")
    if left.dataset.organisation_id == people.organisation_of(user).pk:
        raise Http404("an invitation is for another organisation")
    return link, left


@transaction.atomic
def accept(*, steward: User, token: str, offer: SideOffer, agreement: str) -> Link:
    """Accept a proposed link with a dataset of one's own: the agreement stands. agreement: the digest of what
    was read. Nothing is held. Errors: as `linking.preview`, and Http404."""
    link, _left = invited(user=steward, token=token)
    link = locked(link)
    _require_state(link, State.PROPOSED)
    version, account = linking.basis(offer)
    agreed = linking.agree(link, offer, version=version)
    _require_read(agreed, agreement)
    side = LinkSide.objects.create(
        link=link,
        side=LinkSide.Side.RIGHT,
        dataset=offer.dataset,
        domain_version=version,
        account=account,
        steward=steward,
        texts=list(offer.texts),
        columns=list(offer.columns),
        earmark=offer.earmark,
        epsilon=link.invited_epsilon,
    )
    link.agreement = agreed.to_json()
    link.state, link.accepted_at = State.ACCEPTED, timezone.now()
    link.save(update_fields=["agreement", "state", "accepted_at"])
    _notify_other(link, side)
    _record(steward, "link.accepted", link, side, {"agreement": agreed.digest})
    return link


@transaction.atomic
def start(*, actor: User, seen: SeenLink, agreement: str) -> Link:
    """Hold the prices of both sides and queue both sketches, all or nothing. actor: of the side that
    proposed; agreement: the digest of what they saw. Errors: NotOpen, NotReady, and what the ledger of either
    side refuses; then nothing is held on either."""
    link = locked(seen.link)
    _require_state(link, State.ACCEPTED)
    if seen.side != "left":
        raise errors.NotOpen(
            "the side that proposed the link starts it", repair="wait, or withdraw the link"
        )
    agreed = linking.agreement_of(link)
    _require_read(agreed, agreement)
    proposals = []
    for side in linking.sides_of(link):
        with _unnamed(side, seen):
            proposals.append((side, linking.SketchRequest(side=side).propose()))
    submitted = [
        (side, proposal, services.create(proposal, steward=side.steward))
        for side, proposal in proposals
    ]
    for side, proposal, run in sorted(submitted, key=lambda each: each[0].dataset.pk):
        with _unnamed(side, seen):
            services.take_tables(run, proposal)
    for side, proposal, run in sorted(submitted, key=lambda each: each[1].account.pk):
        with _unnamed(side, seen):
            services.hold(run, proposal)
    link.state, link.started_at = State.STARTED, timezone.now()
    link.save(update_fields=["state", "started_at"])
    _notify_other(link, seen.own)
    for side, _proposal, run in submitted:
        services.record_submission(run)
        own = side.pk == seen.own.pk
        _record(actor if own else OTHER, "link.started", link, side)
    return link


@transaction.atomic
def withdraw(*, actor: User, seen: SeenLink) -> Link:
    """End a link before anything is spent: both holds are given back. Errors: NotOpen once both sides are
    charged, or it is over."""
    link = locked(seen.link)
    if link.state not in Link.UNSPENT:
        _require_unspent(link)
    link.state, link.ended_by, link.finished_at = State.WITHDRAWN, seen.side, timezone.now()
    link.save(update_fields=["state", "ended_by", "finished_at"])
    _stop(link, text="The link was withdrawn. Nothing was spent; the hold is released.")
    _notify_other(link, seen.own)
    for side in LinkSide.objects.filter(link=link).select_related("dataset__organisation"):
        own = side.pk == seen.own.pk
        _record(actor if own else OTHER, "link.withdrawn", link, side)
    return link


# --- what a worker writes -----------------------------------------------------------------------------------
def locked(link: Link) -> Link:
    """The link, locked: before any of its runs is."""
    return Link.objects.select_for_update(of=("self",)).get(pk=link.pk)


def charge(link: Link) -> None:
    """Charge both sides, in the worker's transaction, which has locked the link: nobody opens a room before.
    A second worker finds it done."""
    if link.state == State.CHARGED:
        return
    _require_state(link, State.STARTED)
    for run in linking.runs_of(link).order_by("hold__account__pk"):
        ledger.charge(run_code=run.code)
    link.state, link.charged_at = State.CHARGED, timezone.now()
    link.save(update_fields=["state", "charged_at"])


def end_unspent(link: Link) -> None:
    """One side could not be opened before the charge: the link is over and both get back what they hold. The
    link is locked, in the transaction in which that side's run failed."""
    link.state, link.finished_at = State.FAILED, timezone.now()
    link.save(update_fields=["state", "finished_at"])
    _stop(link, text="A side of the link could not be read. Nothing was spent on either side.")
    _notify_both(link)


def _stop(link: Link, *, text: str) -> None:
    """Cancel the runs of a link that is not charged, and give back their holds. A worker that is busy with
    one finds its fencing token old."""
    runs = list(linking.runs_of(link).order_by("pk").select_for_update(of=("self",)))
    for run in runs:
        if run.is_open:
            run.state, run.lease_token = SynthesisRun.State.CANCELLED, run.lease_token + 1
            run.lease_held, run.finished_at = False, timezone.now()
            run.save(update_fields=["state", "lease_token", "lease_held", "finished_at"])
            services.note(run, run.stage, text)
    for run in sorted(runs, key=lambda each: each.price.account_id):
        ledger.release(run_code=run.code, reason="ended before any noise was drawn")


def keep_sketch(link: Link, side: LinkSide, sketch: Sketch, receipt: Receipt) -> None:
    """Keep what left the room of one side, and the estimate once both are there. The link is locked, in the
    worker's transaction."""
    side.receipt = dict(receipt)
    side.sketch = replace(sketch, receipt=receipt).to_json()
    side.save(update_fields=["receipt", "sketch"])
    stored = LinkSide.objects.filter(link=link, sketch__isnull=False)
    agreement = linking.agreement_of(link)
    sketches = [Sketch.from_json(each.sketch, agreement) for each in stored if each.sketch]
    if len(sketches) == 2:
        link.estimate = estimates.estimate(*sketches).to_json()
        link.state, link.finished_at = State.FINISHED, timezone.now()
        link.save(update_fields=["estimate", "state", "finished_at"])
        _notify_both(link)
    _record("worker", "link.sketched", link, side, {"receipt": receipt["digest"]})


def mark_outside(accounts: Collection[BudgetAccount]) -> None:
    """Mark the receipts of sketches of the same people: exact counts are about to be taken, in the caller's
    transaction. The other side sees that too."""
    rows = LinkSide.objects.filter(account__in=accounts, receipt__isnull=False)
    sides = rows.select_for_update(of=("self",)).select_related("link", "dataset__organisation")
    for side in sides.defer("sketch").order_by("pk"):
        if side.receipt is None:
            continue
        document = chain.next_mark(
            side.receipt,
            linking.marks_of(side),
            kind=LinkSideMark.Kind.OUTSIDE,
            text=releases.OUTSIDE_TEXT.format(what="sketch"),
        )
        mark = LinkSideMark.objects.create(
            link_side=side,
            sequence=document["sequence"],
            kind=LinkSideMark.Kind.OUTSIDE,
            hash=document["hash"],
            document=document,
        )
        _record(
            "system", "link.marked", side.link, side, {"kind": mark.kind, "mark": mark.hash}
        )


def _notify_other(link: Link, own: LinkSide) -> None:
    """Notify the steward of the other side of what somebody did."""
    _notify(link, LinkSide.objects.filter(link=link).exclude(pk=own.pk))


def _notify_both(link: Link) -> None:
    """Notify both stewards, at the tick at which they see it, that workers have ended a link."""
    at = None if link.finished_at is None else linking.shown_at(link, link.finished_at)
    _notify(link, LinkSide.objects.filter(link=link), at=at)


def _notify(link: Link, sides: QuerySet[LinkSide], *, at: datetime | None = None) -> None:
    """The message names the link alone, which both sides see, and is about the state that it is in now."""
    notifications.notify(
        event=Event.LINK_CHANGED,
        people=[side.steward for side in sides.select_related("steward").order_by("pk")],
        subject=notifications.NotificationSubject(kind="link", code=link.code, name=link.name),
        key=f"{link.code} {link.state}",
        at=at,
    )


# --- helpers ------------------------------------------------------------------------------------------------
OTHER = "the other side of the link"
"""Who acted, in the audit log of the organisation that is not told the name."""


@contextlib.contextmanager
def _unnamed(side: LinkSide, seen: SeenLink) -> Iterator[None]:
    """Of what is refused on the other side its steward learns the figures and names; who is here learns that
    something is."""
    try:
        yield
    except (Refused, InputError, PrivacyError):
        if side.pk == seen.own.pk:
            raise
        raise errors.NotReady(
            "the other side cannot make its sketch: its budget has too little left, or its table or "
            "description has changed",
            repair="ask its steward, or withdraw the link",
        ) from None


def _require_read(agreed: Agreement, digest: str) -> None:
    """Nobody accepts or starts another agreement than they have read."""
    if agreed.digest != digest:
        raise errors.NotReady(
            "this is another agreement than the one that you have read",
            repair="read the agreement again",
        )


def _require_state(link: Link, state: State) -> None:
    if link.state != state:
        _require_unspent(link)
        raise errors.NotOpen(
            f"this link is in the state {link.state}",
            repair="open its page to see what is next",
        )


def _require_unspent(link: Link) -> None:
    match link.state:
        case State.CHARGED:
            raise errors.NotOpen(
                "both sides of this link are charged, and what is charged never comes back",
                repair="let both sketches finish; they cost nothing more",
            )
        case State.FINISHED:
            raise errors.NotOpen(
                "this link is finished", repair="propose another link for further columns"
            )
        case State.WITHDRAWN | State.FAILED:
            raise errors.NotOpen("this link is over", repair="propose another one")


def _digest(token: str) -> str:
    """What the database keeps of an invitation: enough, because nobody can guess 256 bits."""
    return hashlib.sha256(token.encode()).hexdigest()


def _record(
    actor: User | str,
    action: str,
    link: Link,
    side: LinkSide,
    detail: Mapping[str, str] | None = None,
) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("link", link.code),
        organisation=side.dataset.organisation,
        detail={"dataset": side.dataset.code, "side": side.side, **(detail or {})},
    )
