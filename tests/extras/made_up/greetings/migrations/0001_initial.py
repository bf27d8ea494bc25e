import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import synthweb.lib.codes


class Migration(migrations.Migration):
    initial = True
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="Greeting",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        default=synthweb.lib.codes.new,
                        editable=False,
                        max_length=16,
                        unique=True,
                    ),
                ),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_held", models.BooleanField(default=False)),
                ("lease_seconds", models.FloatField(default=60)),
                ("heartbeats", models.PositiveBigIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("stage", models.CharField(blank=True, max_length=32)),
                ("progress", models.FloatField(default=0.0)),
                ("failure", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("state", models.CharField(default="waiting", max_length=12)),
                ("words", models.CharField(blank=True, max_length=100)),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
    ]
