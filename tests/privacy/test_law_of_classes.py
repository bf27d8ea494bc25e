"""Trees of classes and of several columns: `grow` has the exact law of any binary tree, and costs what it
says; mutants that let the table decide which classes there are do not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Categorical, Domain, Integer, Partition
from synth_engine.hierarchy import (
    Codes,
    Hierarchy,
    Prefixes,
    ProductHierarchy,
    Rule,
    TaxonomyHierarchy,
)
from synth_engine.indexing import prefixes
from synth_engine.privacy.loss import Pure
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests.privacy import exact
from tests.privacy.test_law_of_grow import (
    IMPROVED,
    NOISE,
    PRIVTREE,
    SCALE,
    agree,
    opened_loss,
    whole_law,
)

BASIC = Rule(name="basic", depth=2, threshold=1)
CAP = Pure(epsilon=Fraction(9))


def classes(
    name: str, values: str, **partitions: str
) -> tuple[Categorical, tuple[Partition, ...]]:
    """A column of one-letter values; of each partition, a letter for each value."""
    column = Categorical(name=name, values=tuple(values), outside="clamp")
    return column, tuple(
        Partition(name=key, column=name, of=tuple(of)) for key, of in partitions.items()
    )


def domain_of(*columns: tuple[Any, tuple[Partition, ...]]) -> Domain:
    return Domain(
        attributes=tuple(c for c, _ in columns),
        partitions=tuple(p for _, more in columns for p in more),
    )


EIGHT = domain_of(classes("x", "abcdefgh", quarter="11223344", half="11112222"))
MIXED = domain_of(classes("x", "ab"), classes("y", "abcd", half="1122"))
PLACED = domain_of(
    (Integer(name="x", low=0, high=1, width=1), ()), classes("y", "abcd", half="1122")
)
UNEVEN = domain_of(classes("x", "abc", part="112"))
PAIR = domain_of(classes("x", "ab"), classes("y", "cd"))


def grown(rule: Rule) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        found = session.grow(session.domain.names, rule=rule, noise=NOISE)
        return tuple(tuple(one.tolist()) for one in (*found.opened, *found.counts))

    return program


@pytest.mark.parametrize("rule", [IMPROVED, PRIVTREE], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    "domain", [EIGHT, MIXED, PLACED], ids=["classes", "two columns", "points and classes"]
)
def test_classes_are_opened_by_the_law_of_any_binary_tree(domain: Domain, rule: Rule) -> None:
    assert prefixes.hierarchy(domain, domain.names).branching() == (2, 2, 2)
    for codes in [(), (0,), (0, 1, 7), (2, 2, 3), (4, 4, 4, 4, 5)]:
        table = tuple((code,) if domain is EIGHT else divmod(code, 4) for code in codes)
        law = exact.law_of(grown(rule), table, domain=domain, cap=CAP, high=0)
        assert agree(law, whole_law(rule, tuple(codes.count(code) for code in range(8)))), codes


def worst(domain: Domain, rule: Rule) -> float:
    """The largest loss over all neighbours of up to two records, both ways round; infinite where it is above
    the claim."""
    high = 1 if rule.name == "basic" else 0
    ratio = exact.largest_ratio(grown(rule), domain, cap=CAP, most=2, high=high)
    claim = rule.depth / SCALE if rule.name == "basic" else opened_loss(rule)
    return exact.loss_within(ratio, claim=claim)


@pytest.mark.parametrize("domain", [UNEVEN, PAIR], ids=["classes", "two columns"])
def test_a_tree_of_classes_costs_what_any_tree_does(domain: Domain) -> None:
    assert 0.99 * BASIC.depth / SCALE < worst(domain, BASIC) < inf
    for rule in (IMPROVED, PRIVTREE):
        shallow = Rule(
            name=rule.name, depth=2, threshold=rule.threshold, discount=rule.discount
        )
        assert 0.99 / SCALE < worst(domain, shallow) < inf


@dataclass(frozen=True, kw_only=True)
class Occupied(TaxonomyHierarchy):
    """Only classes in which somebody is, and one where nobody is anywhere."""

    held: Codes

    def inside(self, prefixes: Prefixes, levels: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        first, last = super().inside(prefixes, levels)
        known = np.isin(self.codes[self.order], self.held)
        known[0] |= not known.any()
        here = np.array(
            [known[a:b].any() for a, b in zip(first, last, strict=True)], dtype=np.bool_
        )
        return first, np.where(here, last, first)


def only_occupied(found: Hierarchy, rows: Rows, domain: Domain) -> Hierarchy:
    if isinstance(found, ProductHierarchy):
        alone = tuple(only_occupied(each, rows, domain) for each in found.components)
        return ProductHierarchy(columns=found.columns, components=alone)  # type: ignore[arg-type]
    assert isinstance(found, TaxonomyHierarchy)
    held = prefixes.of_codes(found, {name: rows.codes(name) for name in found.columns}, domain)
    return Occupied(
        **{each.name: getattr(found, each.name) for each in fields(TaxonomyHierarchy)},
        held=held,
    )


@pytest.mark.parametrize("domain", [UNEVEN, PAIR], ids=["classes", "two columns"])
@pytest.mark.parametrize("rule", [BASIC, IMPROVED], ids=lambda rule: rule.name)
def test_classes_from_the_data_are_noticed(
    domain: Domain, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, original = prefixes.hierarchy, exact.rows_of
    rows: list[Rows] = []

    def of_the_table(domain: Domain, columns: Any, **more: Any) -> Hierarchy:
        return only_occupied(plain(domain, columns, **more), rows[-1], domain)

    monkeypatch.setattr(
        exact, "rows_of", lambda table, domain: rows.append(original(table, domain)) or rows[-1]
    )
    monkeypatch.setattr(prefixes, "hierarchy", of_the_table)
    shallow = Rule(name=rule.name, depth=2, threshold=rule.threshold, discount=rule.discount)
    assert worst(domain, shallow) == inf


def test_a_record_that_goes_where_the_others_are_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = prefixes.of_codes

    def to_the_crowd(found: Hierarchy, columns: Any, domain: Domain) -> Codes:
        codes = plain(found, columns, domain)
        values, times = np.unique(codes, return_counts=True)
        return np.full_like(codes, values[times.argmax()]) if codes.size else codes

    monkeypatch.setattr(prefixes, "of_codes", to_the_crowd)
    assert worst(UNEVEN, BASIC) == inf
