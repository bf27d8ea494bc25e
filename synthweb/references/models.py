"""Public reference tables: where codes lie, of what they are parts, what weighs in them; or records. Public
by a steward's word.

What is stored of codes is what the engine read out of a file (`synth_engine.references.Reference`), packed;
the file is not. Of records the file itself is stored, packed."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from synthweb.accounts.models import Organisation
from synthweb.lib import codes

RECORDS = "records"
KINDS = {
    "gazetteer": "Gazetteer: points",
    "partition": "Partition",
    "density": "Density: weights",
    RECORDS: "Records",
}
"""The first three of synth_engine.references, and what pages call them."""


class ReferenceTable(models.Model):
    """A table under a name, shared between the datasets of an organisation; its contents are its versions."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="references"
    )
    name = models.CharField(max_length=200)
    published = models.CharField(
        max_length=1000
    )  # where anybody can get it, in the steward's words
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="reference_table_name"
            )
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ReferenceVersion(models.Model):
    """One file of a reference table, as it was read. Never changed; gone when its table is deleted.
    Descriptions hold copies of what they use, with `sha256` of the unpacked file. `content_key` is the HMAC
    by which tables that are to be protected are recognised (datasets.models)."""

    reference = models.ForeignKey(
        ReferenceTable, on_delete=models.CASCADE, related_name="versions"
    )
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)  # of KINDS
    # Which column of the file was what; of records, the names of all columns.
    roles = models.JSONField()
    content = models.BinaryField()
    code_count = models.PositiveIntegerField()  # of records, their number
    partitions = models.JSONField()  # name → number of parts
    advice = models.CharField(max_length=300, blank=True)
    sha256 = models.CharField(max_length=64)
    content_key = models.CharField(max_length=64, db_index=True)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["reference", "number"], name="reference_version_number"
            )
        ]
        ordering = ["reference", "-number"]

    def __str__(self) -> str:
        return f"{self.reference}, version {self.number}"

    @property
    def has_records(self) -> bool:
        """Whether it has records, and no codes (`references.records`)."""
        return self.kind == RECORDS
