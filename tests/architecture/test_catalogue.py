"""The German catalogue is compiled from its source, and its translations fit their messages."""

from __future__ import annotations

import gettext
import io
import re

import polib
import pytest

from tests import catalogue

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}")
TAG = re.compile(r"</?[a-z]+")
ENTRIES = catalogue.read()


def _pairs(entry: polib.POEntry) -> list[tuple[str, str]]:
    """Each message with its translation; German has the same two numbers as English."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    messages = (entry.msgid, entry.msgid_plural)
    return [(messages[index], text) for index, text in entry.msgstr_plural.items()]


def faults(entry: polib.POEntry) -> list[str]:
    """What is wrong with the translation of a message: other placeholders, other elements, a guess, or other
    outer blanks."""
    listed = ["fuzzy"] if entry.fuzzy else []
    for message, text in _pairs(entry):
        if not text:
            continue
        if sorted(PLACEHOLDER.findall(message)) != sorted(PLACEHOLDER.findall(text)):
            listed.append("placeholders")
        if sorted(TAG.findall(message)) != sorted(TAG.findall(text)):
            listed.append("elements")
        if (message[:1].isspace(), message[-1:].isspace()) != (
            text[:1].isspace(),
            text[-1:].isspace(),
        ):
            listed.append("blanks")
    return listed


def test_the_committed_catalogue_is_compiled_from_its_source() -> None:
    assert catalogue.COMPILED.read_bytes() == catalogue.compiled(ENTRIES)


def test_python_reads_the_compiled_catalogue() -> None:
    translations = gettext.GNUTranslations(io.BytesIO(catalogue.COMPILED.read_bytes()))
    assert translations.gettext("Sign in") == "Anmelden"
    assert translations.ngettext("%(columns)s column", "%(columns)s columns", 2) == (
        "%(columns)s Spalten"
    )


def test_every_translation_fits_its_message() -> None:
    assert {entry.msgid: faults(entry) for entry in ENTRIES if faults(entry)} == {}


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (polib.POEntry(msgid="%(rows)s rows", msgstr="Zeilen"), "placeholders"),
        (polib.POEntry(msgid="%(rows)s rows", msgstr="%(row)s Zeilen"), "placeholders"),
        (polib.POEntry(msgid="95 %% of it", msgstr="95 % davon"), "placeholders"),
        (polib.POEntry(msgid="<b>Now</b>", msgstr="<b>Jetzt"), "elements"),
        (polib.POEntry(msgid="Now ", msgstr="Jetzt"), "blanks"),
        (polib.POEntry(msgid="Now", msgstr="Jetzt", flags=["fuzzy"]), "fuzzy"),
        (
            polib.POEntry(
                msgid="%(n)s row",
                msgid_plural="%(n)s rows",
                msgstr_plural={0: "%(n)s Zeile", 1: "Zeilen"},
            ),
            "placeholders",
        ),
    ],
)
def test_a_translation_that_does_not_fit_would_be_noticed(
    entry: polib.POEntry, fault: str
) -> None:
    assert fault in faults(entry)
