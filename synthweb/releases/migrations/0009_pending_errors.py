# Expected ranges are stored before the simulation of their errors starts.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0008_expected_errors"),
    ]

    operations = [
        migrations.AddField(
            model_name="expectedranges",
            name="errors_pending",
            field=models.BooleanField(default=False),
        ),
    ]
