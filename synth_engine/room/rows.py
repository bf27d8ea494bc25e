"""Rows: encoded records that can be counted and nothing else.

Parsing, encoding and truncation by unit happen once, in `sources.opening`, before anything is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, NotFound, Range, Scale, Weak, WeakBasket
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import NodeSet
from synth_engine.indexing import items, resolving
from synth_engine.indexing.contingency import CountPlan, Table
from synth_engine.indexing.items import Bags
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.room.records_source import MemorySource, RecordSource

Ranked = tuple[NDArray[np.int32], list[int]]
"""The values of a weak attribute: for each record an index into a list, and the list: different
numbers within the public set."""
Placed = tuple[NDArray[np.uint64], NDArray[np.bool_]]
"""The values of a column on a lattice: for each record a position, and whether it has none."""


class Rows:
    """Columns of codes, one entry a record. Only `counts` reads them; printing, copying, storing, walking
    through, or comparing them is refused, so that no log line, traceback or task argument can hold a record
    by mistake."""

    __slots__ = (
        "__baskets",
        "__domain",
        "__positions",
        "__ranked",
        "__source",
        "__units",
    )

    def __init__(
        self,
        codes: Mapping[str, Codes] | RecordSource,
        *,
        domain: Domain,
        ranked: Mapping[str, Ranked] = MappingProxyType({}),
        units: NDArray[np.integer[Any]] | None = None,
        baskets: Mapping[str, Bags] = MappingProxyType({}),
        positions: Mapping[str, Placed] = MappingProxyType({}),
    ) -> None:
        """codes: columns in memory, or where else they are."""
        lengths, names = (
            ({len(column) for column in codes.values()}, set(codes))
            if isinstance(codes, Mapping)
            else ({codes.records}, set(codes.names))
        )
        lengths |= {len(column) for column in baskets.values()}
        lengths |= {len(part) for placed in positions.values() for part in placed}
        lengths |= {len(value_indices) for value_indices, _ in ranked.values()} | (
            {len(units)} if units is not None else set()
        )
        weak = {
            attribute.name for attribute in domain.undeclared if isinstance(attribute, Weak)
        }
        held = {
            attribute.name
            for attribute in domain.undeclared
            if isinstance(attribute, WeakBasket)
        }
        scales = {
            attribute.name for attribute in domain.undeclared if isinstance(attribute, Scale)
        }
        given = (names, set(ranked), set(baskets), set(positions))
        if len(lengths) != 1 or given != (set(domain.names), weak, held, scales):
            raise PrivacyError("rows do not fit their domain")
        self.__source: RecordSource = (
            MemorySource(codes, records=lengths.pop()) if isinstance(codes, Mapping) else codes
        )
        self.__domain, self.__units = domain, units
        self.__ranked, self.__baskets = dict(ranked), dict(baskets)
        self.__positions = dict(positions)

    def codes(self, name: str) -> Codes:
        """The codes of one attribute, for `counts` alone."""
        return self.__source.codes(name)

    def count(self, names: Sequence[str], plan: CountPlan) -> list[Table]:
        """Counts of the records in each table of a plan, whose axes are these columns, for `counts` alone."""
        return self.__source.count(names, plan)

    def units(self) -> NDArray[np.integer[Any]]:
        """Returns to which unit each record belongs, as numbers without further meaning, for
        `counts` alone."""
        if self.__units is None:
            raise PrivacyError("the privacy unit of these rows has no column")
        return self.__units

    def ranked(self, name: str) -> Ranked:
        """The numbers of the values of a weak attribute, for `counts` alone."""
        return self.__ranked[name]

    def basket(self, name: str) -> Bags:
        """The numbers of the items in the cells of a weak basket, for `counts` alone."""
        return self.__baskets[name]

    def positions(self, name: str) -> Placed:
        """The positions of a column on a lattice, for `counts` alone."""
        return self.__positions[name]

    def resolve(self, domain: Domain) -> Rows:
        """The same records under what was learned. Raises DomainError where that does not fit what was
        declared."""
        learned = {
            attribute.name: domain.attribute(attribute.name)
            for attribute in self.__domain.undeclared
        }
        # Resolving is not charged, so it must not change how any other column is counted.
        if self.__domain.resolve(learned) != domain:
            raise PrivacyError("more than what was open has changed")
        codes = self._all_codes()
        for attribute in self.__domain.undeclared:
            name = attribute.name
            resolved = learned[name]
            if isinstance(resolved, NotFound):
                codes[name] = np.zeros(self.total, dtype=code_dtype(1))
            elif isinstance(attribute, Weak):
                value_indices, ranks = self.__ranked[name]
                codes[name] = resolving.resolved_codes(attribute, resolved, ranks)[
                    value_indices
                ]
            elif isinstance(attribute, Range):
                codes[name] = resolving.resolved_cells(attribute, resolved)[codes[name]]
            elif isinstance(attribute, Scale):
                codes[name] = resolving.resolved_positions(
                    attribute, resolved, self.__positions[name]
                )
            elif isinstance(attribute, WeakBasket):
                codes |= items.resolved_items(attribute, resolved, self.__baskets[name])
        # A column that was not found has no codes, and neither has that of its markers.
        counted = {name: codes[name] for name in domain.names}
        return Rows(counted, domain=domain, units=self.__units)

    def join_places(self, cells: Mapping[str, NodeSet]) -> Rows:
        """The same records, each of these places as one attribute. The code of a record is a function of its
        own coordinates; one that lies in no cell has the last code."""
        domain = self.__domain
        joined = domain.join_places({name: len(cells[name]) for name in cells})
        held = self._all_codes()
        codes = {name: column for name, column in held.items() if name in joined.sizes}
        for place in domain.places:
            if place.name not in cells:
                continue
            degrees = {name: held[name] for name in place.columns}
            codes[place.name] = resolving.cells_of_places(domain, cells[place.name], degrees)
        return Rows(
            codes,
            domain=joined,
            ranked=self.__ranked,
            units=self.__units,
            baskets=self.__baskets,
            positions=self.__positions,
        )

    @property
    def domain(self) -> Domain:
        return self.__domain

    @property
    def total(self) -> int:
        """Number of records, as confidential as any other count."""
        return self.__source.records

    def _all_codes(self) -> dict[str, Codes]:
        return {name: self.__source.codes(name) for name in self.__domain.names}

    def __repr__(self) -> str:
        return "<rows: confidential>"

    def _refuse(self, *_: object) -> NoReturn:
        raise PrivacyError("rows cannot be copied, stored, walked through or compared")

    def __reduce_ex__(self, _: object) -> NoReturn:
        self._refuse()

    def __eq__(self, _: object) -> NoReturn:
        self._refuse()

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __iter__ = __len__ = __bool__ = (
        __contains__
    ) = _refuse
    __hash__ = None  # type: ignore[assignment]
