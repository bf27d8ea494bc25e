"""`manage.py create_organisation "Name"`: the first thing a real installation needs."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from synthweb.accounts import services


class Command(BaseCommand):
    help = "Make an organisation; `add_user` then adds its people."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            organisation = services.create_organisation(actor="system", name=options["name"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"{organisation.name} has the code {organisation.code}.")
