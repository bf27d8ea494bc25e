"""Releases: what left the room. Model, receipt and samples are post-processing of noisy answers: nothing
real."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from synthweb.accounts.models import Organisation
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import codes
from synthweb.lib.marks import Mark


def new_secret() -> str:
    """256 random bits as text."""
    return secrets.token_hex(32)


class Release(models.Model):
    """One finished run's model and receipt; `shared` state lives in ReleaseGrant."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    # PROTECT throughout: what budget was spent on does not go with an object that it names.
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="releases")
    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="releases"
    )
    domain_version = models.ForeignKey(
        DomainVersion, on_delete=models.PROTECT, related_name="releases"
    )
    run_code = models.CharField(max_length=16, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    # One of `licences.LicenceChoice`, empty: none is stated; text and address of one in the steward's own
    # words.
    licence = models.CharField(max_length=20, blank=True)
    licence_text = models.CharField(max_length=300, blank=True)
    licence_address = models.CharField(max_length=500, blank=True)
    mechanism = models.CharField(max_length=64)
    # The guarantee stated in the receipt, in 1e-9, rounded up: never less than what was spent.
    epsilon = models.BigIntegerField()
    # In 1e-18, rounded up.
    delta = models.BigIntegerField(default=0)
    # The noisy (or public) number of records.
    rows = models.BigIntegerField()
    # How many rows a sample has unless its requester says otherwise.
    sample_rows = models.BigIntegerField()
    # The core as it was published, which citations name; `chain` puts the marks beside it.
    receipt = models.JSONField()
    # A model document of synth_engine: noisy answers and what was fitted to them.
    model = models.JSONField()
    # What has to hold for it to be used, as it was fixed before the run: public choices.
    criteria = models.JSONField(default=list, blank=True)
    # Everybody's own seeds of samples are derived from it (`services.own_seed`).
    sample_secret = models.CharField(max_length=64, default=new_secret, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="releases"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # Its model was erased then; receipt, name and description stay.
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class ReleaseMark(Mark):
    """What became known of a release after it was published."""

    class Kind(models.TextChoices):
        LOOKED = "chosen-after-looking", _("Chosen after looking at real data")
        DESCRIBED = "edited-description", _("An edited description is kept")
        OUTSIDE = "outside-the-guarantee", _("Exact counts were published")

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="marks")
    kind = models.CharField(max_length=32, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "sequence"], name="mark_sequence")
        ]

    def __str__(self) -> str:
        return f"{self.release}, mark {self.sequence}"


class ReleaseGrant(models.Model):
    """A release shared with one analyst, until revoked."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="grants")
    analyst = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="release_grants"
    )
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Of open grants alone: a release that was taken back can be shared again.
            models.UniqueConstraint(
                fields=["release", "analyst"], condition=Q(revoked_at=None), name="grant_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.release} for {self.analyst}"


class ExpectedRanges(models.Model):
    """The expected ranges of a release, as a worker computed them from its model and its receipt."""

    release = models.OneToOneField(
        Release, on_delete=models.PROTECT, related_name="expected_ranges"
    )
    # Of the computation (synth_engine.evaluation.expected): figures of another one are made again.
    version = models.CharField(max_length=32)
    columns = models.JSONField()
    # Of the whole release (synth_engine.evaluation.expected_errors); null where they are not estimated.
    errors = models.JSONField(null=True)
    # The columns are stored, and the simulation of the run is still to come.
    errors_pending = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "expected ranges"

    def __str__(self) -> str:
        return f"Expected ranges of {self.release}"


class ReleasedCounts(models.Model):
    """What tables of counts of a release are computed from, as a worker brought it together: its noisy
    counts, which were paid for, and records of its model."""

    release = models.OneToOneField(
        Release, on_delete=models.PROTECT, related_name="released_counts"
    )
    # Of the content (synth_engine.evaluation.marginals): what has another one is made again.
    version = models.CharField(max_length=32)
    content = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "released counts"

    def __str__(self) -> str:
        return f"Counts of {self.release}"


class PlausibleTables(models.Model):
    """Several plausible tables of a release in one archive, as a worker made them from noisy answers that
    were paid for."""

    release = models.OneToOneField(
        Release, on_delete=models.PROTECT, related_name="plausible_tables"
    )
    # Of the computation (synth_engine.plans.implicates): tables of another one are made again.
    version = models.CharField(max_length=32)
    content = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "plausible tables"

    def __str__(self) -> str:
        return f"Plausible tables of {self.release}"


class FirstLook(models.Model):
    """The first rows of a release and what its model holds of each column, drawn once and shown to everybody
    alike."""

    release = models.OneToOneField(Release, on_delete=models.PROTECT, related_name="first_look")
    # Of the document (`look.VERSION`): one of another version is made again.
    version = models.CharField(max_length=32)
    # How many columns a sample has.
    columns = models.PositiveIntegerField()
    document = models.JSONField()
    # The expected ranges of each column in words, and how many columns are how close; none before they are
    # computed.
    errors = models.JSONField(null=True, blank=True)
    quality = models.JSONField(null=True, blank=True)
    # Of the expected ranges that these two come from.
    ranges_version = models.CharField(max_length=32, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"First look at {self.release}"


class PaidCheck(models.Model):
    """Figures of a release that were measured with budget: noisy, each with an interval, under a receipt of
    their own."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="paid_checks")
    run_code = models.CharField(max_length=16, unique=True)
    name = models.CharField(max_length=200)
    # Asked for by an analyst within an allowance: other analysts do not learn of it.
    is_validation = models.BooleanField(default=False)
    # The guarantee stated in the receipt, as in `Release`.
    epsilon = models.BigIntegerField()
    delta = models.BigIntegerField(default=0)
    receipt = models.JSONField()
    # What was asked (`release_check.CheckedFigure`), each with its answer (`paid_figures.CheckedResult`).
    figures = models.JSONField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="paid_checks"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


MAX_REASON = 500
"""Characters of a reason."""


class CheckMark(Mark):
    """What became known of a check after it was published."""

    class Kind(models.TextChoices):
        VOID = "void", _("The figures are void")
        OUTSIDE = "outside-the-guarantee", _("Exact counts were published")

    paid_check = models.ForeignKey(PaidCheck, on_delete=models.PROTECT, related_name="marks")
    kind = models.CharField(max_length=32, choices=Kind)
    # In the words of whoever made the mark.
    reason = models.CharField(max_length=MAX_REASON, blank=True)
    # Nobody where the installation made it by itself.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="check_marks",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["paid_check", "sequence"], name="check_mark_sequence"
            ),
            models.UniqueConstraint(
                fields=["paid_check"], condition=Q(kind="void"), name="check_void_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.paid_check}, mark {self.sequence}"


class Edition(models.Model):
    """A description of a release that somebody edited: no longer what was measured, and never changed
    again."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="editions")
    note = models.CharField(max_length=300)  # what was changed, in its editor's words
    model = models.JSONField()
    digest = models.CharField(max_length=64)  # SHA-256 of the description
    # Somebody had opened a comparison with real data.
    after_looking = models.BooleanField(default=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="editions"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.release}, edited: {self.note}"


class Sample(models.Model):
    """One table drawn from a release: a seed and a number of rows; the table itself is generated at each
    download. Unless its requester gave a seed, it is the one that this person has for this release: asking
    again for as many rows gives the same table. The seed is shown to its requester alone; the commitment to
    it stands in the sample's receipt."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="samples")
    edition = models.ForeignKey(
        Edition, on_delete=models.PROTECT, related_name="samples", null=True, blank=True
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="samples"
    )
    rows = models.BigIntegerField()
    seed = models.CharField(max_length=64)
    commitment = models.CharField(max_length=64)
    # Which rows, as the engine's `RowSelection`; null where all are asked for.
    selection = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.rows} rows of {self.release}"

    @property
    def model_document(self) -> dict[str, Any]:
        """What it is drawn from: the model of the release, or one that somebody edited."""
        document: dict[str, Any] = (
            self.release.model if self.edition is None else self.edition.model
        )
        return document


class RepairedTable(models.Model):
    """A synthetic table of a release that meets public totals: its rows are weighted, or repeated and left
    out. Whoever may draw from the release may read it; its receipt names that of the release."""

    class Way(models.TextChoices):
        WEIGHTS = "weights", _("A column of weights")
        ROWS = "rows", _("Rows repeated and left out")

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    release = models.ForeignKey(
        Release, on_delete=models.PROTECT, related_name="repaired_tables"
    )
    name = models.CharField(max_length=200)
    # Where the totals are published, in the steward's words.
    published = models.CharField(max_length=300)
    # As the engine's document (`synth_engine.mixing.repair`).
    totals = models.JSONField()
    way = models.CharField(max_length=8, choices=Way)
    rows = models.BigIntegerField()
    receipt = models.JSONField()
    # A zip of the table as CSV and as Parquet.
    content = models.BinaryField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="repaired_tables"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class PublicLinkPolicy(models.Model):
    """Whether an organisation lets its releases have public links; it does where there is no row."""

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="public_link_policy"
    )
    allowed = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "public link policies"

    def __str__(self) -> str:
        return f"Public links of {self.organisation}"


class PublicLink(models.Model):
    """An address that opens a release without an account until it expires: only the SHA-256 of its token is
    stored."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="public_links")
    digest = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)  # for whom, in the steward's words
    # Requests of the days that the audit log has; those of today are in PublicLinkUse.
    uses = models.PositiveBigIntegerField(default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Public link {self.code} to {self.release}"


class PublicLinkUse(models.Model):
    """How often a link was used on a day that the audit log does not have yet. Nothing here is about a
    visitor."""

    link = models.ForeignKey(PublicLink, on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["link", "day"], name="link_use_once_a_day")
        ]

    def __str__(self) -> str:
        return f"{self.link} on {self.day}"
