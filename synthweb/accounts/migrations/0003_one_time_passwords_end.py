from __future__ import annotations

from datetime import timedelta

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone


def end_open_ones(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """One-time passwords from before this change end as if they were made now."""
    until = timezone.now() + timedelta(hours=settings.ONE_TIME_PASSWORD_HOURS)
    apps.get_model("accounts", "User").objects.filter(must_change_password=True).update(
        one_time_until=until
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_access_ended")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="one_time_until",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="When a one-time password that nobody has replaced stops working.",
                null=True,
            ),
        ),
        migrations.RunPython(end_open_ones, migrations.RunPython.noop),
    ]
