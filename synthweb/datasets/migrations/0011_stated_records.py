from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0010_partial_uploads"),
    ]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="stated_records",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
    ]
