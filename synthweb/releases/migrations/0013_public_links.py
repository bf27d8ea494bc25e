"""Public links of releases, how often they are used, and whether an organisation allows them."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import synthweb.lib.codes

ID = models.BigAutoField(
    auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_one_time_passwords_end"),
        ("releases", "0012_licences"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PublicLinkPolicy",
            fields=[
                ("id", ID),
                ("allowed", models.BooleanField(default=True)),
                (
                    "organisation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="public_link_policy",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={"verbose_name_plural": "public link policies"},
        ),
        migrations.CreateModel(
            name="PublicLink",
            fields=[
                ("id", ID),
                (
                    "code",
                    models.CharField(
                        default=synthweb.lib.codes.new,
                        editable=False,
                        max_length=16,
                        unique=True,
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("uses", models.PositiveBigIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="public_links",
                        to="releases.release",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PublicLinkUse",
            fields=[
                ("id", ID),
                ("day", models.DateField()),
                ("count", models.PositiveBigIntegerField(default=0)),
                (
                    "link",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="days",
                        to="releases.publiclink",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("link", "day"), name="link_use_once_a_day")
                ],
            },
        ),
    ]
