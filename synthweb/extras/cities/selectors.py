"""Synthetic cities from releases that somebody may read: what is brought, what it is made of, and who sees
it.

Post-processing of released models, public areas and descriptions: no table is opened, and nothing is charged
(ADR 93).
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404

from synth_engine import strict_json
from synth_engine.errors import InputError, SpecError
from synth_engine.extras.cities import city as engine
from synth_engine.extras.cities import geography, sources, specification
from synth_engine.extras.cities.city import City
from synth_engine.extras.cities.sources import CitySource
from synth_engine.extras.cities.specification import CitySpec
from synthweb.accounts import selectors as people
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.extras.cities.models import CityBuild, CityExport
from synthweb.releases import chain
from synthweb.releases import selectors as releases
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.runs import errors

MAX_POPULATION = 100_000
MAX_ROWS = 1_000_000
"""Rows that are stated of one table."""
MAX_SPECIFICATION = 200_000
"""Characters."""
MAX_BYTES = 50_000_000
"""Of all files of an archive, unpacked."""
MAX_MEMBERS = 40
_SPECIFICATIONS = (".yaml", ".yml")
_AREAS = "areas.csv"


@dataclass(frozen=True, kw_only=True)
class CityDocuments:
    """What a city is specified by. specification: YAML. areas: a CSV. descriptions: of sources that were
    written without data, by the name of the source. releases: the code of the release that feeds each other
    source."""

    specification: str
    areas: bytes
    descriptions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    releases: Mapping[str, str] = field(default_factory=dict)


def read_archive(content: bytes) -> CityDocuments:
    """The documents in a zip as the command line has them in a folder: one specification, the areas that it
    names, and descriptions. Models and receipts are left out, because releases take their place. Errors:
    SpecError naming file and rule."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            if (
                len(members) > MAX_MEMBERS
                or sum(each.file_size for each in members) > MAX_BYTES
            ):
                raise SpecError(
                    "the archive has too many files, or too large ones",
                    repair="leave models and receipts out: releases take their place",
                )
            # Read in memory by their last names, so that no path of the archive means anything here.
            files = {Path(each.filename).name: archive.read(each) for each in members}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError):
        raise SpecError(
            "this is no zip archive that can be read", repair="pack the folder again"
        ) from None
    named = [name for name in files if name.endswith(_SPECIFICATIONS)]
    if len(named) != 1:
        raise SpecError(
            f"the archive has {len(named)} specifications", repair="put one .yaml file into it"
        )
    text = _text(files[named[0]], name=named[0])
    spec = specification_of(text)
    areas = Path(spec.areas.file).name
    if areas not in files:
        raise SpecError(
            "the file of the areas is not in the archive",
            repair="put it beside the specification",
        )
    raw = files[areas]
    descriptions = {
        name: _description(files, name, Path(source.model).name)
        for name, source in spec.sources.items()
        if source.described
    }
    return CityDocuments(
        specification=text,
        areas=geography.unpacked(raw) if areas.endswith(".gz") else raw,
        descriptions=descriptions,
    )


def _description(files: Mapping[str, bytes], name: str, file: str) -> Mapping[str, Any]:
    if file not in files:
        raise SpecError(
            f"source {name!r}: the file of its description is not in the archive",
            repair="put it beside the specification",
        )
    try:
        document = strict_json.loads(_text(files[file], name=file))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise SpecError(
            f"source {name!r}: its description is no JSON object",
            repair="use the file as it was written",
        )
    return document


def _text(raw: bytes, *, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"the file {name!r} is not UTF-8", repair="write it so") from None


def specification_of(text: str) -> CitySpec:
    """A specification from its text, checked against the schema and the limits of the web. Errors:
    SpecError."""
    if len(text) > MAX_SPECIFICATION:
        raise SpecError("the specification is too large", repair="use the command line")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.yaml"
        path.write_text(text, encoding="utf-8")
        spec = specification.read(path)
    rows = [
        # Of a share it is not known here of how many rows: no table has more than persons times the largest
        # share.
        table.rows if isinstance(table.rows, int) else table.rows.share * spec.population
        for table in spec.tables
        if table.rows is not None
    ]
    if spec.population > MAX_POPULATION or max(rows, default=0) > MAX_ROWS:
        raise SpecError(
            f"cities of up to {MAX_POPULATION:,} persons and tables of up to {MAX_ROWS:,} rows are made here",
            repair="ask for fewer, or use the command line, which has no limit",
        )
    return spec


# --- sources ------------------------------------------------------------------------------------------------
def fed_by_releases(spec: CitySpec) -> tuple[str, ...]:
    """The names of the sources that releases feed."""
    return tuple(name for name, source in spec.sources.items() if not source.described)


def require_releases(
    user: User, spec: CitySpec, codes: Mapping[str, str]
) -> dict[str, Release]:
    """The release of each source, each of which `user` may draw from now. Errors: SpecError for a source
    without one; Http404 and PermissionDenied as for a sample."""
    wanted = fed_by_releases(spec)
    for name in wanted:
        if not codes.get(name):
            raise SpecError(f"source {name!r} has no release", repair="choose one for it")
    for name in codes:
        if name not in wanted:
            raise SpecError(
                f"the specification has no source {name!r} that a release feeds",
                repair=f"use {', '.join(wanted) or 'none'}",
            )
    return {name: releases.release_for(user, codes[name], Need.SAMPLE) for name in wanted}


def assemble(user: User, documents: CityDocuments) -> City:
    """The city that can be generated, checked as the command line checks it. Nothing is generated. Errors: as
    `require_releases`, and SpecError, TableError by table, field, rule and repair."""
    spec = specification_of(documents.specification)
    chosen = require_releases(user, spec, documents.releases)
    made: dict[str, CitySource] = {}
    for name, source in spec.sources.items():
        if source.described:
            if name not in documents.descriptions:
                raise SpecError(
                    f"source {name!r} has no description", repair="give its document"
                )
            made[name] = sources.of_description(name, documents.descriptions[name])
        else:
            release = chosen[name]
            made[name] = sources.of_release(
                name, model_of(release.code), dict(chain.receipt_of(release))
            )
    with _areas(documents.areas) as folder:
        areas = replace(spec.areas, file=_AREAS)
        return engine.City(
            spec=spec, sources=made, geography=geography.load(areas, folder=folder)
        )


@contextmanager
def _areas(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / _AREAS).write_bytes(content)
        yield folder


# --- who sees what ------------------------------------------------------------------------------------------
def cities_for(user: User, *, search: str = "") -> QuerySet[CityBuild]:
    """The cities of `user`, newest first: a city is its maker's, as a sample is. search: words that all stand
    in the name or code."""
    mine = CityBuild.objects.filter(created_by=user, organisation=people.organisation_of(user))
    for word in search.split():
        mine = mine.filter(Q(name__icontains=word) | Q(code__icontains=word))
    return mine.defer("areas", "archive", "database", "descriptions").order_by(
        "-created_at", "-pk"
    )


def city_of(user: User, code: str) -> CityBuild:
    """One of them; Http404 for everybody else."""
    build = cities_for(user).filter(code=code).first()
    if build is None:
        raise Http404("no such city")
    return build


def require_sources(user: User, build: CityBuild) -> None:
    """That `user` may still draw from each release that a city was made of. Errors: Refused."""
    spec = specification_of(build.specification)
    try:
        require_releases(user, spec, build.releases)
    except (Http404, PermissionDenied, InputError):
        raise errors.NotReady(
            "a release that this city is made of is not shared with you any more",
            repair="choose another release, and generate the city again",
        ) from None


def exports_of(build: CityBuild) -> QuerySet[CityExport]:
    """The files for simulations that a generated city has, without their content."""
    return CityExport.objects.filter(city=build).defer("content").order_by("form")


def export_of(build: CityBuild, form: str) -> bytes:
    """One of them; Http404 where the city has none of this form."""
    export = CityExport.objects.filter(city=build, form=form).first()
    if export is None:
        raise Http404("no such export of this city")
    return bytes(export.content)


def documents_of(build: CityBuild) -> CityDocuments:
    """What a city is specified by."""
    row = CityBuild.objects.only("areas", "descriptions", "specification", "releases").get(
        pk=build.pk
    )
    return CityDocuments(
        specification=row.specification,
        areas=bytes(row.areas),
        descriptions=row.descriptions,
        releases=row.releases,
    )
