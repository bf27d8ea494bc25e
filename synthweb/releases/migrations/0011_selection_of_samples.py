# Which rows a sample has.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0010_released_counts"),
    ]

    operations = [
        migrations.AddField(
            model_name="sample",
            name="selection",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
