"""`manage.py two_custodians "Organisation" --above 2`: which grants take two custodians. Without options it
says what holds."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from synth_engine.errors import SpecError
from synth_engine.privacy import loss
from synthweb.accounts.models import Organisation
from synthweb.ledger import selectors, services
from synthweb.ledger.amounts import NANO, short_text
from synthweb.lib.errors import Refused


class Command(BaseCommand):
    help = "Set above which ε of an account's cap two custodians approve a grant."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("organisation", help="its name or its code")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--above", metavar="EPSILON", help="0: every grant takes two")
        chosen.add_argument("--never", action="store_true", help="one always suffices")

    def handle(
        self, *_args: Any, organisation: str, above: str | None, never: bool, **_options: Any
    ) -> None:
        named = (
            Organisation.objects.filter(code=organisation).first()
            or Organisation.objects.filter(name=organisation).first()
        )
        if named is None:
            raise CommandError("no such organisation", returncode=2)
        if above is not None or never:
            limit = None if above is None else _read(above)
            try:
                services.set_two_custodians(actor="system", organisation=named, above=limit)
            except Refused as refusal:
                raise CommandError(str(refusal)) from None
        limit = selectors.two_above(named)
        self.stdout.write(
            f"{named.name}: one custodian always suffices."
            if limit is None
            else (
                f"{named.name}: two custodians approve what brings a cap above ε "
                f"{short_text('epsilon', limit)}."
            )
        )


def _read(text: str) -> int:
    try:
        units = loss.parse_decimal(text, name="above") * NANO
    except SpecError as error:
        raise CommandError(error.text) from None
    if units.denominator != 1:
        raise CommandError("the ledger counts ε in steps of 1e-9")
    return units.numerator
