from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_rho_of_an_organisation"),
    ]

    operations = [
        migrations.AddField(
            model_name="organisation",
            name="second_factor_required",
            field=models.BooleanField(
                default=False,
                help_text="Whether everybody here needs a second factor to sign in, whatever their roles.",
            ),
        ),
    ]
