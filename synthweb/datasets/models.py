"""Datasets and their public descriptions. No cell of a table is ever stored here: tables lie in the vault,
previews and suggestions in the preview store, and this database holds what the steward declared public."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from synthweb.accounts.models import Organisation
from synthweb.lib import codes
from synthweb.lib.append_only import AppendOnly
from synthweb.lib.marks import Mark


class Dataset(models.Model):
    """One table with its name, its description and its budget. Which file it is now stands here:
    `vault_name`, `file_kind`, `size_bytes`, `content_key` and `dialect` are those of version `table_number`;
    the earlier ones are TableVersions. `content_key` is an HMAC of a file's bytes under a key of this
    installation: it notices the same content uploaded again and says nothing to who lacks the key."""

    class Status(models.TextChoices):
        UPLOADED = "uploaded", _("Waiting to be read")
        READY = "ready", _("Ready")
        REFUSED = "refused", _("Refused")
        DELETED = "deleted", _("Deleted")

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="datasets"
    )
    steward = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="datasets"
    )
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.UPLOADED)
    # Rule, repair and, encrypted, column of an InputError; never a value.
    refusal = models.JSONField(null=True, blank=True)
    # For stewards alone: which line is refused depends on the rows.
    refusal_line = models.PositiveBigIntegerField(null=True, blank=True)
    table_number = models.PositiveIntegerField(default=1)
    vault_name = models.CharField(max_length=64, unique=True)
    file_kind = models.CharField(max_length=16)  # a Kind of synth_engine.formats
    # How the file is written. Guessed once and then stored, because a form that is guessed
    # again from each table would let one record change how all others are read (ADR 11).
    # Its names are encrypted: `sealed_names` reads and writes it.
    dialect = models.JSONField(null=True, blank=True)
    size_bytes = models.BigIntegerField()
    content_key = models.CharField(max_length=64, db_index=True)
    # What the steward has typed or confirmed so far, never a suggestion: those are real data.
    draft = models.JSONField(default=dict, blank=True)
    # About how many records there are, as the steward states it in public; the low end of a band.
    stated_records = models.PositiveBigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    # The last days on which the table, the noisy answers of its runs, and its releases are kept; null: no end
    # was set.
    table_until = models.DateField(null=True, blank=True)
    answers_until = models.DateField(null=True, blank=True)
    releases_until = models.DateField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )

    def __str__(self) -> str:
        return self.name

    @property
    def is_deleted(self) -> bool:
        return self.status == self.Status.DELETED


class DraftFacts(models.Model):
    """What stands beside the columns of a draft, as in a DOMAIN.json: points, partitions, totals. Apart from
    the draft because thousands of places have megabytes, which a press on the describe page neither reads nor
    writes."""

    dataset = models.OneToOneField(
        Dataset, primary_key=True, on_delete=models.CASCADE, related_name="draft_facts"
    )
    facts = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.dataset}, beside its columns"


class PartialUpload(models.Model):
    """A table that comes in several requests. How far it has come is not here: the pieces in the vault say it
    (`partial_tables`). Of the name of its file only the ending is used, and only the kind is kept."""

    class State(models.TextChoices):
        OPEN = "open", _("Unfinished")
        STORED = "stored", _("Stored")  # it has become a table of `dataset`
        ENDED = "ended", _("Ended")  # given up, refused or expired

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="partial_uploads"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="partial_uploads"
    )
    file_kind = models.CharField(max_length=16)
    length = models.BigIntegerField()  # in bytes, as it was announced
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    dataset = models.ForeignKey(
        Dataset, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # An open one ends then; of one that is over the row is removed.
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["person", "state"])]
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"upload {self.code}"

    @property
    def is_open(self) -> bool:
        """Whether it may go on."""
        return self.state == self.State.OPEN and self.expires_at > timezone.now()


class TableVersion(models.Model):
    """One file of a dataset, then or now. A corrected file is a version under the same budget: the people in
    it are the same people. Its file is erased once its successor is ready and there is no release of it, or
    its dataset is deleted; this row stays."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="tables")
    number = models.PositiveIntegerField()
    vault_name = models.CharField(max_length=64, unique=True)
    file_kind = models.CharField(max_length=16)
    size_bytes = models.BigIntegerField()
    content_key = models.CharField(max_length=64, db_index=True)
    dialect = models.JSONField(null=True, blank=True)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)  # the worker found it sound
    # Committed before the file is removed: `sweep` completes what is cut short in between.
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "number"], name="table_version_number")
        ]
        ordering = ["dataset", "-number"]

    def __str__(self) -> str:
        return f"{self.dataset}, version {self.number} of the table"


class RunTable(models.Model):
    """Which version of the table a run was submitted for; a run of a database has a row for each of its
    tables, that of the root first. Runs lie above: named by code, not referenced."""

    run_code = models.CharField(max_length=16, db_index=True)
    table = models.ForeignKey(TableVersion, on_delete=models.CASCADE, related_name="runs")
    # What a record was for that run (`services.records`).
    rules = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run_code", "table"], name="run_table_once")
        ]

    def __str__(self) -> str:
        return f"run {self.run_code}: {self.table}"


class DomainVersion(AppendOnly):
    """A confirmed public description, immutable; `document` is the engine's Domain as JSON, `digest` its
    SHA-256."""

    dataset = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, related_name="domain_versions"
    )
    number = models.PositiveIntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "number"], name="domain_version_number")
        ]
        ordering = ["dataset", "-number"]

    def __str__(self) -> str:
        return f"{self.dataset} v{self.number}"


class LearnedDescription(AppendOnly):
    """What a run learned of columns of a dataset, which its account has paid for: later descriptions of the
    dataset use it free (ADR 184). `learned`: what each column that was found became, as the engine's
    attribute; `receipt`: of the run."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="purchases")
    # The description that the run was asked for under.
    version = models.ForeignKey(
        DomainVersion, on_delete=models.PROTECT, related_name="purchases"
    )
    run_code = models.CharField(max_length=16, unique=True)
    learned = models.JSONField()
    receipt = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"learned by {self.run_code}"


class LearnedMark(Mark):
    """What became known of a purchase after its receipt was made."""

    class Kind(models.TextChoices):
        OUTSIDE = "outside-the-guarantee", _("Exact counts were published")

    learned = models.ForeignKey(
        LearnedDescription, on_delete=models.PROTECT, related_name="marks"
    )
    kind = models.CharField(max_length=32, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["learned", "sequence"], name="learned_mark_sequence"
            )
        ]

    def __str__(self) -> str:
        return f"{self.learned}, mark {self.sequence}"


class DatabaseTable(models.Model):
    """A dataset as one table of a database, as its steward describes it so far. The root is the dataset whose
    rows are the privacy units and whose budget pays; it has a row, too."""

    dataset = models.OneToOneField(
        Dataset, primary_key=True, on_delete=models.CASCADE, related_name="database_table"
    )
    root = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="database_tables")
    # As in the engine's description of a database: name, key, parent, reference, most, order, siblings.
    facts = models.JSONField(default=dict)
    # Of the root: constraints across tables, and public look-up tables with their rows, likewise.
    constraints = models.JSONField(default=list, blank=True)
    lookups = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["root", "dataset"]

    def __str__(self) -> str:
        return f"{self.dataset} in the database of {self.root}"

    @property
    def is_root(self) -> bool:
        return self.dataset_id == self.root_id


class DatabaseVersion(AppendOnly):
    """A confirmed description of a database, immutable: the engine's Database as JSON, with the description
    of each table that was in force. `datasets`: the code of the dataset of each table, by its name."""

    root = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, related_name="database_versions"
    )
    number = models.PositiveIntegerField()
    document = models.JSONField()
    datasets = models.JSONField()
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["root", "number"], name="database_version_number")
        ]
        ordering = ["root", "-number"]

    def __str__(self) -> str:
        return f"Database of {self.root} v{self.number}"


class DomainBasis(AppendOnly):
    """On what a confirmed description rests: for whom confirmed it and for who grants budget. `statements`:
    where its facts are written, as the steward said it, [{"columns", "because"}]. `facts_as_suggested`: how
    many of its `facts` equal a suggestion that was read from the data; None where the suggestions had expired
    by then. Analysts never see that number: it tells something of the data. `equal_facts`: which of them,
    inputs by column; as `facts_as_suggested`, for steward and custodian alone. `after_looking`: whether a
    comparison with the real table had been opened before. `ranges_after_looking`: columns whose range was
    changed after the histogram of their real values had been opened. `reader`: the version of the rules by
    which the suggestions were made; None where they had expired, or came from elsewhere."""

    version = models.OneToOneField(
        DomainVersion, on_delete=models.PROTECT, related_name="basis"
    )
    statements = models.JSONField(default=list)
    # Somebody had opened them before the description was confirmed.
    suggestions_shown = models.BooleanField(default=False)
    facts = models.PositiveIntegerField(default=0)
    facts_as_suggested = models.PositiveIntegerField(null=True, blank=True)
    equal_facts = models.JSONField(default=dict)
    after_looking = models.BooleanField(default=False)
    ranges_after_looking = models.JSONField(default=list)
    reader = models.PositiveSmallIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"basis of {self.version}"


class DescriptionTemplate(models.Model):
    """A confirmed description kept under a name, to be applied to other tables of the same organisation. It
    holds what was public about one table and nothing else; where it is applied, each column is confirmed
    anew."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="description_templates"
    )
    name = models.CharField(max_length=200)
    version = models.ForeignKey(
        DomainVersion, on_delete=models.PROTECT, related_name="templates"
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="description_template_name"
            )
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Preview(models.Model):
    """Where a steward object lies (preview, suggestions, report): its file is encrypted under the web's own
    key; this row holds no content. Written by the worker, read through selectors that write the audit log.
    All are short-lived but the names of the columns, against which descriptions are checked and which nobody
    is shown."""

    class Kind(models.TextChoices):
        TABLE = "table", _("Preview and suggestions")
        REPORT = "report", _("Comparison with real data")
        COLUMNS = "columns", _("Names of the columns")
        KEYS = "keys", _("Check of the keys")

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="previews")
    kind = models.CharField(max_length=16, choices=Kind)
    subject = models.CharField(max_length=32, blank=True)  # the release code of a report
    store_name = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["dataset", "kind", "subject"])]

    def __str__(self) -> str:
        return f"{self.kind} of {self.dataset}"
