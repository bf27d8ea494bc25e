"""`manage.py leave NAME [--to SUCCESSOR]`: somebody leaves the organisation."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from synthweb.accounts.models import User
from synthweb.pages import leaving


class Command(BaseCommand):
    help = (
        "End somebody's access for good, and hand over what was shared with them and the datasets they care "
        "for."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--to", default="", help="user name of the successor")

    def handle(self, *_args: Any, **options: Any) -> None:
        person = _person(options["username"])
        successor = _person(options["to"]) if options["to"] else None
        try:
            handed = leaving.leave(person=person, successor=successor, actor="system")
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        heir = f"went to {successor.username}" if successor else "ended"
        self.stdout.write(
            f"{person.username} has left. {handed.shares} shares {heir}; "
            f"{handed.datasets} datasets have another steward."
        )


def _person(name: str) -> User:
    person = User.objects.filter(username=name).first()
    if person is None:
        raise CommandError(f"There is no person with the user name {name}.")
    return person
