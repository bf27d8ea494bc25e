# Which rows a sample has.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0009_pending_errors"),
    ]

    operations = [
        migrations.AddField(
            model_name="sample",
            name="selection",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
