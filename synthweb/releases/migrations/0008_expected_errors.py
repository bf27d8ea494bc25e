from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0007_first_look"),
    ]

    operations = [
        migrations.AddField(
            model_name="expectedranges",
            name="errors",
            field=models.JSONField(null=True),
        ),
    ]
