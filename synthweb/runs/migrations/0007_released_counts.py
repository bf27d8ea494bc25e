# The errand that gathers what tables of counts are computed from.

import django.db.models.deletion
from django.db import migrations, models

import synthweb.lib.codes


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0010_released_counts"),
        ("runs", "0006_public_table"),
    ]

    operations = [
        migrations.CreateModel(
            name="CountsErrand",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        default=synthweb.lib.codes.new,
                        editable=False,
                        max_length=16,
                        unique=True,
                    ),
                ),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_held", models.BooleanField(default=False)),
                ("lease_seconds", models.FloatField(default=60)),
                ("heartbeats", models.PositiveBigIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("stage", models.CharField(blank=True, max_length=32)),
                ("progress", models.FloatField(default=0.0)),
                ("failure", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting for a worker"),
                            ("finished", "Finished"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=12,
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="counts_errands",
                        to="releases.release",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["state", "lease_held"], name="runs_counts_state_9a11cc_idx"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "waiting")),
                        fields=("release",),
                        name="one_waiting_counts_errand",
                    )
                ],
            },
        ),
    ]
