"""Leases that run out by a count of heartbeats that stands still, in place of a moment of the database's clock."""

from __future__ import annotations

from django.db import migrations, models

NAMES = ("SynthesisRun", "TableErrand")


def hold_what_was_held(apps, _editor) -> None:  # type: ignore[no-untyped-def]
    """Whoever had a lease keeps it; of those whose worker is gone, the reconciler sees no heartbeat."""
    for name in NAMES:
        apps.get_model("runs", name).objects.filter(lease_until__isnull=False).update(
            lease_held=True
        )


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_expected_time")]

    operations = [
        *(
            migrations.AddField(
                model_name=name, name="lease_held", field=models.BooleanField(default=False)
            )
            for name in NAMES
        ),
        *(
            migrations.AddField(
                model_name=name,
                name="heartbeats",
                field=models.PositiveBigIntegerField(default=0),
            )
            for name in NAMES
        ),
        *(
            migrations.AddField(
                model_name=name, name="lease_seconds", field=models.FloatField(default=60)
            )
            for name in NAMES
        ),
        # Before `lease_until` is dropped, which says what is held.
        migrations.RunPython(hold_what_was_held, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="synthesisrun", name="runs_synthe_state_712e0d_idx"),
        migrations.RemoveIndex(model_name="tableerrand", name="runs_tablee_state_453d13_idx"),
        *(migrations.RemoveField(model_name=name, name="lease_until") for name in NAMES),
        migrations.AddIndex(
            model_name="synthesisrun",
            index=models.Index(
                fields=["state", "lease_held"], name="runs_synthe_state_5c8ae0_idx"
            ),
        ),
        migrations.AddIndex(
            model_name="tableerrand",
            index=models.Index(
                fields=["state", "lease_held"], name="runs_tablee_state_362327_idx"
            ),
        ),
    ]
