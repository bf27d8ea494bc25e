from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0011_what_a_record_is"),
    ]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="stated_records",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
    ]
