"""Writes a generated city as files that programs for simulation read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from synth_engine import outputs
from synth_engine.extras.cities import files, matsim, populationsim
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.extras.cities.travellers import require as require
from synth_engine.strict_json import JsonObject

Form = Literal["matsim", "populationsim"]
FORMS: tuple[Form, ...] = ("matsim", "populationsim")


def write(built: BuiltCity, document: JsonObject, path: Path, *, form: Form) -> None:
    """Writes a new folder of one form, with the receipt of the city. Errors: SpecError, InputError."""
    outputs.new_folder(path, _members(built, document, form))


def pack(built: BuiltCity, document: JsonObject, path: Path, *, form: Form) -> None:
    """Writes the same as a zip. Errors: SpecError."""
    files.pack(_members(built, document, form), path)


def _members(built: BuiltCity, document: JsonObject, form: Form) -> Iterator[tuple[str, bytes]]:
    yield from matsim.files(built) if form == "matsim" else populationsim.files(built)
    yield files.RECEIPT_FILE, files.json_bytes(document)
