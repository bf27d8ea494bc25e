"""Codes of a public table of records, in the columns that it shares with a description."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.codec.encoding import encode_column
from synth_engine.codec.fitting import unfit_texts
from synth_engine.domain import Attribute, Basket, Domain
from synth_engine.references import PublicTable

NO_CODE = -1


def encode_public(domain: Domain, table: PublicTable) -> dict[str, NDArray[np.int64]]:
    """Codes of each shared column, shape (records,); `NO_CODE` where a cell fits nothing that the description
    declares.

    Shared is a column that has a name in the file and is described by values or bounds, and of which half of
    the cells have a code: one with other values is another column of the same name."""
    modelled = {attribute.name for attribute in domain.modelled}
    codes = {}
    for attribute in domain.attributes:
        cells = table.cells_of(attribute.name)
        if cells is None or attribute.name not in modelled or isinstance(attribute, Basket):
            continue
        encoded = _encoded(attribute, cells)
        if encoded.size and 2 * int((encoded != NO_CODE).sum()) >= encoded.size:
            codes[attribute.name] = encoded
    return codes


def _encoded(attribute: Attribute, cells: Sequence[str]) -> NDArray[np.int64]:
    # By hashes: an array of texts of one width would take as much room for each cell as for the longest.
    places, texts = pd.factorize(np.array(cells, dtype=object))
    fits = ~unfit_texts(attribute, texts.tolist())
    codes = np.full(texts.size, NO_CODE, dtype=np.int64)
    # What fits nothing is not even read: a column may say nothing of where such cells go.
    codes[fits] = encode_column(attribute, texts[fits])
    return codes[places]
