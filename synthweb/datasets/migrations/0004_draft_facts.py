"""What stands beside the columns of a draft moves into a table of its own."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def apart(apps: Any, _editor: Any) -> None:
    datasets, kept = (
        apps.get_model("datasets", name).objects for name in ("Dataset", "DraftFacts")
    )
    for dataset in datasets.only("pk", "draft").iterator(chunk_size=10):
        facts = dataset.draft.pop("beside", None)
        if facts:
            kept.create(dataset=dataset, facts=facts)
        if facts is not None:
            dataset.save(update_fields=["draft"])


def together(apps: Any, _editor: Any) -> None:
    for each in (
        apps.get_model("datasets", "DraftFacts")
        .objects.select_related("dataset")
        .iterator(chunk_size=10)
    ):
        each.dataset.draft["beside"] = each.facts
        each.dataset.save(update_fields=["draft"])


class Migration(migrations.Migration):
    dependencies = [("datasets", "0003_description_templates")]

    operations = [
        migrations.CreateModel(
            name="DraftFacts",
            fields=[
                (
                    "dataset",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="draft_facts",
                        serialize=False,
                        to="datasets.dataset",
                    ),
                ),
                ("facts", models.JSONField(default=dict)),
            ],
        ),
        migrations.RunPython(apart, together),
    ]
