"""`manage.py second_factor "Organisation" --required`: everybody there needs one. Without options it says
what holds, and who has none."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from synthweb.accounts import selectors, services
from synthweb.accounts.models import Organisation


class Command(BaseCommand):
    help = (
        "Set whether everybody of an organisation needs a second factor, or say who has none."
    )
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("organisation", help="its name or its code")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--required", action="store_true", help="of everybody")
        chosen.add_argument(
            "--by-role", action="store_true", help="of some roles, by the settings"
        )

    def handle(
        self,
        *_args: Any,
        organisation: str,
        required: bool,
        by_role: bool,
        **_options: Any,
    ) -> None:
        named = (
            Organisation.objects.filter(code=organisation).first()
            or Organisation.objects.filter(name=organisation).first()
        )
        if named is None:
            raise CommandError("no such organisation", returncode=2)
        if required or by_role:
            services.require_second_factor(
                actor="system", organisation=named, required=required
            )
            named.refresh_from_db()
        without = selectors.without_second_factor(named)
        names = ", ".join(person.username for person in without) or "nobody"
        rule = (
            "everybody needs" if named.second_factor_required else "the settings say who needs"
        )
        self.stdout.write(f"{named.name}: {rule} a second factor. Without one: {names}.")
