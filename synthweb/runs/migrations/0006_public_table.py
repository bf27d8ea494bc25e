"""The public table beside which the answers of a run are read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0005_expected_ranges"),
    ]

    operations = [
        migrations.AddField(
            model_name="synthesisrun",
            name="prior",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
