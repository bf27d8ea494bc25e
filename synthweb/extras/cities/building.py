"""What a worker does for a city: it generates the tables from released models and stores them with their
receipt. It opens no table."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404

from synth_engine.errors import InputError, SpecError
from synth_engine.extras.cities import building, exports, files, receipt
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.strict_json import JsonObject
from synthweb.audit import services as audit
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities import stages
from synthweb.extras.cities.models import CityBuild, CityExport
from synthweb.runs import turns
from synthweb.runs.progress import Progress
from synthweb.runs.turns import Failure, Job

MAX_FILE = 200_000_000
"""Bytes of one file of a city, which stands in the database."""


def compute(*, code: str) -> None:
    """Generate the city of this code if nobody else does. Harmless when repeated, late or doubled."""
    turns.take(Cities, code=code)


class Cities(Job[CityBuild]):
    """A city is generated from releases that its maker may draw from."""

    model = CityBuild
    word = "city"
    expected: ClassVar[tuple[type[Exception], ...]] = (InputError, Http404, PermissionDenied)

    def do(self) -> None:
        _generate(self)

    def failure(self, error: Exception) -> Failure:
        if isinstance(error, Http404 | PermissionDenied):
            text = "A release that this city is made of is not shared any more."
            return {"code": "not-shared", "text": text}
        return super().failure(error)


def _generate(job: Cities) -> None:
    build, progress = job.row, job.progress
    progress(stages.CONNECT.name, 0.0)
    city = cities.assemble(build.created_by, cities.documents_of(build))
    built = building.build(
        city,
        seed=city.spec.seed or build.seed,
        progress=lambda _stage, share: progress(stages.CONNECT.name, share),
    )
    progress(stages.WRITE_CITY.name, 0.0)
    document = receipt.build(built)
    before = None if build.before is None else build.before.receipt
    with tempfile.TemporaryDirectory() as folder:
        archive, database = Path(folder) / "city.zip", Path(folder) / "city.sqlite"
        files.write(built, document, archive, overwrite=False)
        progress(stages.WRITE_CITY.name, 0.5)
        files.write(built, document, database, overwrite=False)
        packed = _exports(built, document, folder=Path(folder), progress=progress)
        written = (archive, database, *packed.values())
        if max(path.stat().st_size for path in written) > MAX_FILE:
            raise SpecError(
                "the files of this city are larger than what is stored here",
                repair="ask for fewer persons, or use the command line",
            )
        with transaction.atomic():
            job.end(
                state=CityBuild.State.FINISHED,
                archive=archive.read_bytes(),
                database=database.read_bytes(),
                receipt=document,
                changes=None if before is None else receipt.changes(before, document),
                progress=1.0,
            )
            CityExport.objects.bulk_create(
                CityExport(city=build, form=form, content=path.read_bytes())
                for form, path in packed.items()
            )
            audit.record(
                actor="worker",
                action="city.generated",
                target=("city", build.code),
                organisation=build.organisation,
                detail={"receipt": str(document["digest"])},
            )


def _exports(
    built: BuiltCity, document: JsonObject, *, folder: Path, progress: Progress
) -> dict[exports.Form, Path]:
    """The files for simulations, by their form; none where the specification does not say what a simulation
    takes."""
    if built.city.spec.simulation is None:
        return {}
    packed: dict[exports.Form, Path] = {}
    for number, form in enumerate(exports.FORMS):
        progress(stages.EXPORT_CITY.name, number / len(exports.FORMS))
        packed[form] = folder / f"{form}.zip"
        exports.pack(built, document, packed[form], form=form)
    return packed
