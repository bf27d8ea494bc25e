"""Writing releases: publish what a run made, share it with analysts and take it back, draw samples from
it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from synth_engine import row_selection
from synth_engine.errors import SpecError
from synth_engine.evaluation.paid_figures import CheckedResult
from synth_engine.measurement import Answers
from synth_engine.mechanisms import Model, Plan
from synth_engine.models import description
from synth_engine.plans.release_check import CheckPlan
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import atto, nano
from synth_engine.row_selection import RowSelection
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset, DomainVersion, LearnedDescription, LearnedMark
from synthweb.datasets.services import terms
from synthweb.ledger import selectors as budget
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import names
from synthweb.lib.errors import Conflict, Refused
from synthweb.notifications import services as notifications
from synthweb.notifications.models import Event
from synthweb.releases import chain, selectors
from synthweb.releases.licences import LicenceChoice
from synthweb.releases.models import (
    MAX_REASON,
    CheckMark,
    Edition,
    PaidCheck,
    Release,
    ReleaseGrant,
    ReleaseMark,
    Sample,
)
from synthweb.releases.slots import Slot

LONGEST_SEED = Sample._meta.get_field("seed").max_length or 64


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The run that a release comes from. chosen_after_looking: whether it was asked for after a look at real
    data. criteria: what was stated before it. is_validation: whether an analyst asked for it within an
    allowance."""

    run_code: str
    dataset: Dataset
    account: BudgetAccount
    domain_version: DomainVersion
    created_by: User
    name: str
    chosen_after_looking: bool
    criteria: Sequence[Mapping[str, object]] = ()
    is_validation: bool = False


@transaction.atomic
def publish(*, origin: Origin, plan: Plan, answers: Answers, model: Model) -> Release:
    """Make the release of a run from its noisy answers; called once a run, under the run's fence. A table
    that the method publishes is kept beside what the model needs to draw."""
    published = plan.published(answers)
    findings = plan.findings(answers, rows=model.rows)
    release = Release.objects.create(
        dataset=origin.dataset,
        account=origin.account,
        domain_version=origin.domain_version,
        run_code=origin.run_code,
        name=origin.name,
        mechanism=plan.mechanism,
        epsilon=nano(plan.epsilon),
        delta=atto(plan.delta),
        rows=model.rows,
        sample_rows=plan.spec.rows or model.rows,
        receipt=receipt_of(origin, plan, answers),
        criteria=list(origin.criteria),
        model=model.to_json()
        | ({} if published is None else {"published": published})
        | ({} if findings is None else {"findings": findings}),
        created_by=origin.created_by,
    )
    record_publication(release)
    return release


def record_publication(release: Release) -> None:
    """Write to the audit log that a release was made."""
    audit.record(
        actor="worker",
        action="release.published",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        # The digest ties the core to a log whose signed checkpoints are kept elsewhere (ADR 40).
        detail={
            "run": release.run_code,
            "dataset": release.dataset.code,
            "receipt": release.receipt["digest"],
        },
    )


@transaction.atomic
def publish_check(
    *,
    origin: Origin,
    release: Release,
    plan: CheckPlan,
    answers: Answers,
    results: Sequence[CheckedResult],
) -> PaidCheck:
    """Keep the figures of a check and its receipt beside the release; called once a run, under the run's
    fence. Whoever may draw from the release may see them, but for a validation, which is its analyst's."""
    figures = [
        {"asked": asked.to_json(), "answer": result.to_json()}
        for asked, result in zip(plan.config.figures, results, strict=True)
    ]
    check = PaidCheck.objects.create(
        release=release,
        run_code=origin.run_code,
        name=origin.name,
        is_validation=origin.is_validation,
        epsilon=nano(plan.epsilon),
        delta=atto(plan.delta),
        receipt=receipt_of(origin, plan, answers),
        figures=figures,
        created_by=origin.created_by,
    )
    audit.record(
        actor="worker",
        action="check.published",
        target=("release", release.code),
        organisation=origin.dataset.organisation,
        detail={
            "run": origin.run_code,
            "dataset": origin.dataset.code,
            "check": check.code,
            "receipt": check.receipt["digest"],
        },
    )
    return check


@transaction.atomic
def void_check(*, actor: User, check: PaidCheck, reason: str) -> CheckMark:
    """State, for good, that the figures of a check are not to be used. They stay to be seen, with the reason;
    what was charged for them stays charged, because they were measured. reason: a line of 1 to 500
    characters. Raises Refused for another one, Conflict for figures that are void already."""
    reason = names.one_line(reason, field="reason")
    if not 0 < len(reason) <= MAX_REASON:
        raise Refused(
            f"a reason is missing, or longer than {MAX_REASON} characters",
            repair="say in one line why the figures must not be used",
            field="reason",
        )
    # One after another: the next mark continues from the last one.
    check = (
        PaidCheck.objects.select_for_update(of=("self",))
        .select_related("release__dataset__organisation")
        .get(pk=check.pk)
    )
    if CheckMark.objects.filter(paid_check=check, kind=CheckMark.Kind.VOID).exists():
        raise Conflict("These figures are void already", repair="read the reason beside them")
    return _mark_check(
        check,
        kind=CheckMark.Kind.VOID,
        text=f"The figures of this check are void: {reason}",
        reason=reason,
        actor=actor,
    )


def _mark_check(
    check: PaidCheck,
    *,
    kind: CheckMark.Kind,
    text: str,
    reason: str = "",
    actor: User | None = None,
) -> CheckMark:
    """Add a mark to the chain of a check, which the caller has locked. reason, actor: of what somebody
    stated."""
    document = chain.next_mark(
        check.receipt, chain.marks_of_check(check), kind=str(kind), text=text
    )
    mark = CheckMark.objects.create(
        paid_check=check,
        sequence=document["sequence"],
        kind=kind,
        reason=reason,
        created_by=actor,
        hash=document["hash"],
        document=document,
    )
    audit.record(
        actor="system" if actor is None else actor,
        action="check.voided" if kind == CheckMark.Kind.VOID else "check.marked",
        target=("release", check.release.code),
        organisation=check.release.dataset.organisation,
        detail={
            "check": check.code,
            "run": check.run_code,
            **({"reason": reason} if reason else {"kind": str(kind), "number": mark.sequence}),
            "mark": mark.hash,
            "receipt": check.receipt["digest"],
        },
    )
    return mark


def receipt_of(origin: Origin, plan: Plan, answers: Answers) -> receipts.Receipt:
    """The receipt of a run, which says what its steward had seen of the real data before."""
    receipt = plan.receipt(answers, chosen_after_looking=origin.chosen_after_looking)
    basis = datasets.basis_of(origin.domain_version)
    if basis is not None and basis.suggestions_shown:
        # In the core, not in a mark: they were seen before the run was asked for.
        receipt = receipts.mark_suggestions_shown(receipt)
    if basis is not None and basis.ranges_after_looking:
        receipt = receipts.mark_ranges_after_looking(receipt)
    if vouchers := datasets.vouchers_of_run(origin.run_code):
        receipt = receipts.of_formulas(receipt, vouched_by=vouchers)
    if budget.outside_of(origin.account).exists():
        receipt = receipts.mark_outside(receipt)
    return receipt


@transaction.atomic
def describe(*, actor: User, release: Release, name: str, description: str) -> Release:
    """Give a release the name and description that analysts read."""
    release.name, release.description = names.one_line(name), description.strip()
    release.save(update_fields=["name", "description"])
    audit.record(
        actor=actor,
        action="release.described",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        detail={"name": release.name},
    )
    return release


@transaction.atomic
def license_release(
    *, actor: User, release: Release, licence: LicenceChoice, text: str = "", address: str = ""
) -> Release:
    """State under which licence a release may be passed on, or that none is stated. text, address: of a
    licence in the steward's own words. The receipt and its digest stay as they are. Raises Refused."""
    own = licence == LicenceChoice.OWN
    text = names.one_line(text, field="text") if own else ""
    address = names.one_line(address, field="address") if own else ""
    if own and not text:
        raise Refused(
            "a licence in your own words needs a text",
            repair="write what others may do with the data, in one line",
            field="text",
        )
    if address and not address.startswith(("https://", "http://")):
        raise Refused(
            "the address of a licence begins with https:// or http://",
            repair="give the address of its text, or leave it out",
            field="address",
        )
    release.licence, release.licence_text, release.licence_address = str(licence), text, address
    release.save(update_fields=["licence", "licence_text", "licence_address"])
    audit.record(
        actor=actor,
        action="release.licensed",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        detail={"licence": str(licence), "text": text, "address": address},
    )
    return release


@transaction.atomic
def share(*, actor: User, release: Release, analyst: User) -> ReleaseGrant:
    """Let an analyst of the organisation see a release and draw from it; sharing again changes nothing.

    If a comparison with real data was opened before anybody had it, the decision to share may rest on that
    look, and a mark beside the receipt says so from now on."""
    release = (
        Release.objects.select_for_update(of=("self",))
        .select_related("dataset__organisation")
        .get(pk=release.pk)
    )
    existing = ReleaseGrant.objects.filter(
        release=release, analyst=analyst, revoked_at=None
    ).first()
    if existing:
        return existing
    if not selectors.analysts_for(release).filter(pk=analyst.pk).exists():
        raise Conflict(
            "This person is no analyst of the organisation",
            repair="choose one from the list",
            field="analyst",
        )
    mark_if_looked(release)
    grant = ReleaseGrant.objects.create(release=release, analyst=analyst, granted_by=actor)
    notifications.notify(
        event=Event.RELEASE_SHARED,
        people=[analyst],
        subject=notifications.NotificationSubject(
            kind="release", code=release.code, name=release.name
        ),
        key=str(grant.pk),
    )
    _record_sharing(actor, grant, "release.shared")
    return grant


def mark_if_looked(release: Release) -> None:
    """Before somebody gets a release that the caller has locked: while nobody has it, sharing is a decision,
    and a look at real data may have shaped it; a mark then says so."""
    if (
        not selectors.somebody_has(release)
        and not chain.is_after_looking(release)
        and selectors.looked_at_real(release.account)
    ):
        _mark(
            release,
            kind=ReleaseMark.Kind.LOOKED,
            text="The release was shared after somebody had opened a comparison with real data.",
        )


OUTSIDE_TEXT = (
    "Exact counts of the same table, filled to a policy, were published outside the guarantee after this "
    "{what} was made."
)
"""What a mark says; what: release, check or sketch."""


def mark_outside(accounts: Collection[BudgetAccount]) -> None:
    """Mark every release, of tables and of databases, every check and validation, and every purchase of the
    same people, whose budget is in these accounts: exact counts are about to be taken, in the caller's
    transaction."""
    released = Release.objects.filter(account__in=accounts)
    rows = released.select_for_update(of=("self",)).select_related("dataset__organisation")
    for release in rows.order_by("pk"):
        _mark(release, kind=ReleaseMark.Kind.OUTSIDE, text=OUTSIDE_TEXT.format(what="release"))
    measured = PaidCheck.objects.filter(release__account__in=accounts)
    checks = measured.select_for_update(of=("self",)).select_related(
        "release__dataset__organisation"
    )
    for check in checks.order_by("pk"):
        _mark_check(check, kind=CheckMark.Kind.OUTSIDE, text=OUTSIDE_TEXT.format(what="check"))
    bought = LearnedDescription.objects.filter(dataset__coverage__account__in=accounts)
    purchases = bought.select_for_update(of=("self",)).select_related("dataset__organisation")
    for purchase in purchases.order_by("pk"):
        _mark_purchase(purchase)


def _mark_purchase(purchase: LearnedDescription) -> None:
    """Add the mark to the chain of a purchase, which the caller has locked."""
    document = chain.next_mark(
        purchase.receipt,
        chain.marks_of_purchase(purchase),
        kind=LearnedMark.Kind.OUTSIDE,
        text=OUTSIDE_TEXT.format(what="purchase"),
    )
    mark = LearnedMark.objects.create(
        learned=purchase,
        sequence=document["sequence"],
        kind=LearnedMark.Kind.OUTSIDE,
        hash=document["hash"],
        document=document,
    )
    audit.record(
        actor="system",
        action="description.marked",
        target=("dataset", purchase.dataset.code),
        organisation=purchase.dataset.organisation,
        detail={
            "run": purchase.run_code,
            "kind": mark.kind,
            "mark": mark.hash,
            "receipt": purchase.receipt["digest"],
        },
    )


@transaction.atomic
def revoke(*, actor: User | str, grant: ReleaseGrant) -> ReleaseGrant:
    """Take a release back from an analyst; what they have downloaded stays with them."""
    # Conditional: of two people who revoke at once one is written to the log.
    changed = ReleaseGrant.objects.filter(pk=grant.pk, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    if changed:
        _record_sharing(actor, grant, "release.revoked")
    grant.refresh_from_db()
    return grant


@transaction.atomic
def hand_over(*, grant: ReleaseGrant, analyst: User, actor: User | str) -> None:
    """Give what was shared with somebody who leaves to another analyst of the organisation, whom the caller
    has checked. It was shared before, so nobody decides anew."""
    revoke(actor=actor, grant=grant)
    heirs = ReleaseGrant.objects.filter(release=grant.release, analyst=analyst, revoked_at=None)
    if heirs.exists():
        return
    handed = ReleaseGrant.objects.create(
        release=grant.release, analyst=analyst, granted_by=grant.granted_by
    )
    notifications.notify(
        event=Event.RELEASE_SHARED,
        people=[analyst],
        subject=notifications.NotificationSubject(
            kind="release", code=grant.release.code, name=grant.release.name
        ),
        key=str(handed.pk),
    )
    _record_sharing(actor, handed, "release.shared")


def _mark(release: Release, *, kind: ReleaseMark.Kind, text: str) -> ReleaseMark:
    """Add a mark to the chain of a release, which the caller has locked. Its hash goes to the audit log, so
    that a chain that was cut off differs from the log, whose heads are signed and kept elsewhere."""
    document = chain.next_mark(
        release.receipt, chain.marks_of(release), kind=str(kind), text=text
    )
    mark = ReleaseMark.objects.create(
        release=release,
        sequence=document["sequence"],
        kind=kind,
        hash=document["hash"],
        document=document,
    )
    audit.record(
        actor="system",
        action="release.marked",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        detail={
            "kind": str(kind),
            "number": mark.sequence,
            "mark": mark.hash,
            "receipt": release.receipt["digest"],
        },
    )
    return mark


def _record_sharing(actor: User | str, grant: ReleaseGrant, action: str) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("release", grant.release.code),
        organisation=grant.release.dataset.organisation,
        detail={"analyst": grant.analyst.get_username()},
    )


def description_of(source: Release | Edition) -> dict[str, object]:
    """The model of a release, or of an edited description, as a document for people."""
    return description.write(Model.from_json(source.model))


@transaction.atomic
def keep_edition(
    *, actor: User, release: Release, document: Mapping[str, object], note: str
) -> Edition:
    """Keep a description of the release that somebody edited, to be sampled from under their name. Costs no
    budget: whether it is covered by the guarantee hangs on what they know, so it is never taken for the
    release itself. Raises InputError, Conflict."""
    model = description.read(document).to_json()
    terms.check_text(model)
    # Unchanged, it is the release itself, and must not be marked as edited for ever.
    if receipts.digest(model) == receipts.digest(release.model):
        raise Conflict(
            "This is the description of the release as it was measured",
            repair="change something in it, or draw from the release itself",
            field="document",
        )
    release = (
        Release.objects.select_for_update(of=("self",))
        .select_related("dataset__organisation")
        .get(pk=release.pk)
    )
    edition = Edition.objects.create(
        release=release,
        note=note.strip(),
        model=model,
        digest=receipts.digest(dict(document)),
        after_looking=selectors.looked_at_real(release.account),
        created_by=actor,
    )
    audit.record(
        actor=actor,
        action="release.edited",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        detail={"edition": edition.code, "description": edition.digest},
    )
    _mark(
        release,
        kind=ReleaseMark.Kind.DESCRIBED,
        text="A description that somebody edited is kept beside the release, with the digest "
        f"{edition.digest}; the receipt of a table that is drawn from it says so.",
    )
    return edition


def draw_sample(
    *,
    user: User,
    release: Release,
    rows: int,
    seed: str | None = None,
    edition: Edition | None = None,
) -> Sample:
    """Note a sample of so many rows; its table is drawn at each download, the same for ever. Costs no budget.

    Without a seed it is the requester's own, so that asking again gives the same table; its commitment hides
    it. A word that somebody thought of can be guessed from its commitment. Raises SpecError."""
    return _note_sample(
        Sample(
            release=release,
            edition=edition,
            requested_by=user,
            rows=rows,
            seed=_seed_for(user, release, seed),
        )
    )


def draw_selected(
    *,
    user: User,
    release: Release,
    selection: RowSelection,
    rows: int | None = None,
    seed: str | None = None,
    edition: Edition | None = None,
) -> Sample:
    """Note a sample of chosen rows; all else as in `draw_sample`. rows: absent with quotas, which say how
    many. Raises SpecError, also where the model has too few such rows: some are drawn to see;
    TooManyDrawings."""
    count = selection.rows if rows is None else rows
    if count is None:
        raise SpecError("the number of rows is not given", repair="give it, or quotas")
    _require_rows(count)
    model = Model.from_json((release if edition is None else edition).model)
    # It draws up to some ten thousand rows: no more at once than tables are drawn.
    with Slot(user.pk):
        row_selection.require(model, selection, rows=count)
    return _note_sample(
        Sample(
            release=release,
            edition=edition,
            requested_by=user,
            rows=count,
            seed=_seed_for(user, release, seed),
            selection=selection.to_json(),
        )
    )


def _require_rows(rows: int) -> None:
    if not 1 <= rows <= settings.SAMPLE_MAX_ROWS:
        raise SpecError(
            f"rows must be a whole number from 1 to {settings.SAMPLE_MAX_ROWS}",
            repair="ask for fewer rows",
        )


def _seed_for(user: User, release: Release, seed: str | None) -> str:
    """The seed that was given, or the person's own."""
    seed = seed or own_seed(user=user, release=release)
    if len(seed) > LONGEST_SEED or not seed.isprintable():
        raise SpecError(
            f"a seed is a text of 1 to {LONGEST_SEED} printable characters",
            repair="or leave it out",
        )
    return seed


@transaction.atomic
def _note_sample(sample: Sample) -> Sample:
    """Store it with the commitment to its seed."""
    _require_rows(sample.rows)
    sample.commitment = receipts.seed_commitment(sample.seed)
    sample.save()
    audit.record(
        actor=sample.requested_by,
        action="sample.requested",
        target=("release", sample.release.code),
        organisation=sample.release.dataset.organisation,
        detail={"sample": sample.code, "rows": sample.rows}
        | ({"edition": sample.edition.code} if sample.edition else {}),
    )
    return sample


def own_seed(*, user: User, release: Release) -> str:
    """The seed that one person has for one release: 128 bits that nobody can tell from random ones, nor from
    another person's, without the release's secret."""
    # NUL occurs in none of the parts, so no other release and person give the same text.
    asked = f"synthweb/sample-seed/1\x00{release.code}\x00{user.pk}"
    return hmac.new(
        bytes.fromhex(release.sample_secret), asked.encode(), hashlib.sha256
    ).hexdigest()[:32]
