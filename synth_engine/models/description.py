"""A model as a document for people: every share beside the label that it belongs to, to be read, kept, edited
and sampled from later.

`write` and `read` undo each other: a description that nobody edited gives the very model that it was written
from. What a description may say is in docs/description.md; everything is checked on the way in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from synth_engine.domain import Attribute, Domain
from synth_engine.domain.document import MAX_DEPTH
from synth_engine.domain.document import parse as _json
from synth_engine.errors import InputError
from synth_engine.measurement import Clique
from synth_engine.models import described_cells, described_tree
from synth_engine.models.binning import Binning
from synth_engine.models.described_column import (
    MAX_NAME_LENGTH,
    TOLERANCE,
    DescribedColumn,
    Texts,
    is_share,
    whole,
)
from synth_engine.models.model import MAX_SAMPLE_ROWS, WHOLE, Model, Node, Table, Weights
from synth_engine.models.places import PlaceCells
from synth_engine.models.sparse_table import SparseTable
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.models.trees.spatial import SpatialTree
from synth_engine.models.triple_mixture import TripleMixture
from synth_engine.privacy import receipt
from synth_engine.strict_json import JsonObject, JsonValue

SCHEMA = "synth_engine/description/1"
DIGITS = 10
"""Decimals of a share: enough to tell one of `WHOLE` parts from the next."""
MAX_MODEL_CELLS = 4_000_000
"""Cells, of all tables together."""
_FIELDS = {
    "schema",
    "mechanism",
    "model_sha256",
    "rows",
    "domain",
    "columns",
    "cells",
    "rows_a_person",
    "targets",
    "merged",
    "mixture",
    "synthesis",
    "tree",
    "notes",
    "coded",
    "places",
}


def write(model: Model) -> dict[str, object]:
    """The description of a model."""
    if model.coded is not None:
        places = [_place(place, model.domain) for place in model.places]
        return _head(model) | {"coded": write(model.coded), "places": places}
    persons = (
        {}
        if model.groups is None
        else {"rows_a_person": _shares(model.groups, _sizes(model.groups.size))}
    )
    if (joint := _joint(model)) is not None:
        cells = described_cells.write(joint, _texts(model.domain, ()))
        return _head(model) | {"columns": [], "cells": cells} | persons
    # None marks a table of its own; an empty tuple, a network's node without parents.
    given: list[Clique | None] = [node.parents for node in model.network] or [None] * len(
        model.tables
    )
    if any(
        parents is None and len(table.clique) > 1
        for parents, table in zip(given, model.tables, strict=True)
    ):
        raise InputError(
            "a table of several columns has no order to be described in",
            repair="keep the model itself",
        )
    texts = _texts(model.domain, model.merged)
    columns = [
        _column(texts, t, parents) for t, parents in zip(model.tables, given, strict=True)
    ]
    targets = [_column(texts, t, t.clique[:-1]) for t in model.targets]
    merged = {
        one.attribute: _bins(one, labels(model.domain.attribute(one.attribute)))
        for one in model.merged
    }
    return {
        **_head(model),
        "columns": columns,
        **({"targets": targets, "synthesis": model.synthesis} if targets else {}),
        **({"merged": merged} if merged else {}),
        # Components have no labels: their weights are those of the model.
        **({"mixture": model.mixture.to_json()} if model.mixture else {}),
        **_described_tree(model),
        **persons,
    }


def _described_tree(model: Model) -> dict[str, object]:
    if model.tree is None:
        return {}
    notes = {} if model.notes is None else {"notes": model.notes.to_json()}
    return {"tree": described_tree.write(model.tree, model.domain), **notes}


def _place(place: PlaceCells, domain: Domain) -> dict[str, object]:
    """The cells of a place: its tree, and the cell in which each of its nodes lies."""
    tree = described_tree.write(place.tree, domain)
    return {"place": place.place, "tree": tree, "areas": place.areas.tolist()}


def _head(model: Model) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "mechanism": model.mechanism,
        "model_sha256": receipt.digest(model.to_json()),
        "rows": model.rows,
        "domain": model.domain.to_json(),
    }


def _joint(model: Model) -> Table | SparseTable | None:
    """The one table of all columns of a model that is nothing else; None for another model."""
    if model.cells is not None:
        return model.cells
    further = model.network or model.targets or model.merged or model.mixture
    if len(model.tables) != 1 or further:
        return None
    (table,) = model.tables
    whole_domain = set(table.clique) == set(model.domain.sizes)
    return table if len(table.clique) > 1 and whole_domain else None


def read(document: object) -> Model:
    """The model that a description stands for. Errors: InputError, DomainError, with column, rule and
    repair."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InputError("this is no description", repair=f"its schema has to be {SCHEMA!r}")
    unknown = [str(key) for key in document if key not in _FIELDS]
    if unknown:
        raise InputError(
            f"unknown field {unknown[0][:MAX_NAME_LENGTH]!r}",
            repair=f"known are {', '.join(sorted(_FIELDS))}",
        )
    domain = Domain.from_json(document.get("domain"))
    domain.require_confirmed()
    # The labels of a column that is not learned are not known, so no share could be read.
    if domain.undeclared:
        raise domain.undeclared[0].error(
            "still has to be learned", repair="give its values or bins, as the release has them"
        )
    if "coded" in document:
        return _of_places(document, domain)
    merged = _merged(domain, document.get("merged", {}))
    texts = _texts(domain, merged)
    if "cells" in document:
        return _of_cells(document, texts, domain)
    tree = described_tree.read(document["tree"], domain) if "tree" in document else None
    of_tree = () if tree is None else tree.columns
    nodes, tables = _columns(
        {name: of for name, of in texts.items() if name not in of_tree},
        document.get("columns"),
    )
    return Model(
        mechanism=_mechanism(document.get("mechanism")),
        domain=domain,
        rows=_rows(document.get("rows")),
        tables=tables,
        network=nodes,
        groups=_persons(domain, document.get("rows_a_person")),
        targets=_targets(texts, document.get("targets", [])),
        synthesis=document.get("synthesis", "finish"),
        merged=merged,
        mixture=_mixture(document.get("mixture")),
        tree=tree,
        notes=_notes(document.get("notes")),
    )


def _of_places(document: Mapping[str, object], domain: Domain) -> Model:
    """A model that counts places by their cells: a description of its table of cells, and the cells of each
    place."""
    coded, places = document["coded"], document.get("places")
    known = {"schema", "mechanism", "model_sha256", "rows", "domain", "coded", "places"}
    if not isinstance(coded, Mapping) or "coded" in coded or not set(document) <= known:
        raise InputError(
            "coded is no description of a table of cells, or stands beside other tables",
            repair="leave it as it was written, and change shares inside it",
        )
    if not isinstance(places, list):
        raise InputError("places is not a list", repair="leave it as it was written")
    return Model(
        mechanism=_mechanism(document.get("mechanism")),
        domain=domain,
        rows=_rows(document.get("rows")),
        tables=(),
        coded=read(coded),
        places=tuple(_read_place(one, domain) for one in places),
    )


def _read_place(given: object, domain: Domain) -> PlaceCells:
    wrong = InputError("a place is malformed", repair="leave it as it was written")
    if not isinstance(given, Mapping) or set(given) != {"place", "tree", "areas"}:
        raise wrong
    tree = described_tree.read(given["tree"], domain)
    if not isinstance(tree, SpatialTree):
        raise wrong
    try:
        areas = np.array(given["areas"], dtype=np.int64)
        return PlaceCells(place=str(given["place"]), tree=tree, areas=areas)
    except (TypeError, ValueError, OverflowError):
        raise wrong from None


def _of_cells(document: Mapping[str, object], texts: Texts, domain: Domain) -> Model:
    further = {"targets", "merged", "mixture", "synthesis"} & set(document)
    if document.get("columns", []) != [] or further:
        raise InputError(
            "cells and other tables are described together",
            repair="leave out what was not there beside cells",
        )
    table = described_cells.read(document["cells"], texts, domain)
    sparse = table if isinstance(table, SparseTable) else None
    return Model(
        mechanism=_mechanism(document.get("mechanism")),
        domain=domain,
        rows=_rows(document.get("rows")),
        tables=(table,) if isinstance(table, Table) else (),
        groups=_persons(domain, document.get("rows_a_person")),
        cells=sparse,
    )


def parse(raw: bytes) -> Any:
    """Parses the JSON in the bytes of a file, without checking its content. Errors: DomainError."""
    return _json(raw, name="description", deepest=MAX_DEPTH + 1, see="see docs/description.md")


def edited(document: Mapping[str, object], model: Model) -> bool:
    """Returns whether the model that was read from a description differs from the one that it
    was written from."""
    return document.get("model_sha256") != receipt.digest(model.to_json())


def labels(attribute: Attribute) -> tuple[str, ...]:
    """The label of every code. One that stands for two codes has a number added the second time."""
    read_labels: dict[str, None] = {}
    for label in attribute.labels:
        number, unique = 1, label
        while unique in read_labels:
            number += 1
            unique = f"{label} ({number})"
        read_labels[unique] = None
    return tuple(read_labels)


# --- out ----------------------------------------------------------------------------------------------------


def _texts(domain: Domain, merged: Sequence[Binning]) -> Texts:
    """The labels by which tables name the values of each column; those of bins are numbers, from "bin 1"
    on."""
    of = {one.attribute: one.size for one in merged}
    return {
        name: tuple(f"bin {number}" for number in range(1, of[name] + 1))
        if name in of
        else labels(domain.attribute(name))
        for name in domain.sizes
    }


def _bins(one: Binning, texts: Sequence[str]) -> JsonObject:
    """The labels of each bin, and the shares of the values themselves."""
    edges: list[list[str]] = [[] for _ in range(one.size)]
    for text, number in zip(texts, one.bins.tolist(), strict=True):
        edges[number].append(text)
    return {"bins": edges, "shares": _shares(one.within, texts)}


def _column(every: Texts, table: Table, parents: Clique | None) -> JsonObject:
    """One column: its shares, or those it has for each combination of others."""
    name, texts = table.clique[-1], every[table.clique[-1]]
    if not parents:
        described: JsonObject = {"column": name} | ({} if parents is None else {"given": []})
        return described | {"shares": _shares(table.weights, texts)}
    others = [every[parent] for parent in parents]
    flat = table.weights.reshape(-1, table.weights.shape[-1])
    sums = flat.sum(axis=1)
    when: list[JsonValue] = []
    for place in np.flatnonzero(sums).tolist():
        at = np.unravel_index(place, table.weights.shape[:-1])
        when.append(
            {
                "when": {
                    parent: texts[int(i)]
                    for parent, texts, i in zip(parents, others, at, strict=True)
                },
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


# --- in -----------------------------------------------------------------------------------------------------


def _mechanism(value: object) -> str:
    if (
        not isinstance(value, str)
        or not 1 <= len(value) <= MAX_NAME_LENGTH
        or not value.isprintable()
    ):
        raise InputError("mechanism is not a name", repair="leave the one that was there")
    return value


def _rows(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SAMPLE_ROWS:
        raise InputError(
            f"rows is not a whole number from 0 to {MAX_SAMPLE_ROWS}",
            repair="give how many there are",
        )
    return value


def _columns(texts: Texts, given: object) -> tuple[tuple[Node, ...], tuple[Table, ...]]:
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise InputError(
            "columns is not a list of objects", repair="give one for each column of the domain"
        )
    names = [_name(texts, entry) for entry in given]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError("a column is described twice", repair="keep one of them", column=twice)
    lacking = next((name for name in texts if name not in names), None)
    if lacking is not None:
        raise InputError(
            "a column of the domain is not described",
            repair="add it to columns",
            column=lacking,
        )
    with_given = ["given" in entry for entry in given]
    # With "given" it is a network, without it independent tables: a mixture is neither.
    if any(with_given) and not all(with_given):
        column = names[with_given.index(False)]
        raise InputError(
            'no "given" here, but at other columns', repair='write "given": []', column=column
        )
    read = [
        DescribedColumn(texts, entry, before=names[:place]) for place, entry in enumerate(given)
    ]
    if sum(one.cells for one in read) > MAX_MODEL_CELLS:
        raise InputError(
            f"the tables have more than {MAX_MODEL_CELLS:,} cells",
            repair='take names off "given"',
        )
    tables = tuple(
        Table(clique=(*one.parents, one.name), weights=one.weights()) for one in read
    )
    return tuple(
        Node(attribute=one.name, parents=one.parents) for one in read if with_given[0]
    ), tables


def _targets(texts: Texts, given: object) -> tuple[Table, ...]:
    """Tables that rows are to have in the end; each is written as a column given others, in any order."""
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise InputError(
            "targets is not a list of objects", repair="give one for each table, or none"
        )
    read = []
    for entry in given:
        name = _name(texts, entry)
        read.append(
            DescribedColumn(texts, entry, before=[other for other in texts if other != name])
        )
    if sum(one.cells for one in read) > MAX_MODEL_CELLS:
        raise InputError(
            f"the targets have more than {MAX_MODEL_CELLS:,} cells",
            repair="take some of them away",
        )
    return tuple(Table(clique=(*one.parents, one.name), weights=one.weights()) for one in read)


def _mixture(given: object) -> TripleMixture | None:
    if given is None:
        return None
    try:
        return TripleMixture.from_json(given)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "the mixture is malformed", repair="leave it as it was written"
        ) from error


def _notes(given: object) -> TreeDiagnostics | None:
    if given is None:
        return None
    try:
        return TreeDiagnostics.from_json(given)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the notes of the tree are malformed", repair="leave them as they were written"
        ) from error


def _merged(domain: Domain, given: object) -> tuple[Binning, ...]:
    """The bins of large columns: every label of a column in one of them."""
    if not isinstance(given, Mapping) or not all(
        isinstance(one, Mapping) for one in given.values()
    ):
        raise InputError(
            "merged is not an object of objects",
            repair='write it as {"column": {"bins": …, "shares": …}}',
        )
    binnings = []
    for name, one in given.items():
        if name not in domain.sizes:
            raise InputError("merged names no column of the domain", repair="leave it out")
        texts = labels(domain.attribute(name))
        shares = DescribedColumn(
            {name: texts}, {"column": name, "shares": one.get("shares")}, before=[]
        ).weights()
        binnings.append(
            Binning(attribute=name, bins=_numbers(name, texts, one.get("bins")), within=shares)
        )
    return tuple(binnings)


def _numbers(name: str, texts: Sequence[str], bins: object) -> Weights:
    lists = (
        bins
        if isinstance(bins, list) and all(isinstance(one, list) and one for one in bins)
        else []
    )
    at = {
        text: number
        for number, one in enumerate(lists)
        for text in one
        if isinstance(text, str)
    }
    if sum(map(len, lists)) != len(texts) or set(at) != set(texts):
        raise InputError(
            "the bins do not hold every label once", repair="name each in one bin", column=name
        )
    return np.array([at[text] for text in texts], dtype=np.int64)


def _name(texts: Texts, entry: Mapping[str, object]) -> str:
    name = entry.get("column")
    if not isinstance(name, str) or name not in texts:
        raise InputError(
            "an entry of columns names no column of the domain",
            repair='give its name under "column"',
        )
    return name


def _persons(domain: Domain, shares: object) -> Weights | None:
    """Shares of persons by how many rows each has."""
    if shares is None:
        return None
    if domain.grouped is None:
        raise InputError(
            "rows_a_person is given, but persons are not made anew", repair="leave it out"
        )
    if not isinstance(shares, Mapping) or not shares:
        raise InputError(
            "rows_a_person has no shares",
            repair='write them as {"1": 0.8, "2": 0.2}',
            column=domain.grouped.name,
        )
    most = domain.unit.max_records
    allowed = {text: size for size, text in enumerate(_sizes(most), start=1)}
    if not set(shares) <= set(allowed) or not all(map(is_share, shares.values())):
        raise InputError(
            f"rows_a_person is not a share from 0 to 1 for numbers of rows from 1 to {most}",
            repair="name whole numbers of rows that a person may have",
            column=domain.grouped.name,
        )
    values = np.zeros(max(allowed[text] for text in shares))
    for text, share in shares.items():
        values[allowed[text] - 1] = share
    if abs(float(values.sum()) - 1) > TOLERANCE:
        raise InputError(
            "rows_a_person does not add up to 1",
            repair="change a share",
            column=domain.grouped.name,
        )
    return whole(values, WHOLE)
