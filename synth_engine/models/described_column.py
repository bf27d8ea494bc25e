"""One column of a description: its shares, or those it has for each combination of other columns, read
strictly. Every refusal names the column, a rule and a repair, and repeats nothing but names of fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError
from synth_engine.measurement import Clique
from synth_engine.models.weights import WHOLE, Weights

TOLERANCE = 1e-6
"""Largest difference between the sum of shares and 1, for people who round."""
MAX_TABLE_CELLS = 1_000_000
"""Cells of one table."""
MAX_NAME_LENGTH = 64

Floats = npt.NDArray[np.float64]
Texts = Mapping[str, tuple[str, ...]]
"""The labels of each column, by code."""


class DescribedColumn:
    """One entry of a list of columns.

    every: the labels of all columns of the domain; before: the columns that this one may be given. Errors:
    InputError, here and in `weights`.
    """

    def __init__(
        self, texts: Texts, entry: Mapping[str, object], *, before: Sequence[str]
    ) -> None:
        self.name = str(entry["column"])
        self._every, self._entry = texts, entry
        self.parents = self._given(entry.get("given", []), before)
        known = {"column", "given", "tables" if self.parents else "shares"}
        unknown = [str(key) for key in entry if key not in known]
        if unknown:
            raise self._wrong(
                f"unknown field {unknown[0][:MAX_NAME_LENGTH]!r}",
                f"known are {', '.join(sorted(known))}",
            )

    def _wrong(self, rule: str, repair: str) -> InputError:
        return InputError(rule, repair=repair, column=self.name)

    def _given(self, value: object, before: Sequence[str]) -> Clique:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self._wrong(
                '"given" is not a list of names',
                "name columns that stand before this one, or none",
            )
        if len(set(value)) < len(value) or not set(value) <= set(before):
            raise self._wrong(
                '"given" names a column that does not stand before this one',
                "change the order of columns",
            )
        parents = tuple(value)
        if self._cells(parents) > MAX_TABLE_CELLS:
            raise self._wrong(
                f"its table has more than {MAX_TABLE_CELLS:,} cells", 'take a name off "given"'
            )
        return parents

    def _cells(self, parents: Clique) -> int:
        return math.prod(len(self._every[name]) for name in (*parents, self.name))

    @property
    def cells(self) -> int:
        """Counts the cells of the table of the column and its parents."""
        return self._cells(self.parents)

    def weights(self) -> Weights:
        """Whole numbers that add up to `WHOLE`, shape (sizes of the parents …, size of the column)."""
        texts = self._every[self.name]
        if not self.parents:
            return self._read(self._entry.get("shares"), texts, of=WHOLE, where="")
        tables = self._entry.get("tables")
        if (
            not isinstance(tables, list)
            or not tables
            or not all(isinstance(one, Mapping) for one in tables)
        ):
            raise self._wrong(
                '"tables" is not a list of objects', 'give one for each combination of "given"'
            )
        shape = tuple(len(self._every[name]) for name in (*self.parents, self.name))
        weights = np.zeros((math.prod(shape[:-1]), shape[-1]), dtype=np.int64)
        # Combinations that are not described keep weight 0.
        places = [self._place(one, number) for number, one in enumerate(tables, start=1)]
        if len(set(places)) < len(places):
            raise self._wrong("a combination is described twice", "keep one of its tables")
        # First the shares of the tables become whole numbers, then each table is made to add up
        # to its own: so the sum over all cells is exactly `WHOLE`.
        sums = self._whole(
            np.array([self._share(one, n) for n, one in enumerate(tables, start=1)]),
            WHOLE,
            where="",
        )
        for number, (one, place, whole) in enumerate(
            zip(tables, places, sums.tolist(), strict=True), start=1
        ):
            weights[place] = self._read(
                one.get("shares"), texts, of=whole, where=f" of table {number}"
            )
        return weights.reshape(shape)

    def _place(self, table: Mapping[str, object], number: int) -> int:
        """The number of the combination that a table is for."""
        if set(table) != {"when", "share", "shares"}:
            raise self._wrong(
                f"table {number} has missing or unknown fields",
                'give "when", "share" and "shares"',
            )
        when = table["when"]
        if not isinstance(when, Mapping) or set(when) != set(self.parents):
            raise self._wrong(
                f'"when" of table {number} does not name each column of "given"',
                "give each a value",
            )
        place = 0
        for parent in self.parents:
            texts = self._every[parent]
            if when[parent] not in texts:
                raise self._wrong(
                    f'"when" of table {number} has a value that {parent!r} lacks',
                    "use labels of the domain",
                )
            place = place * len(texts) + texts.index(when[parent])
        return place

    def _share(self, table: Mapping[str, Any], number: int) -> float:
        share = table["share"]
        if not is_share(share) or share * WHOLE < 0.5:
            raise self._wrong(
                f"the share of table {number} is not above 0 and up to 1",
                "leave the table out, or mend it",
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
                raise self._wrong(
                    f"label {number}{where} is not one of this column",
                    "use labels of the domain",
                )
            if not is_share(share):
                raise self._wrong(
                    f"share {number}{where} is not a number from 0 to 1",
                    "give the share of the records",
                )
            values[codes[text]] = share
        return self._whole(values, of, where=where)

    def _whole(self, shares: Floats, of: int, *, where: str) -> Weights:
        # Shares that are far from 1 are refused rather than scaled: the reader would sample
        # from other shares than the file has.
        if abs(float(shares.sum()) - 1) > TOLERANCE:
            raise self._wrong(
                f"the shares{where} do not add up to 1", "change one so that they do"
            )
        return whole(shares, of)


def is_share(value: object) -> bool:
    """A number from 0 to 1; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def whole(shares: Floats, of: int) -> Weights:
    """Whole numbers that add up: the nearest ones if these do, else by largest remainder."""
    nearest: Weights = np.rint(shares * of).astype(np.int64)
    # What `write` rounded comes back exactly, so a description that nobody edited gives the
    # same weights.
    if int(nearest.sum()) == of:
        return nearest
    exact = shares / shares.sum() * of
    number: Weights = np.floor(exact).astype(np.int64)
    order = np.argsort(number - exact, kind="stable")
    number[order[: of - int(number.sum())]] += 1
    return number
