"""Whether the asker of a run has seen its end. Runs that are over by now are nothing new to anybody."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models import F


def nothing_is_new(apps, _editor) -> None:  # type: ignore[no-untyped-def]
    apps.get_model("runs", "SynthesisRun").objects.filter(finished_at__isnull=False).update(
        seen_at=F("finished_at")
    )


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="synthesisrun",
            name="seen_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="synthesisrun",
            index=models.Index(
                fields=["created_by", "state"], name="runs_synthe_created_504879_idx"
            ),
        ),
        migrations.RunPython(nothing_is_new, migrations.RunPython.noop),
    ]
