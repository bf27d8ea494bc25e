"""`manage.py add_user NAME --organisation … --role steward`: the first real people; later ones are added on a
page."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from synthweb.accounts import services
from synthweb.accounts.models import Organisation, Role


class Command(BaseCommand):
    help = (
        "Add a person to an organisation and print a one-time password, which they replace at the first "
        "sign-in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--organisation", required=True, help="code or name")
        parser.add_argument(
            "--role",
            action="append",
            required=True,
            choices=Role.values,
            help="may be given again",
        )
        parser.add_argument(
            "--staff", action="store_true", help="manages the people of the organisation"
        )
        parser.add_argument("--email", default="")

    def handle(self, *_args: Any, **options: Any) -> None:
        password = services.one_time_password()
        try:
            user = services.create_user(
                actor="system",
                organisation=_organisation(options["organisation"]),
                person=services.NewPerson(
                    username=options["username"],
                    email=options["email"],
                    is_staff=options["staff"],
                ),
                roles=[Role(role) for role in options["role"]],
                password=password,
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        until = f"{user.one_time_until:%Y-%m-%d %H:%M} UTC"
        self.stdout.write(
            f"{user.username} can sign in until {until} with the one-time password {password}"
        )


def _organisation(name: str) -> Organisation:
    organisation = (
        Organisation.objects.filter(code=name).first()
        or Organisation.objects.filter(name=name).first()
    )
    if organisation is None:
        raise CommandError(
            "There is no such organisation: `manage.py create_organisation` makes one."
        )
    return organisation
