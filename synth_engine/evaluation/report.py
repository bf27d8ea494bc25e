"""The comparison of a synthetic table with the real one, from tallies of both, as one JSON document.

Definitions in docs/comparison.md. A report on real data is *not* differentially private and says so in itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from synth_engine.codec import Fit
from synth_engine.domain import Attribute, Domain, Integer, Number
from synth_engine.evaluation import (
    blind_spots,
    commute_entries,
    constraint_violations,
    distance_distribution,
    group_sizes,
    string_recall,
    trees,
    wording,
)
from synth_engine.evaluation.distances import (
    chance_distance,
    normalised_mutual_information,
    shares,
    total_variation,
)
from synth_engine.evaluation.tallies import Clique, Tallies, align

SCHEMA = "synth_engine/report/1"
CELL_BOUND = 5_000_000  # a larger table is left out, and the report says which
TRIPLES = 200
SEED = 0
ROWS_SHOWN = 20
DIGITS = 9

Report = dict[str, Any]


def cliques(domain: Domain) -> list[Clique]:
    """The tables a report asks for: every column, every pair, and all triples or 200 of them drawn by a fixed seed;
    less those of more than `CELL_BOUND` cells. A public list: it depends on the domain alone."""
    return [clique for clique in _workload(domain) if domain.cells(clique) <= CELL_BOUND]


def compare(
    real: Tallies,
    synthetic: Tallies,
    domain: Domain,
    *,
    rows_real: Sequence[Mapping[str, object]] | None = None,
    rows_synthetic: Sequence[Mapping[str, object]] | None = None,
    unenforced: Sequence[int] = (),
    fits: Mapping[str, Fit] | None = None,
) -> Report:
    """The report. Tables that one side lacks are left out, so that noisy answers, which are never complete, can stand
    for the real side: with `private` tallies on both sides the report is private as well. Rows are shown as given, the
    first 20 of each, and only beside tallies that are not private. `unenforced`: as `Tallies.breaking`, of the same
    synthetic table without its constraints enforced. `fits`: how the cells of each real column fit its description, exact
    counts, for a report that is not private; a column of which many cells do not fit is not judged as kept."""
    private = real.private and synthetic.private
    if (rows_real or fits) and real.private:
        raise ValueError("real rows do not belong in a private report")
    asked = list(_workload(domain))
    known = [clique for clique in asked if clique in real and clique in synthetic]
    columns = [domain.attribute(clique[0]) for clique in known if len(clique) == 1]
    limits = {
        each.name: blind_spots.limits(each, real, (fits or {}).get(each.name))
        for each in columns
    }
    attributes = [
        _attribute(each, real, synthetic, limits=limits[each.name]) for each in columns
    ]
    hidden = {name for name, found in limits.items() if found}
    pairs = [
        _pair(clique, real, synthetic, hidden=hidden) for clique in known if len(clique) == 2
    ]
    triples = [
        _distance(clique, real, synthetic, hidden=hidden)
        for clique in known
        if len(clique) == 3
    ]
    return {
        "schema": SCHEMA,
        "private": private,
        "notice": wording.PRIVATE if private else wording.NOT_PRIVATE,
        "domain_sha256": domain.digest,
        "columns": list(domain.names),
        "rows": {"real": real.n, "synthetic": synthetic.n},
        "summary": _summary(attributes, pairs, triples),
        "attributes": _worst_first(attributes),
        "pairs": _worst_first(pairs),
        "triples": _worst_first(triples),
        "place_distances": [
            *distance_distribution.entries(real, synthetic, domain),
            *commute_entries.curves(real, synthetic, domain),
        ],
        "commutes": commute_entries.entries(real, synthetic, domain),
        "cells": trees.entries(real.occupied, synthetic.occupied, domain),
        "texts": string_recall.entries(real.occupied, synthetic.occupied),
        "group_sizes": group_sizes.entry(real, synthetic),
        "constraints": constraint_violations.entries(
            real, synthetic, domain, unenforced=unenforced
        ),
        "left_out": _left_out(domain, asked=asked, known=set(known)),
        "rules": {
            "cell_bound": CELL_BOUND,
            "triples": TRIPLES,
            "triples_of": comb(len(domain.names), 3),
            "seed": SEED,
        },
        "side_by_side": _side_by_side(domain, rows_real, rows_synthetic),
        "reading": wording.READINGS,
    }


def _workload(domain: Domain) -> Iterator[Clique]:
    names = domain.names
    yield from combinations(names, 1)
    yield from combinations(names, 2)
    total = comb(len(names), 3)
    chosen = (
        set(np.random.default_rng(SEED).choice(total, min(TRIPLES, total), replace=False))
        if total
        else set()
    )
    yield from (
        clique for place, clique in enumerate(combinations(names, 3)) if place in chosen
    )


def _distance(
    clique: Clique, real: Tallies, synthetic: Tallies, *, hidden: Collection[str] = ()
) -> dict[str, Any]:
    """`hidden`: columns that the comparison cannot see inside of; what is small of them may not be called kept."""
    first, second = align(real[clique], synthetic[clique])
    value, chance = (
        total_variation(shares(first), shares(second)),
        chance_distance(first, second),
    )
    verdict = wording.distance_verdict(value, chance=chance)
    return {
        "attributes": list(clique),
        "cells": real[clique].size,
        "tvd": value,
        "tvd_by_chance": chance,
        "verdict": blind_spots.group_verdict(
            verdict, [name for name in clique if name in hidden]
        ),
    }


def _pair(
    clique: Clique, real: Tallies, synthetic: Tallies, *, hidden: Collection[str]
) -> dict[str, Any]:
    before = normalised_mutual_information(real[clique].dense())
    after = normalised_mutual_information(synthetic[clique].dense())
    return {
        **_distance(clique, real, synthetic, hidden=hidden),
        "nmi_real": before,
        "nmi_synthetic": after,
        "nmi_difference": after - before,
        "dependence": blind_spots.group_verdict(
            wording.dependence_verdict(real=before, synthetic=after),
            [name for name in clique if name in hidden],
        ),
    }


def _attribute(
    attribute: Attribute, real: Tallies, synthetic: Tallies, *, limits: Sequence[str]
) -> dict[str, Any]:
    clique = (attribute.name,)
    counts = {"real": real[clique].dense(), "synthetic": synthetic[clique].dense()}
    share = {side: np.round(shares(table), DIGITS) for side, table in counts.items()}
    gap = int(np.argmax(np.abs(share["real"] - share["synthetic"])))
    missing = attribute.missing_code
    distance = _distance(clique, real, synthetic)
    distance["verdict"] = blind_spots.column_verdict(distance["verdict"], limits)
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "ordered": attribute.ordered,
        "labels": list(attribute.labels),
        "cuts": list(attribute.cuts) if isinstance(attribute, Integer | Number) else None,
        "counts": {side: table.tolist() for side, table in counts.items()},
        "shares": {side: values.tolist() for side, values in share.items()},
        **{k: v for k, v in distance.items() if k != "attributes"},
        "limits": list(limits),
        "largest_gap": {
            "label": attribute.labels[gap],
            **{side: float(v[gap]) for side, v in share.items()},
        },
        "missing": None
        if missing is None
        else {side: float(v[missing]) for side, v in share.items()},
    }


def _summary(
    attributes: list[dict[str, Any]], pairs: list[dict[str, Any]], triples: list[dict[str, Any]]
) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    for name, entries in (("tvd1", attributes), ("tvd2", pairs), ("tvd3", triples)):
        if entries:
            value, chance = _mean(entries, "tvd"), _mean(entries, "tvd_by_chance")
            verdict = blind_spots.mean_verdict(
                wording.distance_verdict(value, chance=chance), entries
            )
            summary[name] = {
                "value": value,
                "by_chance": chance,
                "of": len(entries),
                "verdict": verdict,
            }
        else:
            summary[name] = None
    summary["mi_err"] = None
    if pairs:
        value = float(np.mean([abs(pair["nmi_difference"]) for pair in pairs]))
        verdict = blind_spots.mean_verdict(wording.mean_dependence_verdict(value), pairs)
        summary["mi_err"] = {
            "value": value,
            "by_chance": None,
            "of": len(pairs),
            "verdict": verdict,
        }
    return summary


def _mean(entries: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([entry[name] for entry in entries]))


def _worst_first(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What cannot be judged comes first: it may be worse than everything else."""
    return sorted(
        entries, key=lambda entry: (entry["verdict"]["level"] != "unseen", -entry["tvd"])
    )


def _left_out(
    domain: Domain, *, asked: list[Clique], known: set[Clique]
) -> list[dict[str, Any]]:
    absent = [clique for clique in asked if clique not in known]
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
    rows_real: Sequence[Mapping[str, object]] | None,
    rows_synthetic: Sequence[Mapping[str, object]] | None,
) -> dict[str, Any] | None:
    if rows_real is None and rows_synthetic is None:
        return None

    def texts(rows: Sequence[Mapping[str, object]] | None) -> list[list[str]]:
        return [
            ["" if row.get(n) is None else str(row[n]) for n in domain.names]
            for row in (rows or [])[:ROWS_SHOWN]
        ]

    return {
        "columns": list(domain.names),
        "real": texts(rows_real),
        "synthetic": texts(rows_synthetic),
    }
