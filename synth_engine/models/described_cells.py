"""One table of all columns of a description: a share for each combination of labels that has one, read
strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.models.described_column import TOLERANCE, Texts, is_share, whole
from synth_engine.models.network import Table
from synth_engine.models.sparse_table import SparseTable
from synth_engine.models.weights import WHOLE, Weights
from synth_engine.strict_json import JsonObject, JsonValue

DIGITS = 10
MAX_DENSE_CELLS = 1 << 20
"""Of two columns with more cells than these a model holds the listed ones alone."""
MAX_LISTED_CELLS = 1_000_000


def write(table: Table | SparseTable, texts: Texts) -> JsonObject:
    """The cells of a table, those without weight left out of a dense one. Errors: InputError for too many."""
    if isinstance(table, Table):
        places = np.flatnonzero(table.weights)
        weights = table.weights.ravel()[places]
    else:
        places, weights = table.cells, table.weights
    if places.size > MAX_LISTED_CELLS:
        raise InputError(
            f"the model has more than {MAX_LISTED_CELLS:,} cells to be listed",
            repair="keep the model itself",
        )
    lists = [texts[name] for name in table.clique]
    codes = np.unravel_index(places, [len(one) for one in lists])
    shares: list[JsonValue] = [
        {
            "values": [labels[code] for labels, code in zip(lists, at, strict=True)],
            "share": round(weight / WHOLE, DIGITS),
        }
        for weight, *at in zip(weights.tolist(), *(one.tolist() for one in codes), strict=True)
    ]
    return {"columns": list(table.clique), "shares": shares}


def read(given: object, texts: Texts, domain: Domain) -> Table | SparseTable:
    """The table that is described. Errors: InputError."""
    if not isinstance(given, Mapping) or set(given) != {"columns", "shares"}:
        raise InputError(
            'cells is not an object of "columns" and "shares"',
            repair="write it as it was there",
        )
    clique = _columns(given["columns"], texts)
    lines = given["shares"]
    if not isinstance(lines, list) or not 0 < len(lines) <= MAX_LISTED_CELLS:
        raise InputError(
            f"cells lists no share, or more than {MAX_LISTED_CELLS:,}",
            repair="give one for each combination that occurs",
        )
    codes = [{label: code for code, label in enumerate(texts[name])} for name in clique]
    places = np.array(
        [_place(line, codes, number) for number, line in enumerate(lines, start=1)],
        dtype=np.int64,
    )
    shares = np.array([_share(line, number) for number, line in enumerate(lines, start=1)])
    if len(np.unique(places)) < len(places):
        raise InputError("cells has a combination twice", repair="keep one of its shares")
    if abs(float(shares.sum()) - 1) > TOLERANCE:
        raise InputError("the shares of cells do not add up to 1", repair="change a share")
    order = np.argsort(places)
    return _table(clique, places[order], whole(shares[order], WHOLE), domain)


def _table(
    clique: Sequence[str], places: npt.NDArray[np.int64], weights: Weights, domain: Domain
) -> Table | SparseTable:
    size = domain.cells(tuple(clique))
    if size > MAX_DENSE_CELLS:
        if len(clique) != 2:
            raise InputError(
                f"cells of more than two columns, and more than {MAX_DENSE_CELLS:,} combinations",
                repair="describe fewer values",
            )
        return SparseTable(clique=(clique[0], clique[1]), cells=places, weights=weights)
    flat = np.zeros(size, dtype=np.int64)
    flat[places] = weights
    return Table(clique=tuple(clique), weights=flat.reshape(domain.shape(tuple(clique))))


def _columns(given: object, texts: Texts) -> tuple[str, ...]:
    if (
        not isinstance(given, list)
        or len(given) < 2
        or not all(isinstance(name, str) for name in given)
        or sorted(given) != sorted(texts)
    ):
        raise InputError(
            'the "columns" of cells are not those of the domain', repair="name each once"
        )
    return tuple(given)


def _place(line: object, codes: Sequence[Mapping[str, int]], number: int) -> int:
    """The number of a combination, in the order of a dense table."""
    if not isinstance(line, Mapping) or set(line) != {"values", "share"}:
        raise InputError(
            f"line {number} of cells has missing or unknown fields",
            repair='give "values" and "share"',
        )
    values = line["values"]
    if not isinstance(values, list) or len(values) != len(codes):
        raise InputError(
            f"line {number} of cells does not have a value for each column",
            repair="give them in the order of its columns",
        )
    place = 0
    for value, known in zip(values, codes, strict=True):
        if not isinstance(value, str) or value not in known:
            raise InputError(
                f"line {number} of cells has a value that its column lacks",
                repair="use labels of the domain",
            )
        place = place * len(known) + known[value]
    return place


def _share(line: Mapping[str, Any], number: int) -> float:
    if not is_share(line["share"]):
        raise InputError(
            f"the share of line {number} of cells is not from 0 to 1", repair="mend it"
        )
    return float(line["share"])
