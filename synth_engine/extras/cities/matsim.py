"""A city as MATSim reads it: a population with a day's plan for each person, facilities and households.

Plans are a start, which a simulation changes: nothing is known of modes and times, so these are assumptions
that are stated here.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from synth_engine.extras.cities import travellers
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.extras.cities.travellers import Travellers
from synth_engine.models.weights import generator

POPULATION_DTD = "http://www.matsim.org/files/dtd/population_v6.dtd"
FACILITIES_DTD = "http://www.matsim.org/files/dtd/facilities_v2.dtd"
HOUSEHOLDS_XSD = "http://www.matsim.org/files/dtd"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_MODES = {"work": "car", "school": "walk"}
_LEAVING = {"work": (6.0, 7.5, 10.0), "school": (7.0, 7.75, 8.5)}
"""Hours at which people leave home: the earliest, the commonest and the latest of a triangular law."""
_STAYING = {"work": 8.75, "school": 7.0}
"""Hours from leaving home to leaving work or school."""


def files(built: BuiltCity) -> Iterator[tuple[str, bytes]]:
    """The files: names and content."""
    people = travellers.of(built)
    yield "population.xml.gz", _packed(_population(built, people))
    yield "facilities.xml.gz", _packed(_facilities(built, people))
    yield "households.xml.gz", _packed(_households(people))


def _packed(lines: Iterator[str]) -> bytes:
    # A fixed time: the same city gives the same bytes.
    return gzip.compress("".join(lines).encode(), 6, mtime=0)


def _population(built: BuiltCity, people: Travellers) -> Iterator[str]:
    east, north, epsg = built.city.geography.projected()
    codes = built.city.geography.table[built.city.spec.areas.key].tolist()
    points = [
        f'x="{x:.1f}" y="{y:.1f}"' for x, y in zip(east.tolist(), north.tolist(), strict=True)
    ]
    yield f'{_HEAD}<!DOCTYPE population SYSTEM "{POPULATION_DTD}">\n'
    yield f"<population desc={quoteattr(built.city.spec.name)}>\n"
    system = _attribute("coordinateReferenceSystem", f"EPSG:{epsg}")
    yield f"<attributes>{system}</attributes>\n"

    def activity(kind: str, area: int, end: float | None = None) -> str:
        place = quoteattr(f"{kind}_{codes[area]}")
        until = "" if end is None else f' end_time="{_clock(end)}"'
        return f'<activity type="{kind}" facility={place} {points[area]}{until}/>\n'

    leaving = {kind: _times(built, len(people.persons), kind) for kind in _LEAVING}
    for index, person in enumerate(_persons(people)):
        yield f"<person id={quoteattr(person.id)}>\n{_attributes(person)}"
        yield '<plan selected="yes">\n'
        kind, area = ("work", person.work) if person.work >= 0 else ("school", person.school)
        if area < 0:
            yield activity("home", person.home)
        else:
            leave = float(leaving[kind][index])
            leg = f'<leg mode="{_MODES[kind]}"/>\n'
            yield activity("home", person.home, leave) + leg
            yield activity(kind, area, leave + _STAYING[kind] * 3600) + leg
            yield activity("home", person.home)
        yield "</plan>\n</person>\n"
    yield "</population>\n"


class _Person(NamedTuple):
    """A row of persons. home, work, school: indices of areas, -1 for none."""

    id: str
    household: int
    age: str
    sex: str
    home: int
    work: int
    school: int


def _persons(people: Travellers) -> Iterator[_Person]:
    columns = [people.persons[name].tolist() for name in _Person._fields]
    for row in zip(*columns, strict=True):
        yield _Person(*row)


def _attributes(person: _Person) -> str:
    texts = [_attribute("household", str(person.household))]
    if person.age:
        texts.append(_attribute("age", person.age, kind="Integer"))
    if person.sex:
        texts.append(_attribute("sex", _sex(person.sex)))
    texts.append(_attribute("employed", str(person.work >= 0).lower(), kind="Boolean"))
    return f"<attributes>{''.join(texts)}</attributes>\n"


def _attribute(name: str, text: str, *, kind: str = "String") -> str:
    return f'<attribute name="{name}" class="java.lang.{kind}">{escape(text)}</attribute>'


def _sex(text: str) -> str:
    """MATSim's letter, where the text begins with it."""
    first = text[:1].lower()
    return first if first in ("f", "m") else text


def _times(built: BuiltCity, rows: int, kind: str) -> npt.NDArray[np.float64]:
    """When each person would leave home, in seconds after midnight."""
    rng = generator(built.seed, purpose=("city", "matsim", kind))
    return rng.triangular(*_LEAVING[kind], rows) * 3600


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _facilities(built: BuiltCity, people: Travellers) -> Iterator[str]:
    east, north, _ = built.city.geography.projected()
    codes = built.city.geography.table[built.city.spec.areas.key].tolist()
    yield f'{_HEAD}<!DOCTYPE facilities SYSTEM "{FACILITIES_DTD}">\n'
    yield f"<facilities name={quoteattr(built.city.spec.name)}>\n"
    for kind in ("home", "work", "school"):
        areas = people.persons[kind].to_numpy(dtype=np.int64)
        numbers = np.bincount(areas[areas >= 0], minlength=len(codes))
        for area in np.flatnonzero(numbers).tolist():
            yield (
                f'<facility id={quoteattr(f"{kind}_{codes[area]}")} x="{east[area]:.1f}" '
                f'y="{north[area]:.1f}"><activity type="{kind}"><capacity '
                f'value="{numbers[area]}"/><opentime day="wk" start_time="00:00:00" '
                'end_time="24:00:00"/></activity></facility>\n'
            )
    yield "</facilities>\n"


def _households(people: Travellers) -> Iterator[str]:
    yield (
        f'{_HEAD}<households xmlns="{HOUSEHOLDS_XSD}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{HOUSEHOLDS_XSD} {HOUSEHOLDS_XSD}/households_v1.0.xsd">\n'
    )
    for key, members in people.persons.groupby("household", sort=True)["id"]:
        yield f'<household id="{key}"><members>'
        yield "".join(f"<personId refId={quoteattr(one)}/>" for one in members)
        yield "</members></household>\n"
    yield "</households>\n"
