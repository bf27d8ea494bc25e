"""`manage.py link_identity NAME SUBJECT`: somebody who has an account signs in at the identity provider from
now on."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from synthweb.accounts import services
from synthweb.accounts.models import User


class Command(BaseCommand):
    help = "Connect an account with a subject (the claim `sub`) of the identity provider."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("subject")

    def handle(self, *_args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no person with the user name {options['username']}.")
        try:
            services.link_identity(
                user=user, identity=f"{settings.OIDC_ISSUER}|{options['subject']}"
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"{user.username} signs in at the identity provider.")
