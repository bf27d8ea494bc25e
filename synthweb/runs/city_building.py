"""What a worker does for a city: it generates the tables from released models and stores them with their receipt. It opens no table."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, transaction
from django.db.models.functions import Now
from django.http import Http404

from synth_engine.cities import building, exports, files, receipt
from synth_engine.cities.building import BuiltCity
from synth_engine.errors import InputError, SpecError
from synth_engine.strict_json import JsonObject
from synthweb.audit import services as audit
from synthweb.lib.language import in_english
from synthweb.runs import cities, errors, lease, stages
from synthweb.runs.derivation import GAVE_UP, MAX_ATTEMPTS
from synthweb.runs.models import CityBuild, CityExport
from synthweb.runs.progress import Progress

logger = logging.getLogger(__name__)

MAX_FILE = 200_000_000
"""Bytes of one file of a city, which stands in the database."""


@in_english
def compute(*, code: str) -> None:
    """Generate the city of this code if nobody else does. Harmless when repeated, late or doubled."""
    build = CityBuild.objects.filter(code=code).first()
    grip = lease.claim(build) if build else None
    if build is None or grip is None:
        return
    build.refresh_from_db(fields=["attempts"])
    with lease.keep_alive(grip):
        try:
            if build.attempts > MAX_ATTEMPTS:
                _fail(grip, GAVE_UP)
            else:
                _generate(build, grip)
        except errors.LeaseLost:
            logger.info("city %s: taken over; this worker stops", code)
        except InputError as error:
            _fail(grip, {"code": "input", "text": error.text})
        except (Http404, PermissionDenied):
            text = "A release that this city is made of is not shared any more."
            _fail(grip, {"code": "not-shared", "text": text})
        except DatabaseError as error:
            logger.warning("city %s: %s; left for the reconciler", code, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - whatever it was, the city gets an end
            logger.error("city %s: failed with %s", code, type(error).__name__)
            text = f"An error of kind {type(error).__name__} stopped the worker."
            _fail(grip, {"code": "internal", "text": text})


def _generate(build: CityBuild, grip: lease.Lease) -> None:
    progress = Progress(grip)
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
            lease.write(
                grip,
                states=build.OPEN,
                state=CityBuild.State.FINISHED,
                archive=archive.read_bytes(),
                database=database.read_bytes(),
                receipt=document,
                changes=None if before is None else receipt.changes(before, document),
                progress=1.0,
                finished_at=Now(),
                lease_held=False,
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
    """The files for simulations, by their form; none where the specification does not say what a simulation takes."""
    if built.city.spec.simulation is None:
        return {}
    packed: dict[exports.Form, Path] = {}
    for number, form in enumerate(exports.FORMS):
        progress(stages.EXPORT_CITY.name, number / len(exports.FORMS))
        packed[form] = folder / f"{form}.zip"
        exports.pack(built, document, packed[form], form=form)
    return packed


def _fail(grip: lease.Lease, failure: dict[str, str]) -> None:
    try:
        lease.write(
            grip,
            states=CityBuild.OPEN,
            state=CityBuild.State.FAILED,
            failure=failure,
            finished_at=Now(),
            lease_held=False,
        )
    except errors.LeaseLost:
        logger.info("city: taken over; the failure is not recorded")
