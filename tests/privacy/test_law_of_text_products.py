"""Trees of texts and classes: `grow` has the exact law of any tree, also where an ended text has one child,
and costs what it says; mutants that let the table decide where texts go on, or that count a record twice, do
not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Categorical, Domain, Partition, Weak
from synth_engine.hierarchy import (
    Codes,
    Hierarchy,
    Prefixes,
    ProductHierarchy,
    Rule,
    StringHierarchy,
)
from synth_engine.indexing import prefixes
from synth_engine.privacy.loss import Pure
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.values import from_json
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


def with_classes(
    alphabet: str, shortest: int, longest: int, values: str, part: str = ""
) -> Domain:
    """Texts by one-letter classes; of a partition of these, a letter for each."""
    texts = from_json(
        {"set": "strings", "alphabet": alphabet, "min_length": shortest, "max_length": longest}
    )
    column = Categorical(name="y", values=tuple(values), outside="clamp")
    parts = (Partition(name="part", column="y", of=tuple(part)),) if part else ()
    return Domain(attributes=(Weak(name="word", values=texts), column), partitions=parts)


WHOLE = with_classes("ab", 2, 2, "xy")
"""aa, ab, ba and bb by two classes: first sign, class, second sign."""
ENDING = with_classes("a", 0, 2, "wxyz", "1122")
"""The empty text, a and aa by two levels of classes, by turns: where a second sign would come, the empty text
has its end as its only child, and is divided by the finer classes after that."""
SHORT = with_classes("a", 0, 1, "xy")


def grown(rule: Rule) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        found = session.grow(session.domain.names, rule=rule, noise=NOISE)
        return tuple(tuple(one.tolist()) for one in (*found.opened, *found.counts))

    return program


LEAVES = {
    "WHOLE": {0: (0, 0), 1: (0, 1), 2: (1, 0), 3: (1, 1)},
    "ENDING": {0: (0, 0), 1: (1, 0), 2: (1, 1)},
}
"""Of the number of each text what its first and second sign are to a binary tree."""


@pytest.mark.parametrize("rule", [IMPROVED, PRIVTREE], ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", LEAVES)
def test_texts_by_class_are_opened_by_the_law_of_any_binary_tree(name: str, rule: Rule) -> None:
    domain, leaves = {"WHOLE": WHOLE, "ENDING": ENDING}[name], LEAVES[name]
    assert prefixes.hierarchy(domain, domain.names).branching(3) == (2, 2, 2)
    wide = domain.sizes["y"] // 2
    other = domain.attribute("word").values.size  # type: ignore[attr-defined]
    tables = [
        (),
        ((0, 0),),
        ((0, 0), (0, 1), (2, 1)),
        ((1, 1), (1, 1), (2, 0)),
        ((2, 1),) * 4 + ((0, 1),),
    ]
    for table in tables:
        codes = [
            4 * leaves[text][0] + 2 * (group // wide) + leaves[text][1] for text, group in table
        ]
        expected = whole_law(rule, tuple(codes.count(code) for code in range(8)))
        assert agree(
            exact.law_of(grown(rule), table, domain=domain, cap=CAP, high=0), expected
        ), table
        unread = (
            *table,
            (other, 1),
        )  # a text with another sign lies nowhere, whatever its class
        assert agree(
            exact.law_of(grown(rule), unread, domain=domain, cap=CAP, high=0), expected
        ), table


def worst(domain: Domain, rule: Rule) -> float:
    """The largest loss over all neighbours of up to two records, both ways round; infinite where it is above
    the claim."""
    high = 1 if rule.name == "basic" else 0
    ratio = exact.largest_ratio(grown(rule), domain, cap=CAP, most=2, high=high)
    claim = rule.depth / SCALE if rule.name == "basic" else opened_loss(rule)
    return exact.loss_within(ratio, claim=claim)


@pytest.mark.parametrize("domain", [SHORT, ENDING], ids=["class last", "ends between"])
def test_a_tree_of_texts_by_class_costs_what_any_tree_does(domain: Domain) -> None:
    assert 0.99 * BASIC.depth / SCALE < worst(domain, BASIC) < inf
    for rule in (IMPROVED, PRIVTREE):
        shallow = replace(rule, depth=2)
        assert 0.99 / SCALE < worst(domain, shallow) < inf


def test_the_one_child_of_an_ended_text_is_counted_like_any_other() -> None:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        found = session.grow(("word", "y"), rule=replace(BASIC, depth=3), noise=NOISE)
        return tuple(tuple(one.tolist()) for one in found.counts)

    laws = {
        table: exact.law_of(program, table, domain=ENDING, cap=CAP, high=1)
        for table in ((), ((0, 0),), ((1, 0),), ((0, 0), (0, 0)))
    }
    # below "" of one class stands its end alone, below "a" the end and a second sign
    assert {len(outcome[2]) for outcome in laws[()] if len(outcome) == 3} == {1, 2, 3, 4, 5, 6}
    pairs = [((), ((0, 0),)), ((), ((1, 0),)), (((0, 0),), ((0, 0), (0, 0)))]
    ratio, compared = exact.worst_ratio(laws, iter([*pairs, *(pair[::-1] for pair in pairs)]))
    assert compared == 6 and exact.proves(ratio, epsilon=3 / SCALE + Fraction(1, 2**200))
    assert exact.worst_epsilon(ratio) > 0.99 * 3 / SCALE


@dataclass(frozen=True, kw_only=True)
class Occupied(StringHierarchy):
    """Texts end where some record's does, and go on where some record's does."""

    held: Codes

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        known = np.isin(prefixes, self.prefix(self.held,
            level)) if self.held.size else prefixes == self.below(
            self.root(), 0
        )[0, 0]  # fmt: skip
        return super().exists(prefixes, level) & known


@pytest.mark.parametrize(
    "rule", [BASIC, replace(IMPROVED, depth=2)], ids=lambda rule: rule.name
)
def test_beginnings_from_the_data_are_noticed(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, original = prefixes.hierarchy, exact.rows_of
    rows: list[Rows] = []

    def of_the_table(domain: Domain, columns: Any, **more: Any) -> Hierarchy:
        found = plain(domain, columns, **more)
        assert isinstance(found, ProductHierarchy)
        words, classes = found.components
        assert isinstance(words, StringHierarchy)
        values, codes, inside = counts._texts(rows[-1], words)
        facts = {each.name: getattr(words, each.name) for each in fields(StringHierarchy)}
        held = Occupied(**facts, held=codes[values][inside[values]])
        return ProductHierarchy(columns=found.columns, components=(held, classes))

    monkeypatch.setattr(
        exact, "rows_of", lambda table, domain: rows.append(original(table, domain)) or rows[-1]
    )
    monkeypatch.setattr(prefixes, "hierarchy", of_the_table)
    assert worst(SHORT, rule) == inf


def test_a_record_that_goes_where_the_others_are_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = prefixes.of_codes

    def to_the_crowd(hierarchy: Hierarchy, columns: Any, domain: Domain) -> Codes:
        moved = dict(columns)
        for part in hierarchy.components:
            codes = columns[part.columns[0]]
            if isinstance(part, StringHierarchy) and codes.size:
                values, times = np.unique(codes, return_counts=True)
                moved[part.columns[0]] = np.full_like(codes, values[times.argmax()])
        return plain(hierarchy, moved, domain)

    monkeypatch.setattr(prefixes, "of_codes", to_the_crowd)
    assert worst(SHORT, BASIC) == inf


@pytest.mark.parametrize(
    "rule", [BASIC, replace(IMPROVED, depth=2)], ids=lambda rule: rule.name
)
def test_a_text_that_is_counted_twice_is_noticed(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if an ended text were in its end and in what would follow."""
    plain = counts.by_leaf

    def twice(rows: Rows, hierarchy: Hierarchy) -> counts.Sorted:
        codes, held = plain(rows, hierarchy)
        return np.sort(np.repeat(codes, 2)), held

    monkeypatch.setattr(counts, "by_leaf", twice)
    assert worst(SHORT, rule) == inf
