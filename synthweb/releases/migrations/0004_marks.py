"""Marks become a chain beside the receipt, whose core never changes again.

Until now, sharing a release after a look at real data wrote that into the receipt itself, and its digest changed, so that
citations named a digest that no receipt had. The receipt of such a release is put back to what was published, whose digest
stands in the audit log, and the look becomes the first mark of its chain. A migration signs nothing: it has no key.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

LOOKED = "chosen-after-looking"


# Receipts were hashed with escapes for what is not ASCII, and marks are hashed without.
def canonical(obj: Any, *, ascii_only: bool) -> bytes:
    return json.dumps(
        obj, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only
    ).encode("utf-8")


def with_look(receipt: dict[str, Any], *, looked: bool) -> dict[str, Any]:
    """The receipt with or without the note of a look, and the digest that it had then."""
    rest = {name: value for name, value in receipt.items() if name != "digest"} | {
        "chosen_after_looking": looked
    }
    return rest | {"digest": hashlib.sha256(canonical(rest, ascii_only=True)).hexdigest()}


def to_marks(apps: Any, _editor: Any) -> None:
    """A release whose receipt says that it was chosen after looking, and was published without saying so, gets a mark."""
    release_model, mark_model = (
        apps.get_model("releases", "Release"),
        apps.get_model("releases", "ReleaseMark"),
    )
    entries = apps.get_model("audit", "AuditEntry").objects.filter(object_kind="release")
    for release in release_model.objects.filter(receipt__chosen_after_looking=True).iterator(
        chunk_size=20
    ):
        marked, core = release.receipt, with_look(release.receipt, looked=False)
        published = (
            entries.filter(action="release.published", object_code=release.code)
            .order_by("sequence")
            .first()
        )
        if published is None or published.detail.get("receipt") != core["digest"]:
            continue  # it said so when it was published, which stays in its core
        shared = (
            entries.filter(action="release.shared", object_code=release.code)
            .order_by("sequence")
            .first()
        )
        moment = (shared.at if shared else release.created_at).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        statement = {
            "core": core["digest"],
            "sequence": 1,
            "previous": core["digest"],
            "kind": LOOKED,
            "at": moment,
            "text": "The release was shared after somebody had opened a comparison with real data. Noted before marks were "
            f"signed: from then on its receipt had the digest {marked['digest']}, and its core has {core['digest']}.",
        }
        signed = {"schema": "synthweb/mark/1", "statement": statement}
        digest = hashlib.sha256(canonical(signed, ascii_only=False)).hexdigest()
        release.receipt = core
        release.save(update_fields=["receipt"])
        mark_model.objects.create(
            release=release,
            sequence=1,
            kind=LOOKED,
            hash=digest,
            document=statement | {"hash": digest, "signed": None},
        )


def to_receipts(apps: Any, _editor: Any) -> None:
    """The way back: a look is written into the receipt itself."""
    release_model = apps.get_model("releases", "Release")
    for release in release_model.objects.filter(marks__kind=LOOKED).distinct():
        if "marks" in release.receipt:
            continue  # of a version that the earlier code does not know at all
        release.receipt = with_look(release.receipt, looked=True)
        release.save(update_fields=["receipt"])


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0003_edited_descriptions"),
        ("audit", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReleaseMark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sequence", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("chosen-after-looking", "Chosen after looking at real data"),
                            ("edited-description", "An edited description is kept"),
                        ],
                        max_length=32,
                    ),
                ),
                ("hash", models.CharField(max_length=64, unique=True)),
                ("document", models.JSONField()),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="marks",
                        to="releases.release",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="releasemark",
            constraint=models.UniqueConstraint(
                fields=("release", "sequence"), name="mark_sequence"
            ),
        ),
        migrations.RunPython(to_marks, to_receipts),
    ]
