from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0005_bases_of_descriptions"),
    ]

    operations = [
        migrations.AddField(
            model_name="domainbasis",
            name="equal_facts",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="domainbasis",
            name="after_looking",
            field=models.BooleanField(default=False),
        ),
    ]
