"""A release may have a licence; those that were published before state none."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0011_selection_of_samples")]

    operations = [
        migrations.AddField("release", "licence", models.CharField(blank=True, max_length=20)),
        migrations.AddField(
            "release", "licence_text", models.CharField(blank=True, max_length=300)
        ),
        migrations.AddField(
            "release", "licence_address", models.CharField(blank=True, max_length=500)
        ),
    ]
