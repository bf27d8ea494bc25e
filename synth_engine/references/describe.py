"""Convert what a public reference says about the values of a column to parts of a description."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from synth_engine.errors import DomainError
from synth_engine.references.base import Reference, ReferenceSource
from synth_engine.strict_json import JsonObject

ITSELF = ""
_VERSION = "correct the list, or use a version of the reference table that has these codes"


@dataclass(frozen=True, kw_only=True)
class Found:
    """The level of a reference that holds every declared value: its own codes (`ITSELF`), or the parts of a
    partition, as a reference of its own; and the line of each value in it."""

    level: str
    reference: Reference
    lines: tuple[int, ...]

    def parts(self, name: str) -> list[str]:
        """Return the part of each declared value in that partition; "" for none."""
        return [self.reference.parents[name][line] for line in self.lines]


def fitting(
    reference: Reference,
    values: Sequence[str],
    *,
    column: str,
    missing: Collection[str] = (),
    level: str | None = None,
) -> Found:
    """Finds the values among the codes, or among the parts of a partition. `missing`: the column's markers.
    Errors: DomainError for a value that is at no level, named by its number in the list of the
    description."""
    best: tuple[int, str] = (-1, ITSELF)
    for name in _levels(reference) if level is None else [level]:
        lines = {code: line for line, code in enumerate(_codes(reference, name))}
        known = sum(value in lines for value in values)
        if known == len(values):
            coarse = reference if name == ITSELF else reference.coarsened(name)
            lines = {code: line for line, code in enumerate(coarse.codes)}
            if lines.keys() & set(missing):
                raise DomainError(
                    "a code of the reference table is also a marker of missing values",
                    repair="take it off the markers, so that a place and no place are told apart",
                    column=column,
                )  # fmt: skip
            return Found(
                level=name, reference=coarse, lines=tuple(lines[value] for value in values)
            )
        best = max(best, (known, name), key=lambda pair: pair[0])
    raise _not_there(reference, values, column=column, known=best[0], level=best[1])


def points_of(
    fitted: Found,
    values: Sequence[str],
    *,
    column: str,
    source: ReferenceSource,
    weights: bool = True,
) -> JsonObject:
    """An entry of `points` for a column of codes."""
    at = fitted.reference.at
    if at is None:
        raise DomainError(
            "this reference table has no coordinates", repair="use a gazetteer", column=column
        )
    heavy = fitted.reference.weights if weights else None
    points = {
        value: [*at[line], *([] if heavy is None else [_plain(heavy[line])])]
        for value, line in zip(values, fitted.lines, strict=True)
    }
    if heavy is not None:
        _check_weights([heavy[line] for line in fitted.lines], column=column)
    return {
        "column": column,
        "at": points,
        "source": source.to_json(),
        **_named(fitted, ITSELF, values),
    }


def weighted(
    points: Mapping[str, Any], density: Reference, *, floor: float = 0.0
) -> JsonObject:
    """The same points with the weights of a density, or of an earlier release. `floor`: the weight of a place
    of which that table says nothing, or 0. Errors: DomainError where a weight would be 0."""
    column = str(points["column"])
    if density.weights is None:
        raise DomainError(
            "this reference table has no weights", repair="use a density", column=column
        )
    values = list(points["at"])
    weights = dict(zip(density.codes, density.weights, strict=True))
    if not weights.keys() & set(values):
        raise _not_there(density, values, column=column, known=0, level=ITSELF)
    weights_by_value = [max(weights.get(value, 0.0), floor) for value in values]
    _check_weights(weights_by_value, column=column)
    at = {
        value: [*points["at"][value][:2], _plain(weight)]
        for value, weight in zip(values, weights_by_value, strict=True)
    }
    return {**points, "at": at}


class TotalsEntry(TypedDict):
    column: str
    counts: dict[str, int]
    source: dict[str, str]


def totals_of(
    counts: Reference, values: Sequence[str], *, column: str, source: ReferenceSource
) -> TotalsEntry:
    """An entry `totals`: how many records have each value, by a table of codes and whole numbers; a value
    that it does not name has none. Errors: DomainError for what is no number of records, and for codes that
    no value stands for."""
    numbers = dict(zip(counts.codes, counts.weights or (), strict=bool(counts.weights)))
    if not numbers:
        raise DomainError(
            "this reference table has no numbers",
            repair="use one of codes and numbers",
            column=column,
        )
    declared = set(values)
    if not numbers.keys() & declared:
        raise _not_there(counts, values, column=column, known=0, level=ITSELF)
    if broken := sum(number != int(number) for number in numbers.values()):
        raise DomainError(
            f"{broken:,} of {len(numbers):,} totals are no whole numbers",
            repair="give how many records each value has, exactly", column=column,
        )  # fmt: skip
    if strange := sum(number > 0 and code not in declared for code, number in numbers.items()):
        raise DomainError(
            f"{strange:,} codes of the table have records and are no declared value",
            repair="declare them, or give totals of the declared values alone", column=column,
        )  # fmt: skip
    by_value = {value: int(numbers[value]) for value in values if numbers.get(value)}
    return {"column": column, "counts": by_value, "source": source.to_json()}


def support_of(
    reference: Reference, *, place: str, source: ReferenceSource, weights: bool = True
) -> JsonObject:
    """An entry of `points` for a place given by latitude and longitude: where such points may lie at all."""
    if reference.at is None:
        raise DomainError(
            f"this reference table has no coordinates for the place {place!r}",
            repair="use a gazetteer",
        )
    heavy = reference.weights if weights else None
    if heavy is not None:
        _check_weights(heavy, column=None)
    points = [
        [*point, *([] if heavy is None else [_plain(heavy[line])])]
        for line, point in enumerate(reference.at)
    ]
    return {"place": place, "at": points, "source": source.to_json()}


def partitions_of(
    fitted: Found,
    values: Sequence[str],
    *,
    column: str,
    source: ReferenceSource,
    names: Sequence[str],
) -> list[JsonObject]:
    """Entries of `partitions`: to which part each value belongs. Errors: DomainError for one that does not
    cover."""
    entries = []
    for name in names:
        if name not in fitted.reference.parents:
            raise DomainError(
                f"the reference table has no partition {name!r} of these codes",
                repair=f"choose among {', '.join(fitted.reference.parents) or 'those of another table'}",
                column=column,
            )  # fmt: skip
        parts = fitted.parts(name)
        if bare := sum(not part for part in parts):
            raise DomainError(
                f"the partition {name!r} does not cover {bare:,} of {len(values):,} declared values",
                repair="name the part of each in the file, or leave this partition out", column=column,
            )  # fmt: skip
        of = dict(zip(values, parts, strict=True))
        called = _named(fitted, name, set(parts))
        entries.append(
            {"name": name, "column": column, "of": of, "source": source.to_json(), **called}
        )
    return entries


def _named(fitted: Found, level: str, codes: Collection[str]) -> JsonObject:
    """Return the names of those codes of a level, where the reference has them."""
    names = fitted.reference.names.get(level, {})
    called = {code: names[code] for code in sorted(codes) if code in names}
    return {"names": called} if called else {}


def worthwhile(fitted: Found) -> list[str]:
    """Partitions that cover all values and say something: more parts than one and fewer than values."""
    counts = {name: fitted.parts(name) for name in fitted.reference.parents}
    return [
        name
        for name, parts in counts.items()
        if all(parts) and 1 < len(set(parts)) < len(parts)
    ]


def described(
    document: Mapping[str, Any],
    reference: Reference,
    *,
    column: str,
    source: ReferenceSource,
) -> JsonObject:
    """A description (JSON) with points, where the reference has them, and all worthwhile partitions of a
    column, in the place of those that it had. Values that are not listed yet become all codes of the
    reference. Errors: DomainError."""
    attributes = [
        dict(each) for each in document.get("attributes") or () if isinstance(each, Mapping)
    ]
    attribute = next((each for each in attributes if each.get("name") == column), None)
    if attribute is None or attribute.get("kind") != "categorical":
        actual = (
            "no such column in this description"
            if attribute is None
            else "not described as categories"
        )
        raise DomainError(
            f"{actual}, and a reference table speaks of codes",
            repair='describe it so: {"name": …, "kind": "categorical"}, with or without "values"',
            column=column,
        )  # fmt: skip
    if not attribute.get("values"):
        attribute |= {"values": list(reference.codes)}
        if not {"other", "missing", "outside"} & attribute.keys():
            # A record may have a code that the reference lacks: it needs a value too.
            attribute["other"] = True
    values, missing = list(attribute["values"]), attribute.get("missing") or ()
    fitted = fitting(reference, values, column=column, missing=missing)
    points = (
        [points_of(fitted, values, column=column, source=source)]
        if reference.at is not None
        else []
    )
    parts = partitions_of(
        fitted, values, column=column, source=source, names=worthwhile(fitted)
    )
    return {
        **document,
        "attributes": attributes,
        **_with_facts(document, points=points, partitions=parts),
    }


def bare(document: Mapping[str, Any]) -> list[str]:
    """Columns of categories of which no value is listed yet: a reference table is still to fill them."""
    described = [each for each in document.get("attributes") or () if isinstance(each, Mapping)]
    return [
        str(each.get("name"))
        for each in described
        if each.get("kind") == "categorical" and not each.get("values")
    ]


def _with_facts(
    document: Mapping[str, Any],
    *,
    points: list[JsonObject],
    partitions: list[JsonObject],
) -> JsonObject:
    """The lists of a description with new entries in the place of those about the same."""
    mine = {each["column"] for each in points}
    replaced = {(each["column"], each["name"]) for each in partitions}
    others = [each for each in document.get("points") or () if each.get("column") not in mine]
    held = [
        each
        for each in document.get("partitions") or ()
        if (each.get("column"), each.get("name")) not in replaced
    ]
    whole = {"points": [*others, *points], "partitions": [*held, *partitions]}
    return {name: entries for name, entries in whole.items() if entries}


def _levels(reference: Reference) -> list[str]:
    return [ITSELF, *reference.parents]


def _codes(reference: Reference, level: str) -> Collection[str]:
    return reference.codes if level == ITSELF else dict.fromkeys(reference.parents[level])


def _not_there(
    reference: Reference, values: Sequence[str], *, column: str, known: int, level: str
) -> DomainError:
    codes = set(_codes(reference, level))
    first = next(number for number, value in enumerate(values, start=1) if value not in codes)
    longest = max(map(len, codes), default=0)
    # Spreadsheet programs drop leading zeros, the most frequent reason why codes do not match.
    if values and all(
        value.isdigit() and (value in codes or value.zfill(longest) in codes)
        for value in values
    ):
        return DomainError(
            "declared values lack the leading zeros of the reference table's codes",
            repair="declare them as texts with all digits, and keep the table's column as text",
            column=column,
        )  # fmt: skip
    return DomainError(
        f"{len(values) - known:,} of {len(values):,} declared values are not in the reference table, the "
        f"first of them value {first:,} of the list",
        repair=_VERSION, column=column,
    )  # fmt: skip


def _check_weights(weights: Sequence[float], *, column: str | None) -> None:
    if bare := sum(weight <= 0 for weight in weights):
        raise DomainError(
            f"the weight of {bare:,} of {len(weights):,} places is 0, and nothing could ever be placed there",
            repair="leave weights out, or give such places a small one", column=column,
        )  # fmt: skip


def _plain(weight: float) -> float | int:
    return int(weight) if weight == int(weight) else weight
