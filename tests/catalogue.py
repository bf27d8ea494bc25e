"""`python -m tests.catalogue` compiles the German catalogue, `… collect` first collects what is to be
translated.

Compiling is done in Python; collecting needs GNU gettext. The compiled catalogue is committed, so that
neither a clone nor an image needs either of the two.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polib

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "locale" / "de" / "LC_MESSAGES" / "django.po"
COMPILED = CATALOGUE.with_suffix(".mo")
OTHERS = (
    "bench",
    "build",
    "client",
    "docs",
    "examples",
    "static",
    "tests",
    "synth_engine",
    ".venv",
)
ENGINE = "engine"
"""The comment of a message that comes from the engine, which has no gettext."""


def read() -> polib.POFile:
    """The catalogue as it is committed."""
    return polib.pofile(str(CATALOGUE), wrapwidth=100)


def compiled(catalogue: polib.POFile) -> bytes:
    """What Python's gettext reads."""
    binary: bytes = catalogue.to_binary()
    return binary


def collect() -> None:
    """Rewrites the catalogue: every message of templates, Python and the engine, with the translation it
    has."""
    from synthweb.pages import engine_texts

    earlier = {_key(entry): entry for entry in read()}
    _makemessages()
    catalogue = read()
    present = {_key(entry) for entry in catalogue}
    for text in engine_texts.all_texts():
        if (None, text) not in present:
            catalogue.append(polib.POEntry(msgid=text, comment=ENGINE))
    for entry in catalogue:
        entry.occurrences = []
        if not entry.translated() and (old := earlier.get(_key(entry))):
            entry.msgstr, entry.msgstr_plural = old.msgstr, old.msgstr_plural
    _write(catalogue)


def _key(entry: polib.POEntry) -> tuple[str | None, str]:
    return entry.msgctxt, entry.msgid


def _makemessages() -> None:
    """Django's own command, without guesses from similar messages."""
    ignored = [part for name in OTHERS for part in ("-i", name)]
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from django.core.management.commands import makemessages as m;"
            "m.Command.msgmerge_options = [*m.Command.msgmerge_options, '--no-fuzzy-matching'];"
            "import django; django.setup(); from django.core.management import call_command;"
            "call_command('makemessages', *sys.argv[1:])",
            *("-l", "de", "--no-obsolete", "--no-location", "-v", "0"),
            *ignored,
        ],
        cwd=ROOT,
        check=True,
    )


def _write(catalogue: polib.POFile) -> None:
    catalogue.metadata.pop("POT-Creation-Date", None)  # would differ each time
    catalogue.header = ""
    catalogue.save(str(CATALOGUE))
    COMPILED.write_bytes(compiled(catalogue))


def main(arguments: list[str]) -> int:
    """Compiles, and collects before it if asked; prints how much is translated."""
    if "collect" in arguments:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
        os.environ.setdefault("SYNTHWEB_SECRET_KEY", "only-for-this-step")
        import django

        django.setup()
        collect()
    else:
        COMPILED.write_bytes(compiled(read()))
    catalogue = read()
    missing = [entry.msgid for entry in catalogue if not entry.translated()]
    sys.stdout.write(
        f"{len(catalogue) - len(missing)} of {len(catalogue)} messages are translated.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
