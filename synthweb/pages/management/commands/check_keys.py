"""`manage.py check_keys`: what the keys of this process open, and what a lost one costs. Exit 1 if anything
is lost.

A process has the keys it needs and no others, so say as whom to look: `--as web` and `--as worker` in their
containers; without it every key of the installation has to be here, as it is where `make run` started
everything.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyrage
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from synthweb.datasets import files
from synthweb.datasets.models import Dataset
from synthweb.datasets.services import openable
from synthweb.lib import signatures
from synthweb.releases.models import Release

NEEDED = {
    "web": ("VAULT_PUBLIC", "PREVIEW_PRIVATE", "CONTENT", "SIGNING_PRIVATE"),
    "worker": ("VAULT_PRIVATE", "PREVIEW_PUBLIC"),
}
NEEDED["everybody"] = (*NEEDED["web"], *NEEDED["worker"])
PAIRS = (("VAULT_PUBLIC", "VAULT_PRIVATE"), ("PREVIEW_PUBLIC", "PREVIEW_PRIVATE"))


class Command(BaseCommand):
    help = (
        "Say which tables and previews the keys of this process still open, and what was lost with a lost "
        "key."
    )
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--as", dest="role", choices=sorted(NEEDED), default="everybody")

    def handle(self, *_args: Any, role: str, **_options: Any) -> None:
        needed = NEEDED[role]
        lost = [name for name in needed if not self._readable(name)]
        wrong = [*self._unfit(needed, lost), *self._unusable(needed, lost)]
        if "VAULT_PRIVATE" in needed:
            wrong += self._tables(key_lost="VAULT_PRIVATE" in lost)
        if "PREVIEW_PRIVATE" in needed:
            wrong += self._previews(key_lost="PREVIEW_PRIVATE" in lost)
        if lost or wrong:
            raise CommandError(
                "something is lost; docs/keys.md says what can be done", returncode=1
            )

    def _readable(self, name: str) -> bool:
        path = _path(name)
        fine = bool(_text(path).strip())
        self._say(fine, f"key file {path}", "" if fine else "it cannot be read, or is empty")
        return fine

    def _unfit(self, needed: tuple[str, ...], lost: list[str]) -> Iterator[str]:
        """Pairs whose halves do not belong together: what is encrypted to the one, the other does not
        open."""
        for public, private in PAIRS:
            # Web and worker hold one half each: halves can be compared only where both are
            # needed.
            if {public, private} <= set(needed) - set(lost) and not _fit(
                _path(public), _path(private)
            ):
                self._say(
                    False,
                    f"pair {_path(public).name}",
                    f"{_path(private)} is not its other half",
                )
                yield public

    def _unusable(self, needed: tuple[str, ...], lost: list[str]) -> Iterator[str]:
        if "SIGNING_PRIVATE" in set(needed) - set(lost):
            try:
                signatures.load(_path("SIGNING_PRIVATE"))
            except signatures.NoSigningKey as problem:
                self._say(False, "signing", str(problem))
                yield "SIGNING_PRIVATE"

    def _tables(self, *, key_lost: bool) -> list[str]:
        reason = "the vault's private key is lost"
        try:
            checked = (
                []
                if key_lost
                else [(stored.dataset, stored.problem) for stored in openable.tables()]
            )
        except (files.StorageError, pyrage.IdentityError):
            key_lost = True
        if key_lost:
            # Without the key no file can be tried, so each table counts as lost.
            checked = [
                (dataset, reason)
                for dataset in Dataset.objects.exclude(vault_name="")
                .exclude(status=Dataset.Status.DELETED)
                .order_by("pk")
            ]
        for dataset, problem in checked:
            self._say(
                not problem,
                f"table of {dataset.code} {dataset.name}",
                problem and f"LOST: {problem}",
            )
        gone = [dataset for dataset, problem in checked if problem]
        if gone:
            remaining = Release.objects.filter(dataset__in=gone).count()
            self.stdout.write(
                f"{len(gone)} of {len(checked)} tables cannot be opened. Their {remaining} releases, with "
                "receipts and samples, and every entry of the ledger are unharmed: none of them needs the "
                "table. To measure anew, upload the table again; what was charged stays charged."
            )
        return [dataset.code for dataset in gone]

    def _previews(self, *, key_lost: bool) -> list[str]:
        try:
            count, gone = openable.previews()
        except (files.StorageError, pyrage.IdentityError):
            self.stdout.write(
                "No preview, suggestion or comparison can be opened. " + _MAKE_AGAIN
            )
            return [] if key_lost else ["PREVIEW_PRIVATE"]
        self._say(
            not gone,
            f"{count} previews and comparisons",
            f"{len(gone)} cannot be opened" if gone else "",
        )
        if gone:
            self.stdout.write(_MAKE_AGAIN)
        return [preview.code for preview in gone]

    def _say(self, fine: bool, what: str, problem: str) -> None:
        word = self.style.SUCCESS("ok  ") if fine else self.style.ERROR("LOST")
        self.stdout.write(f"{word} {what}{': ' + problem if problem else ''}")


_MAKE_AGAIN = (
    "Have the tables read again and the comparisons made again: nothing but them is lost."
)


def _path(name: str) -> Path:
    return Path(getattr(settings, f"{name}_KEY_FILE"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return ""


def _fit(public: Path, private: Path) -> bool:
    try:
        # While the key of the vault is changed there are two.
        identities = map(pyrage.x25519.Identity.from_str, files.read_keys(private))
        return files.read_key(public) in [str(one.to_public()) for one in identities]
    except (files.StorageError, pyrage.IdentityError):
        return False
