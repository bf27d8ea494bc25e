# What tables of counts are computed from.

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0009_pending_errors"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReleasedCounts",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=32)),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "release",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="released_counts",
                        to="releases.release",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "released counts",
            },
        ),
    ]
