"""From what was open to what was learned, without reading the table again: pure functions of public
descriptions and of what a record was encoded as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import (
    Attribute,
    Categorical,
    Date,
    Domain,
    Range,
    Scale,
    ScaleBins,
    Weak,
)
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import NodeSet
from synth_engine.indexing import prefixes
from synth_engine.kinds.lattice import Positions
from synth_engine.kinds.missing_markers import codes_of_texts
from synth_engine.kinds.reading import Codes, code_dtype


def resolved_codes(attribute: Weak, resolved: Attribute, ranks: Sequence[int]) -> Codes:
    """The code under the learned attribute, a categorical one, of each number."""
    if not isinstance(resolved, Categorical):
        raise TypeError("a weak attribute becomes a categorical one")
    codes = {attribute.values.rank(text): code for code, text in enumerate(resolved.values)}
    absent = resolved.missing_code
    if resolved.other_code is not None:
        outside = resolved.other_code
    else:
        outside = 0 if absent is None or resolved.outside == "clamp" else absent
    if absent is not None:
        codes[attribute.population - 1] = absent
    return np.fromiter(
        (codes.get(rank, outside) for rank in ranks),
        dtype=code_dtype(resolved.size),
        count=len(ranks),
    )


def resolved_positions(
    attribute: Scale, resolved: Attribute, placed: tuple[Positions, NDArray[np.bool_]]
) -> Codes:
    """The code under the learned attribute of each position; placed: positions, and which records have
    none."""
    if not isinstance(resolved, ScaleBins) or resolved.lattice != attribute.lattice:
        raise TypeError("a column on a lattice becomes bins of this lattice")
    return resolved.codes_at(*placed)


def cells_of_places(domain: Domain, cells: NodeSet, degrees: Mapping[str, Codes]) -> Codes:
    """The cell of each record, from the codes of its latitude and longitude; one that lies in none has the
    last code.

    cells: disjoint nodes of the hierarchy of these two columns. Errors: PrivacyError where they are of other
    columns."""
    if cells.columns != tuple(degrees):
        raise PrivacyError("the cells of a place are of other columns")
    hierarchy = prefixes.hierarchy(domain, cells.columns)
    cells.check(hierarchy)
    # The cell of a record is a function of its own coordinates (docs/proofs/learning.md, "Resolving is
    # free").
    own = prefixes.of_codes(hierarchy, degrees, domain)
    indices = np.minimum(cells.places(hierarchy, own), len(cells) - 1)
    codes: Codes = indices.astype(code_dtype(len(cells)))
    return codes


def resolved_cells(attribute: Range, resolved: Attribute) -> Codes:
    """The code under the learned attribute of each code of the grid."""
    grid = attribute.grid
    # The first value of a cell stands for all of it: bins begin and end on the grid.
    if isinstance(grid, Date):
        starts = [grid.days(code)[0].strftime(grid.format) for code in range(grid.value_count)]
    else:
        starts = [repr(cut) for cut in grid.cuts[:-1]]
    return codes_of_texts(resolved, [*starts, *([None] if grid.missing is not None else [])])
