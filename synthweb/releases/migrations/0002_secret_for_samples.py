"""A secret for each release, from which every person's own seed for its samples is derived."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

import synthweb.releases.models


def give_secrets(apps: Any, _: Any) -> None:
    """Each release its own; a default given by the database would be one for all."""
    releases = apps.get_model("releases", "Release")
    for key in releases.objects.filter(sample_secret="").values_list("pk", flat=True):
        releases.objects.filter(pk=key).update(
            sample_secret=synthweb.releases.models.new_secret()
        )


class Migration(migrations.Migration):
    dependencies = [("releases", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="sample_secret",
            field=models.CharField(default="", editable=False, max_length=64),
        ),
        migrations.RunPython(give_secrets, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="release",
            name="sample_secret",
            field=models.CharField(
                default=synthweb.releases.models.new_secret, editable=False, max_length=64
            ),
        ),
    ]
