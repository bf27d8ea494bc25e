"""A DOMAIN.json in a request: every fault at once, each with its place in the document."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.kinds import parse_attribute
from synth_engine.values.patterns import few_steps_together
from synthweb.api.faults import Fault, Unusable, escaped, fault
from synthweb.api.problems import engine_fault

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?")
DETAIL = "This description cannot be used; nothing was changed."


def an_object(document: object) -> Mapping[str, object]:
    """The document, if it is a JSON object."""
    if not isinstance(document, Mapping):
        raise Unusable(
            detail=DETAIL,
            faults=[fault("the domain is not a JSON object", repair="send a DOMAIN.json")],
        )
    return document


def checked(given: object) -> Mapping[str, object]:
    """The document, if it is a sound and fully declared description; Unusable (422) with all that is to
    mend."""
    document = an_object(given)
    # Thousands of patterns in one document share the steps that one pattern may take.
    with few_steps_together():
        _check(document)
    return document


def _check(document: Mapping[str, object]) -> None:
    # Columns first, and all of them: reading the whole domain stops at its first fault.
    if faults := list(_column_faults(document)):
        raise Unusable(detail=DETAIL, faults=faults)
    try:
        domain = Domain.from_json(document)
        domain.require_confirmed()
    except DomainError as error:
        raise Unusable(
            detail=DETAIL, faults=[engine_fault(error, pointer=_place(document, error.column))]
        ) from None
    if faults := list(_range_faults(document.get("constraints"), pointer="/constraints")):
        raise Unusable(detail=DETAIL, faults=faults)


def _range_faults(part: object, *, pointer: str) -> Iterator[Fault]:
    """Ends of ranges of constraints that are texts and no ISO days or moments. The engine reads other forms
    too, for descriptions that were stored earlier."""
    if isinstance(part, Mapping) and set(part) <= {"from", "to"}:
        for key, end in part.items():
            if isinstance(end, str) and not _ISO.fullmatch(end) and _is_moment(end):
                yield fault(
                    f"{key} is not a day or a moment as in ISO 8601",
                    pointer=f"{pointer}/{key}",
                    repair='write it like "2024-12-31" or "2024-12-31T23:59"',
                )
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _range_faults(value, pointer=f"{pointer}/{escaped(str(key))}")
    elif isinstance(part, list):
        for index, value in enumerate(part):
            yield from _range_faults(value, pointer=f"{pointer}/{index}")


def _is_moment(text: str) -> bool:
    """Whether the engine may read it as a day or moment; it refuses by itself what it cannot read, and reads
    times."""
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _column_faults(document: Mapping[str, object]) -> Iterator[Fault]:
    """Faults of single columns, and every fact that is only suggested by the data."""
    columns = document.get("attributes")
    if not isinstance(columns, list):
        return
    for index, column in enumerate(columns):
        pointer = f"/attributes/{index}"
        try:
            attribute = parse_attribute(column)
        except DomainError as error:
            yield engine_fault(error, pointer=pointer)
            continue
        open_facts = [name for name, origin in attribute.facts.items() if origin == "suggested"]
        if open_facts:
            yield fault(
                f"{', '.join(open_facts)} only suggested by the data",
                pointer=f"{pointer}/provenance",
                column=attribute.name,
                repair='confirm as public knowledge and set provenance to "declared", or declare other facts',
            )


def _place(document: Mapping[str, object], column: str | None) -> str:
    columns = document.get("attributes")
    if column is None or not isinstance(columns, list):
        return ""
    names = [item.get("name") if isinstance(item, Mapping) else None for item in columns]
    return f"/attributes/{names.index(column)}" if column in names else ""
