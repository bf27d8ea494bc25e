"""How far records go, on maps: of a release, from the records that its model draws, and beside the real
table.

For whoever may draw samples of the release; the comparison is for stewards, and whoever calls `beside` has
authorised and written the audit log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import F
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.evaluation import (
    anchors,
    commute_maps,
    curves,
    regions,
    tallies,
)
from synth_engine.evaluation.commute_view import CommuteView, FullTable, NamedPoint
from synth_engine.evaluation.commutes import SHORT_KM, Flows
from synth_engine.evaluation.figures.commutes import unpack_tables
from synth_engine.indexing.commutes import Commute, commutes
from synthweb.releases.forms import MapForm
from synthweb.releases.model_cache import ANSWERS, model_of
from synthweb.releases.models import Release

MOST_ROWS = 500_000
"""Records that are drawn for the maps of one release."""
KEPT = 4  # tallies of releases, in the memory of a web process
WITHIN = {"km": 8.0, "miles": 5.0}
UNITS = {"km": curves.KILOMETRES, "miles": curves.MILES}


@dataclass(frozen=True, kw_only=True)
class MapsPage:
    """Everything the page shows. `query`: the choices of the form, for the addresses of files."""

    form: MapForm
    names: list[str]
    groups: list[commute_maps.FigureGroup]
    sheets: dict[str, FullTable]
    pair: str
    rows: int
    query: str


def shows(release: Release) -> bool:
    """Whether its description has two ends of a commute."""
    return _shows(release.code)


@lru_cache(maxsize=ANSWERS)
def _shows(code: str) -> bool:
    """Reads their names from the database, and not the description; of one with many points that takes a
    moment too."""
    document = "domain_version__document"
    columns = {f"p{place}": F(f"{document}__points__{place}__column") for place in range(4)}
    places = {f"q{place}": F(f"{document}__places__{place}__name") for place in range(2)}
    distances = (
        Release.objects.filter(code=code)
        .annotate(**columns, **places)
        .values(*columns, *places)
        .first()
    )
    return sum(value is not None for value in (distances or {}).values()) >= 2


def page(release: Release, query: QueryDict) -> MapsPage | None:
    """Of a release alone; None where records go nowhere."""
    domain = model_of(release.code).domain
    by_name = {_name(commute): commute for commute in commutes(domain)}
    if not by_name:
        return None
    synthetic = _synthetic(release.code)
    return _page(
        domain,
        by_name,
        {name: {"synthetic": table} for name, table in synthetic.items()},
        query,
    )


def comparison(
    release: Release, report: Mapping[str, Any], query: QueryDict
) -> MapsPage | None:
    """The same beside the real table; None where a stored comparison has no tallies of commutes."""
    domain = model_of(release.code).domain
    by_name = {_name(commute): commute for commute in commutes(domain)}
    stored = {" → ".join(entry["ends"]): entry for entry in report.get("commutes", ())}
    known = {}
    for name, commute in by_name.items():
        tables = unpack_tables(stored[name], commute) if name in stored else None
        if tables is not None:
            known[name] = tables
    return (
        _page(domain, {name: by_name[name] for name in known}, known, query) if known else None
    )


def _page(
    domain: Domain,
    by_name: Mapping[str, Commute],
    known: Mapping[str, Mapping[str, tallies.ContingencyTable]],
    query: QueryDict,
) -> MapsPage:
    pair = str(query["pair"]) if query.get("pair") in by_name else next(iter(by_name))
    commute = by_name[pair]
    sides = {side: Flows.of(commute, table) for side, table in known[pair].items()}
    form = _form(
        query,
        pairs=list(by_name),
        choices=regions.choices(commute, domain),
        near=anchors.busiest_destination(sides["synthetic"]),
    )
    view = _view(form, domain=domain, commute=commute, sides=sides)
    groups = commute_maps.make_groups(view)
    return MapsPage(
        form=form,
        names=anchors.names(commute=commute, domain=domain),
        groups=groups,
        sheets={sheet.key: sheet for group in groups for _, sheet in group.figures},
        pair=pair,
        rows=sides["synthetic"].total + sides["synthetic"].missing,
        query=query.urlencode(),
    )


def _form(
    query: QueryDict, *, pairs: list[str], choices: Mapping[str, str], near: NamedPoint
) -> MapForm:
    """As it was filled in, and the usual where it was not."""
    unit = "miles" if query.get("unit") == "miles" else "km"
    usual = {
        "pair": pairs[0],
        "near": near.name,
        "within": f"{WITHIN[unit]:g}",
        "short": f"{UNITS[unit].of(SHORT_KM):.2g}",
        "unit": unit,
        "by": next(iter(choices)),
    }
    given = {name: value for name, value in query.items() if name in usual and value}
    # Bound to the usual values where nothing was sent, so that there is always clean data.
    form = MapForm(usual | given, pairs=pairs, choices=choices)
    form.is_valid()
    return form


def _view(
    form: MapForm, *, domain: Domain, commute: Commute, sides: dict[str, Flows]
) -> CommuteView:
    """What was asked for; where it cannot be, the usual, beside the words of the form."""
    given = form.cleaned_data
    unit = UNITS.get(given.get("unit", ""), curves.KILOMETRES)
    within, short = given.get("within"), given.get("short")
    return CommuteView(
        domain=domain,
        commute=commute,
        sides=sides,
        near=_spot(form, domain=domain, commute=commute, synthetic=sides["synthetic"]),
        within_km=(WITHIN[unit.short] if within is None else within) * unit.km,
        short_km=SHORT_KM if short is None else short * unit.km,
        unit=unit,
        choice=given.get("by") or next(iter(regions.choices(commute, domain))),
    )


def _spot(form: MapForm, *, domain: Domain, commute: Commute, synthetic: Flows) -> NamedPoint:
    text = form.cleaned_data.get("near", "")
    anchor = anchors.find(text, commute=commute, domain=domain) if text else None
    if text and anchor is None:
        form.add_error(
            "near",
            _(
                "No public point has this name: choose one of the list, or write latitude, longitude."
            ),
        )
    return anchor or anchors.busiest_destination(synthetic)


@lru_cache(maxsize=KEPT)
def _synthetic(code: str) -> dict[str, tallies.ContingencyTable]:
    """Tallies of the commutes of records that the model of a release draws, which never changes. The caller
    authorised."""
    model, rows = model_of(code), Release.objects.values_list("rows", flat=True).get(code=code)
    # A fixed seed: every page and file of a release is about the same records.
    codes = model.sample(max(1, min(rows, MOST_ROWS)), seed=f"maps/{code}")
    tables = {}
    for commute in commutes(model.domain):
        cells, counts = commute.tally(codes.__getitem__)
        tables[_name(commute)] = tallies.ContingencyTable(commute.shape, cells, counts)
    return tables


def _name(commute: Commute) -> str:
    return " → ".join(commute.pair)


def lines(sheet: FullTable) -> Iterable[tuple[Any, ...]]:
    """A whole table for a file, numbers without separators."""
    yield sheet.head
    for row in sheet.rows:
        yield tuple(
            cell if place < sheet.names else cell.replace("\u202f", "")
            for place, cell in enumerate(row)
        )
