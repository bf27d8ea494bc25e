"""The comparison of a synthetic table with the real one, from tallies of both, as one JSON document.

Definitions in docs/comparison.md. A report on real data is *not* differentially private and says so in
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from synth_engine.codec import Fit
from synth_engine.domain import Domain
from synth_engine.evaluation import summaries, wording
from synth_engine.evaluation.dependences import lost_dependence
from synth_engine.evaluation.figure import Sides
from synth_engine.evaluation.figures import FIGURES
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.tallies import Clique, ContingencyTable, Tallies, TallySource
from synth_engine.evaluation.tiles import tiles
from synth_engine.evaluation.wording import Json

SCHEMA = "synth_engine/report/1"
CELL_BOUND = 5_000_000  # a larger table is left out, and the report says which
TRIPLES = 200
SEED = 0
MAX_ROWS = 20

Progress = Callable[[str, float], None]


def cliques(domain: Domain) -> list[Clique]:
    """The tables a report asks for: every column, every pair, and all triples or 200 of them drawn by a fixed
    seed; less those of more than `CELL_BOUND` cells. A public list: it depends on the domain alone."""
    return [clique for clique in _workload(domain) if domain.cells(clique) <= CELL_BOUND]


def tally(
    source: TallySource,
    *,
    wanted: Iterable[Clique] | None = None,
    progress: Progress = lambda _stage, _fraction: None,
) -> Tallies:
    """Counts all that a report asks of one data set.

    wanted: the cliques, `cliques` of its domain if left out. Tables are counted one at a time, and only their
    occupied cells are kept, so that the memory of large ones is free before the next is counted.
    """
    # Uncoded cells are exact counts whatever the table: they cannot be noisy answers.
    pairs = source.raw_pairs()
    uncoded = [each.private for each in source.raw_columns().values()]
    uncoded += [] if pairs is None else [pairs.private]
    if source.private and not all(uncoded):
        raise ValueError("counts of real cells do not belong in private tallies")
    chosen = cliques(source.domain) if wanted is None else list(wanted)
    with_field = [figure for figure in FIGURES if figure.field]
    steps = len(chosen) + len(with_field)
    tables, figures = {}, {}
    for number, clique in enumerate(chosen):
        progress("count", number / steps)
        tables[clique] = ContingencyTable.of(source.contingency(clique))
    for number, figure in enumerate(with_field, start=len(chosen)):
        progress("count", number / steps)
        figures[figure.field] = figure.tally(source)
    progress("count", 1.0)
    return Tallies(private=source.private, n=source.records, counts=tables, figures=figures)


@dataclass(frozen=True, kw_only=True)
class SampleRows:
    """Rows of both sides, shown as given, the first 20 of each; None for a side without any."""

    real: Sequence[Mapping[str, object]] | None = None
    synthetic: Sequence[Mapping[str, object]] | None = None


def compare(
    real: Tallies,
    synthetic: Tallies,
    domain: Domain,
    *,
    rows: SampleRows | None = None,
    unenforced: Sequence[int] = (),
    fits: Mapping[str, Fit] | None = None,
) -> Report:
    """Compares both sides and returns the report.

    Tables that one side lacks are left out, so that noisy answers, which are never complete, can take the
    place of the real side: with `private` tallies on both sides the report is private as well.

    rows: only with tallies that are not private.
    unenforced: violations of each constraint in the same synthetic table without its constraints enforced.
    fits: how the cells of each real column fit its description, exact counts, for a report that is not
    private; a column of which many cells do not fit is not judged as kept.
    """
    private = real.private and synthetic.private
    # `private` claims that only released answers went in. Real rows or exact counts in the
    # report would make the claim false.
    if ((rows and rows.real) or fits) and real.private:
        raise ValueError("real rows do not belong in a private report")
    wanted = list(_workload(domain))
    known = [clique for clique in wanted if clique in real and clique in synthetic]
    sides = Sides(
        real=real,
        synthetic=synthetic,
        domain=domain,
        known=known,
        fits=fits or {},
        unenforced=unenforced,
    )
    entries = {figure.field: figure.entry(sides) for figure in FIGURES if figure.field}
    summary = _summary(sides, entries)
    # Means are taken before sorting: the order of a sum decides its last digit.
    entries |= {
        name: _worst_first(entries[name]) for name in ("attributes", "pairs", "triples")
    }
    rows_of_sides = {"real": real.n, "synthetic": synthetic.n}
    made = tiles({"summary": summary, "rows": rows_of_sides, **entries})
    summary["overall"] = summaries.of_sections(
        [(tile.title, tile.verdict, tile.preserved) for tile in made]
    )
    return {
        "schema": SCHEMA,
        # One side from real data is enough to make the whole report confidential.
        "private": private,
        "notice": wording.PRIVATE if private else wording.NOT_PRIVATE,
        "domain_sha256": domain.digest,
        "columns": list(domain.names),
        "rows": rows_of_sides,
        "summary": summary,
        **entries,
        "left_out": _left_out(domain, wanted=wanted, known=set(known)),
        "rules": _rules(domain),
        "side_by_side": _side_by_side(domain, rows),
        "reading": _explanations(),
    }


def _rules(domain: Domain) -> dict[str, int]:
    """Which tables are compared: their bound, and how many of three columns are drawn of all."""
    return {
        "cell_bound": CELL_BOUND,
        "triples": TRIPLES,
        "triples_of": comb(len(domain.names), 3),
        "seed": SEED,
    }


def _explanations() -> dict[str, object]:
    """How every figure is read, and the page."""
    of_figures = {key: text for figure in FIGURES for key, text in figure.explanations.items()}
    return {**of_figures, **wording.PAGE_EXPLANATIONS}


def _workload(domain: Domain) -> Iterator[Clique]:
    names = domain.names
    yield from combinations(names, 1)
    yield from combinations(names, 2)
    total = comb(len(names), 3)
    chosen = (
        # The choice depends on the number of columns alone: a choice by what the table has
        # would need privacy budget.
        set(np.random.default_rng(SEED).choice(total, min(TRIPLES, total), replace=False))
        if total
        else set()
    )
    yield from (
        clique for index, clique in enumerate(combinations(names, 3)) if index in chosen
    )


def _summary(sides: Sides, entries: Mapping[str, list[Json]]) -> Json:
    """The summaries of columns, pairs, triples and dependence; None of those that were not counted."""
    attributes, pairs = entries["attributes"], entries["pairs"]
    summary: Json = {
        "tvd1": summaries.of_columns(attributes) if attributes else None,
        "tvd2": _of_groups(sides, pairs, "pairs of columns"),
        "tvd3": _of_groups(sides, entries["triples"], "triples of columns"),
        "mi_err": None,
    }
    if pairs:
        lost = lost_dependence(
            [sides.dependences(_clique(pair)) for pair in pairs],
            seen=[pair["dependence"]["level"] != "unseen" for pair in pairs],
        )
        parts = [
            (_name(pair), pair["dependence"]["level"], pair["nmi_difference"]) for pair in pairs
        ]
        summary["mi_err"] = {
            "value": float(np.mean([abs(pair["nmi_difference"]) for pair in pairs])),
            "by_chance": None,
            **summaries.of_relations(lost, parts, kind="dependence"),
        }
    return summary


def _of_groups(sides: Sides, entries: list[Json], things: str) -> Json | None:
    if not entries:
        return None
    return summaries.of_distances(
        entries,
        things=things,
        records=(sides.real.n, sides.synthetic.n),
        name=_name,
    )


def _clique(entry: Mapping[str, Any]) -> Clique:
    return tuple(entry["attributes"])


def _name(entry: Mapping[str, Any]) -> str:
    return " × ".join(_clique(entry))


def _worst_first(entries: list[Json]) -> list[Json]:
    """Entries by the level of their verdict, and of one level by the distance that is shown: of values where
    they were compared, else of codes. Those that cannot be judged come right after the damaged ones: they may
    be worse than the rest."""
    order = ("damaged", "unseen", "large", "clear", "small", "same")

    def key(entry: Json) -> tuple[int, float]:
        shown = entry["tvd"] if entry.get("ks") is None else entry["ks"]
        return order.index(entry["verdict"]["level"]), -shown

    return sorted(entries, key=key)


def _left_out(
    domain: Domain, *, wanted: Sequence[Clique], known: Collection[Clique]
) -> list[Json]:
    absent = [clique for clique in wanted if clique not in known]
    return [
        {
            "attributes": list(clique),
            "cells": domain.cells(clique),
            "reason": "more cells than the bound"
            if domain.cells(clique) > CELL_BOUND
            else "not measured",
        }
        for clique in absent
    ]


def _side_by_side(
    domain: Domain,
    rows: SampleRows | None,
) -> Json | None:
    if rows is None or (rows.real is None and rows.synthetic is None):
        return None

    def texts(side: Sequence[Mapping[str, object]] | None) -> list[list[str]]:
        return [
            ["" if row.get(n) is None else str(row[n]) for n in domain.names]
            for row in (side or [])[:MAX_ROWS]
        ]

    return {
        "columns": list(domain.names),
        "real": texts(rows.real),
        "synthetic": texts(rows.synthetic),
    }
