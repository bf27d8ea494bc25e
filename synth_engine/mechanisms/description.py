"""A model as a document for people: every share beside the label that it belongs to, to be read, kept, edited and sampled
from later.

`write` and `read` undo each other: a description that nobody edited gives the very model that it was written from. What
a description may say is in docs/description.md; everything is checked on the way in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Attribute, Domain
from synth_engine.domain.document import MAX_DEPTH
from synth_engine.domain.document import parse as _json
from synth_engine.errors import InputError
from synth_engine.measurement import Clique
from synth_engine.mechanisms.model import LARGEST_SAMPLE, WHOLE, Model, Node, Table, Weights
from synth_engine.privacy import receipt

SCHEMA = "synth_engine/description/1"
DIGITS = 10
"""Decimals of a share: enough to tell one of `WHOLE` parts from the next."""
TOLERANCE = 1e-6
"""How far shares may be from adding up to 1, for people who round."""
LARGEST_TABLE = 1_000_000
LARGEST_MODEL = 4_000_000
"""Cells, of all tables together."""
LONGEST_NAME = 64
_FIELDS = {"schema", "mechanism", "model_sha256", "rows", "domain", "columns", "rows_a_person"}

Floats = npt.NDArray[np.float64]


def write(model: Model) -> dict[str, Any]:
    """The description of a model."""
    given: list[Clique | None] = [node.parents for node in model.network] or [None] * len(model.tables)
    if any(parents is None and len(table.clique) > 1 for parents, table in zip(given, model.tables, strict=True)):
        raise InputError("a table of several columns has no order to be described in", repair="keep the model itself")
    columns = [_column(model.domain, t, parents) for t, parents in zip(model.tables, given, strict=True)]
    persons = {} if model.groups is None else {"rows_a_person": _shares(model.groups, _sizes(model.groups.size))}
    return {
        "schema": SCHEMA,
        "mechanism": model.mechanism,
        "model_sha256": receipt.digest(model.to_json()),
        "rows": model.rows,
        "domain": model.domain.to_json(),
        "columns": columns,
        **persons,
    }


def read(document: object) -> Model:
    """The model that a description stands for. Errors: InputError, DomainError, with column, rule and repair."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InputError("this is no description", repair=f"its schema has to be {SCHEMA!r}")
    unknown = [str(key) for key in document if key not in _FIELDS]
    if unknown:
        raise InputError(
            f"unknown field {unknown[0][:LONGEST_NAME]!r}", repair=f"known are {', '.join(sorted(_FIELDS))}"
        )
    domain = Domain.from_json(document.get("domain"))
    domain.require_confirmed()
    if domain.open:
        raise domain.open[0].error("still has to be learned", repair="give its values or bins, as the release has them")
    nodes, tables = _columns(domain, document.get("columns"))
    return Model(
        mechanism=_mechanism(document.get("mechanism")),
        domain=domain,
        rows=_rows(document.get("rows")),
        tables=tables,
        network=nodes,
        groups=_persons(domain, document.get("rows_a_person")),
    )


def parse(raw: bytes) -> Any:
    """The JSON in the bytes of a file; what it says is not looked at. Errors: DomainError."""
    return _json(raw, name="description", deepest=MAX_DEPTH + 1, see="see docs/description.md")


def edited(document: Mapping[str, Any], model: Model) -> bool:
    """Whether the model that was read from a description is another one than it was written from."""
    return document.get("model_sha256") != receipt.digest(model.to_json())


def labels(attribute: Attribute) -> tuple[str, ...]:
    """The label of every code. One that stands for two codes has a number added the second time."""
    found: dict[str, None] = {}
    for label in attribute.labels:
        number, unique = 1, label
        while unique in found:
            number += 1
            unique = f"{label} ({number})"
        found[unique] = None
    return tuple(found)


# --- out ----------------------------------------------------------------------------------------------------------


def _column(domain: Domain, table: Table, parents: Clique | None) -> dict[str, Any]:
    """One column: its shares, or those it has for each combination of others."""
    name, texts = table.clique[-1], labels(domain.attribute(table.clique[-1]))
    if not parents:
        found: dict[str, Any] = {"column": name} | ({} if parents is None else {"given": []})
        return found | {"shares": _shares(table.weights, texts)}
    others = [labels(domain.attribute(parent)) for parent in parents]
    flat = table.weights.reshape(-1, table.weights.shape[-1])
    sums = flat.sum(axis=1)
    when = []
    for place in np.flatnonzero(sums).tolist():
        at = np.unravel_index(place, table.weights.shape[:-1])
        when.append(
            {
                "when": {parent: texts[int(i)] for parent, texts, i in zip(parents, others, at, strict=True)},
                "share": round(int(sums[place]) / WHOLE, DIGITS),
                "shares": _shares(flat[place], texts),
            }
        )
    return {"column": name, "given": list(parents), "tables": when}


def _shares(weights: Weights, texts: Sequence[str]) -> dict[str, float]:
    """The shares above zero, by label."""
    shares = np.round(weights / weights.sum(), DIGITS)
    return {texts[code]: float(shares[code]) for code in np.flatnonzero(weights).tolist()}


def _sizes(most: int) -> list[str]:
    return [str(size) for size in range(1, most + 1)]


# --- in -----------------------------------------------------------------------------------------------------------


def _mechanism(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or not value.isprintable():
        raise InputError("mechanism is not a name", repair="leave the one that was there")
    return value


def _rows(value: object) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST_SAMPLE:
        raise InputError(f"rows is not a whole number from 0 to {LARGEST_SAMPLE}", repair="give how many there are")
    return value


def _columns(domain: Domain, given: object) -> tuple[tuple[Node, ...], tuple[Table, ...]]:
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise InputError("columns is not a list of objects", repair="give one for each column of the domain")
    names = [_name(domain, entry) for entry in given]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError("a column is described twice", repair="keep one of them", column=twice)
    lacking = next((name for name in domain.names if name not in names), None)
    if lacking is not None:
        raise InputError("a column of the domain is not described", repair="add it to columns", column=lacking)
    with_given = ["given" in entry for entry in given]
    if any(with_given) and not all(with_given):
        column = names[with_given.index(False)]
        raise InputError('no "given" here, but at other columns', repair='write "given": []', column=column)
    read = [_Column(domain, entry, before=names[:place]) for place, entry in enumerate(given)]
    if sum(domain.cells((*one.parents, one.name)) for one in read) > LARGEST_MODEL:
        raise InputError(f"the tables have more than {LARGEST_MODEL:,} cells", repair='take names off "given"')
    tables = tuple(Table(clique=(*one.parents, one.name), weights=one.weights()) for one in read)
    return tuple(Node(attribute=one.name, parents=one.parents) for one in read if with_given[0]), tables


def _name(domain: Domain, entry: Mapping[str, Any]) -> str:
    name = entry.get("column")
    if not isinstance(name, str) or name not in domain.sizes:
        raise InputError("an entry of columns names no column of the domain", repair='give its name under "column"')
    return name


class _Column:
    """One entry of the list, read strictly; every refusal names the column."""

    def __init__(self, domain: Domain, entry: Mapping[str, Any], *, before: Sequence[str]) -> None:
        self.name = str(entry["column"])
        self._domain, self._entry = domain, entry
        self.parents = self._given(entry.get("given", []), before)
        known = {"column", "given", "tables" if self.parents else "shares"}
        unknown = [str(key) for key in entry if key not in known]
        if unknown:
            raise self._wrong(f"unknown field {unknown[0][:LONGEST_NAME]!r}", f"known are {', '.join(sorted(known))}")

    def _wrong(self, rule: str, repair: str) -> InputError:
        return InputError(rule, repair=repair, column=self.name)

    def _given(self, value: object, before: Sequence[str]) -> Clique:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self._wrong('"given" is not a list of names', "name columns that stand before this one, or none")
        if len(set(value)) < len(value) or not set(value) <= set(before):
            raise self._wrong(
                '"given" names a column that does not stand before this one', "change the order of columns"
            )
        parents = tuple(value)
        if self._domain.cells((*parents, self.name)) > LARGEST_TABLE:
            raise self._wrong(f"its table has more than {LARGEST_TABLE:,} cells", 'take a name off "given"')
        return parents

    def weights(self) -> Weights:
        texts = labels(self._domain.attribute(self.name))
        if not self.parents:
            return self._read(self._entry.get("shares"), texts, of=WHOLE, where="")
        tables = self._entry.get("tables")
        if not isinstance(tables, list) or not tables or not all(isinstance(one, Mapping) for one in tables):
            raise self._wrong('"tables" is not a list of objects', 'give one for each combination of "given"')
        shape = self._domain.shape((*self.parents, self.name))
        weights = np.zeros((math.prod(shape[:-1]), shape[-1]), dtype=np.int64)
        places = [self._place(one, number) for number, one in enumerate(tables, start=1)]
        if len(set(places)) < len(places):
            raise self._wrong("a combination is described twice", "keep one of its tables")
        sums = self._whole(np.array([self._share(one, n) for n, one in enumerate(tables, start=1)]), WHOLE, where="")
        for number, (one, place, whole) in enumerate(zip(tables, places, sums.tolist(), strict=True), start=1):
            weights[place] = self._read(one.get("shares"), texts, of=whole, where=f" of table {number}")
        return weights.reshape(shape)

    def _place(self, table: Mapping[str, Any], number: int) -> int:
        """The number of the combination that a table is for."""
        if set(table) != {"when", "share", "shares"}:
            raise self._wrong(f"table {number} has missing or unknown fields", 'give "when", "share" and "shares"')
        when = table["when"]
        if not isinstance(when, Mapping) or set(when) != set(self.parents):
            raise self._wrong(f'"when" of table {number} does not name each column of "given"', "give each a value")
        place = 0
        for parent in self.parents:
            texts = labels(self._domain.attribute(parent))
            if when[parent] not in texts:
                raise self._wrong(
                    f'"when" of table {number} has a value that {parent!r} lacks', "use labels of the domain"
                )
            place = place * len(texts) + texts.index(when[parent])
        return place

    def _share(self, table: Mapping[str, Any], number: int) -> float:
        share = table["share"]
        if not _is_share(share) or share * WHOLE < 0.5:
            raise self._wrong(
                f"the share of table {number} is not above 0 and up to 1", "leave the table out, or mend it"
            )
        return float(share)

    def _read(self, shares: object, texts: Sequence[str], *, of: int, where: str) -> Weights:
        """Shares by label as weights."""
        if not isinstance(shares, Mapping) or not shares:
            raise self._wrong(f"no shares{where}", 'write them as {"label": 0.5, …}')
        codes = {text: code for code, text in enumerate(texts)}
        values = np.zeros(len(texts))
        for number, (text, share) in enumerate(shares.items(), start=1):
            if text not in codes:
                raise self._wrong(f"label {number}{where} is not one of this column", "use labels of the domain")
            if not _is_share(share):
                raise self._wrong(f"share {number}{where} is not a number from 0 to 1", "give the share of the records")
            values[codes[text]] = share
        return self._whole(values, of, where=where)

    def _whole(self, shares: Floats, of: int, *, where: str) -> Weights:
        if abs(float(shares.sum()) - 1) > TOLERANCE:
            raise self._wrong(f"the shares{where} do not add up to 1", "change one so that they do")
        return _whole(shares, of)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _whole(shares: Floats, of: int) -> Weights:
    """Whole numbers that add up: the nearest ones if these do, else by largest remainder."""
    nearest: Weights = np.rint(shares * of).astype(np.int64)
    if int(nearest.sum()) == of:
        return nearest
    exact = shares / shares.sum() * of
    found: Weights = np.floor(exact).astype(np.int64)
    order = np.argsort(found - exact, kind="stable")
    found[order[: of - int(found.sum())]] += 1
    return found


def _persons(domain: Domain, shares: object) -> Weights | None:
    """Shares of persons by how many rows each has."""
    if shares is None:
        return None
    if domain.grouped is None:
        raise InputError("rows_a_person is given, but persons are not made anew", repair="leave it out")
    if not isinstance(shares, Mapping) or not shares:
        raise InputError(
            "rows_a_person has no shares", repair='write them as {"1": 0.8, "2": 0.2}', column=domain.grouped.name
        )
    most = domain.unit.max_records
    allowed = {text: size for size, text in enumerate(_sizes(most), start=1)}
    if not set(shares) <= set(allowed) or not all(map(_is_share, shares.values())):
        raise InputError(
            f"rows_a_person is not a share from 0 to 1 for numbers of rows from 1 to {most}",
            repair="name whole numbers of rows that a person may have",
            column=domain.grouped.name,
        )
    values = np.zeros(max(allowed[text] for text in shares))
    for text, share in shares.items():
        values[allowed[text] - 1] = share
    if abs(float(values.sum()) - 1) > TOLERANCE:
        raise InputError("rows_a_person does not add up to 1", repair="change a share", column=domain.grouped.name)
    return _whole(values, WHOLE)
