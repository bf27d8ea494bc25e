"""`manage.py demo_users make|off|on`: the people of the demonstration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from synthweb.accounts import demo


class Command(BaseCommand):
    help = (
        "Make the demo users (with fresh random passwords, written to a file), or keep them out, or let "
        "them in again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("verb", choices=["make", "off", "on"])
        parser.add_argument(
            "--logins", type=Path, help="where `make` writes names and passwords (mode 0600)"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["verb"] == "make":
            self._make(options["logins"])
        else:
            number = demo.set_active(active=options["verb"] == "on")
            self.stdout.write(
                f"{number} demo users can {'sign in' if options['verb'] == 'on' else 'no longer sign in'}."
            )

    def _make(self, path: Path | None) -> None:
        lines = [f"{name:<16} {password:<22} {words}" for name, password, words in demo.make()]
        text = (
            "# Demo users of this installation: name, password, what they do\n"
            + "\n".join(lines)
            + "\n"
        )
        if path is None:
            self.stdout.write(text)
            return
        # A new file with O_EXCL has mode 0600 from its first byte: it inherits no rights from
        # an earlier file and follows no symbolic link.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
