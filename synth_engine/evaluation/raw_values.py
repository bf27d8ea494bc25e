"""Compare the values of single columns as they are written: neither moved to a bound nor put in a bin.

A comparison of codes cannot see what a description destroyed, because it destroyed it on both sides. Here a
column whose values did not survive is called damaged, with the reason and the repair. Definitions in
docs/comparison.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import Fit, RawColumn
from synth_engine.codec.ladder_cells import is_on_ladder
from synth_engine.codec.value_counts import NumberCounts
from synth_engine.domain import Attribute, Integer, ScaleBins
from synth_engine.evaluation import wording
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.scale_text import (
    is_learnable,
    is_moment,
    span_text,
    span_unit,
    text_of,
)
from synth_engine.evaluation.value_distances import (
    ValueDistances,
    chance_gap,
    gap_at,
    gap_within,
    value_distances,
)
from synth_engine.evaluation.value_findings import FEW_VALUES, findings
from synth_engine.evaluation.value_histograms import value_histogram
from synth_engine.evaluation.wording import FigureVerdict, Json, Level, per_hundred
from synth_engine.kinds.attribute import OTHER

Floats = NDArray[np.float64]

DIGITS = 9
MAX_LOST_SHARE = 0.02
"""Share of real cells that may be unreadable, or outside what is declared."""
MAX_BIN_SHARE = 0.5
"""Share of real values that may lie in one bin within which the values differ."""
MAX_GAP = wording.VALUE_STEPS[-1][0]
"""Kolmogorov distance, beyond chance, from which on a column is damaged."""
MEDIAN_TOLERANCE = 0.05
"""Share of the real median by which the synthetic one may differ; days and times have no zero, hence no such
share."""
SPREAD_TOLERANCE = 0.01
"""Share of the real interquartile range by which the medians may differ."""
MAX_OTHER_GAP = 0.5
"""Share of real values by which "other" may exceed that of the synthetic table."""
MAX_INVENTED_SHARE = 0.1
"""Share of synthetic values of a column of codes that may not occur in the real table."""
MIN_RECORDS_PER_CODE = 10
"""Real records for each different value, from which on numbers of one length are taken for codes."""
TOP_VALUES = 5
QUANTILES = {
    "quantile_1": 0.01,
    "quantile_5": 0.05,
    "median": 0.5,
    "quantile_95": 0.95,
    "quantile_99": 0.99,
}
MEASURES = ("mean", "standard_deviation", *QUANTILES)


def compare_column(attribute: Attribute, real: RawColumn, synthetic: RawColumn) -> Json:
    """Compare one column. The entry has a `verdict`, which is null where the values give no reason for
    one."""
    entry = {
        "name": attribute.name,
        "kind": attribute.kind,
        "records": {"real": real.records, "synthetic": synthetic.records},
        "missing": _by_side(real, synthetic, lambda side: side.missing),
        "unreadable": _by_side(
            real, synthetic, lambda side: side.fit.unreadable if side.fit else 0
        ),
        "outside": _by_side(real, synthetic, lambda side: side.fit.outside if side.fit else 0),
        "unread": _by_side(real, synthetic, lambda side: side.unread),
    }
    if real.numbers is not None and synthetic.numbers is not None:
        return entry | _compare_numbers(attribute, real, real.numbers, synthetic.numbers)
    return entry | _compare_texts(attribute, real, synthetic)


def _by_side(real: RawColumn, synthetic: RawColumn, count: Callable[[RawColumn], int]) -> Json:
    """A share of all cells, by side."""
    return {
        side: round(count(raw) / raw.records, DIGITS) if raw.records else 0.0
        for side, raw in (("real", real), ("synthetic", synthetic))
    }


def _compare_texts(attribute: Attribute, real: RawColumn, synthetic: RawColumn) -> Json:
    texts, made = real.texts, synthetic.texts
    reasons = _lost_reasons(attribute, real) + _other_reasons(real, synthetic)
    verdict = wording.damage_verdict(reasons) if reasons else None
    other = 0.0
    if texts is not None and made is not None:
        verdict = verdict or _emptied(int(texts.counts.sum()), int(made.counts.sum()))
        # The real table may have this text as well; what is more than that was put in its place.
        other = max(0.0, made.share_of(OTHER) - texts.share_of(OTHER))
        if verdict is None and other > wording.DISTANCE_STEPS[0][0]:
            verdict = wording.other_verdict(other)
    return {
        "distinct": {
            "real": texts.distinct if texts else None,
            "synthetic": made.distinct if made else None,
        },
        "invented": None if texts is None or made is None else made.invented(texts),
        "other": round(other, DIGITS),
        "verdict": verdict,
    }


def _emptied(real: int, synthetic: int) -> FigureVerdict | None:
    """The verdict on a column of which one side alone has values; None for others. real, synthetic: cells
    with a value."""
    if bool(real) == bool(synthetic):
        return None
    return wording.LOST if real else wording.MADE_UP


def _compare_numbers(
    attribute: Attribute,
    raw: RawColumn,
    real: NumberCounts,
    synthetic: NumberCounts,
) -> Json:
    both = bool(real.total and synthetic.total)
    distances = value_distances(real, synthetic) if both else None
    invented = _invented(real, synthetic)
    widest = _fullest_bin(attribute, real, synthetic)
    entry: Json = {
        "measures": {
            name: {
                "real": _measure(attribute, name, real),
                "synthetic": _measure(attribute, name, synthetic),
            }
            for name in MEASURES
        },
        "ks": None if distances is None else round(distances.kolmogorov, DIGITS),
        "ks_by_chance": round(chance_gap(real.total, synthetic.total), DIGITS),
        "earth_mover": None if distances is None else round(distances.earth_mover, DIGITS),
        "unit": span_unit(attribute),
        "distinct": {
            "real": len(real.values) if real.exact else None,
            "synthetic": len(synthetic.values) if synthetic.exact else None,
        },
        "invented": None if invented is None else round(invented, DIGITS),
        "top": _top(attribute, real, synthetic),
        "fullest_bin": widest,
        "histogram": value_histogram(attribute, real, synthetic, step=attribute.value_step)
        if both
        else None,
    }
    entry["texts"] = _texts(attribute, real, synthetic, distances)
    reasons = [
        *_lost_reasons(attribute, raw),
        # Learned bins are as fine as the noise allows: nobody declared them.
        *([] if isinstance(attribute, ScaleBins) else _bin_reasons(attribute, widest)),
        *_code_reasons(attribute, raw, real, invented),
    ]
    entry["verdict"] = _verdict(attribute, real, synthetic, distances, reasons)
    return entry


def _measure(attribute: Attribute, name: str, side: NumberCounts) -> float | str | None:
    """A measure of one side: a number, or a day or time as text; None without any value."""
    if not side.total:
        return None
    if name == "standard_deviation":
        return round(side.standard_deviation, DIGITS)
    value = side.mean if name == "mean" else side.quantile(QUANTILES[name])
    if is_moment(attribute):
        return text_of(attribute, value)
    return round(value, DIGITS)


def _texts(
    attribute: Attribute,
    real: NumberCounts,
    synthetic: NumberCounts,
    distances: ValueDistances | None,
) -> Json:
    """The measures as people write them, with the unit of distances."""
    texts: Json = {}
    for name in MEASURES:
        texts[name] = {}
        for key, side in (("real", real), ("synthetic", synthetic)):
            if not side.total:
                texts[name][key] = "–"
            elif name == "standard_deviation":
                texts[name][key] = span_text(attribute, side.standard_deviation)
            else:
                value = side.mean if name == "mean" else side.quantile(QUANTILES[name])
                texts[name][key] = text_of(attribute, value)
    texts["earth_mover"] = (
        "–" if distances is None else span_text(attribute, distances.earth_mover)
    )
    return texts


def _invented(real: NumberCounts, synthetic: NumberCounts) -> float | None:
    """The share of synthetic values that do not occur in the real table; None where it was not counted
    exactly."""
    if not synthetic.total or not (real.exact and synthetic.exact):
        return None
    new = ~np.isin(synthetic.values, real.values, assume_unique=True)
    return float(synthetic.counts[new].sum() / synthetic.total)


def _top(attribute: Attribute, real: NumberCounts, synthetic: NumberCounts) -> list[Json]:
    """The values that most records of either side have, with their shares in both; a value of one record is
    no spike."""
    candidates = np.unique(
        np.concatenate(
            [
                side.values[np.argsort(-side.counts, kind="stable")[:TOP_VALUES]]
                for side in (real, synthetic)
            ]
        )
    )
    shares = [_shares_of(candidates, side) for side in (real, synthetic)]
    repeated = np.maximum(shares[0] * real.total, shares[1] * synthetic.total) >= 2
    order = np.argsort(-np.maximum(*shares), kind="stable")
    return [
        {
            "value": _measure_of(attribute, candidates[index]),
            "text": text_of(attribute, candidates[index]),
            "real": round(float(shares[0][index]), DIGITS),
            "synthetic": round(float(shares[1][index]), DIGITS),
        }
        for index in order.tolist()
        if repeated[index]
    ][:TOP_VALUES]


def _measure_of(attribute: Attribute, value: float) -> float | str:
    if is_moment(attribute):
        return text_of(attribute, value)
    return float(value)


def _shares_of(values: Floats, side: NumberCounts) -> Floats:
    """The share of records that have each value. values: shape (k,)."""
    if not side.total:
        return np.zeros(len(values))
    places = np.minimum(np.searchsorted(side.values, values), len(side.values) - 1)
    counts = np.where(side.values[places] == values, side.counts[places], 0)
    shares: Floats = counts / side.total
    return shares


def _fullest_bin(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts
) -> Json | None:
    """The bin that holds most real values: its label, their share, and the distance of the values within;
    None where no real value is within the bounds, or there are no bins."""
    if not (real.total and attribute.is_comparable):
        return None
    first, last = attribute.bin_spans()
    ends = np.append(first[1:], np.nextafter(last[-1], np.inf))
    shares = real.below(ends, inclusive=False) - real.below(first, inclusive=False)
    fullest = int(np.argmax(shares))
    if shares[fullest] <= 0:
        return None
    start, end = float(first[fullest]), float(ends[fullest])
    gap, chance = gap_within(start, end, real, synthetic)
    inside = slice(*np.searchsorted(real.values, (start, end)))
    counts = real.counts[inside]
    spike = int(np.argmax(counts))
    return {
        "label": attribute.value_labels[fullest],
        "share": round(float(shares[fullest]), DIGITS),
        "ks": round(gap, DIGITS),
        "ks_by_chance": round(chance, DIGITS),
        "spike": text_of(attribute, float(real.values[inside][spike])),
        "spike_share": round(float(counts[spike] / real.total), DIGITS),
    }


def _lost_reasons(attribute: Attribute, raw: RawColumn) -> list[str]:
    """Why cells of a real column are lost: they cannot be read, or are outside what is declared."""
    fit = raw.fit
    if fit is None or not fit.cells:
        return []
    reasons = []
    if fit.unreadable > MAX_LOST_SHARE * fit.cells:
        reasons.append(
            f"{per_hundred(fit.unreadable / fit.cells)} of 100 real values cannot be read as "
            f"{attribute.reader.cell_words}, so {reading_repair(raw, fit)}"
        )
    if fit.outside > MAX_LOST_SHARE * fit.cells:
        share = per_hundred(fit.outside / fit.cells)
        reasons.append(
            f"{share} of 100 real values are beyond the declared bounds and {_fate(attribute)}, so widen "
            "the bounds by a public source or learn them privately"
            if is_on_ladder(attribute)
            else f"{share} of 100 real values are not among the declared values and {_fate(attribute)}, so "
            "add them from a "
            'public source or declare "other"'
        )
    return reasons


def _other_reasons(real: RawColumn, synthetic: RawColumn) -> list[str]:
    """Why most real values have no place: they are "other", though they were values when the release was
    made."""
    shares = [side.other / max(side.records - side.missing, 1) for side in (real, synthetic)]
    if shares[0] - shares[1] <= MAX_OTHER_GAP:
        return []
    return [
        f"{per_hundred(shares[0])} of 100 real values are none of the listed ones and count as other, of "
        f"the synthetic ones {per_hundred(shares[1])}: the table spells them in another way than the one of "
        "the release, so compare with that one, or declare the column by a set that knows these spellings"
    ]


def _fate(attribute: Attribute) -> str:
    if attribute.outside == "missing":
        return "became missing"
    return "were moved to a bound" if is_on_ladder(attribute) else "became the first value"


def reading_repair(raw: RawColumn, fit: Fit) -> str:
    read = fit.unreadable - raw.unread
    if not raw.notations or read < MAX_BIN_SHARE * fit.unreadable:
        return "declare the markers of missing values, or how the values are written"
    how = "reads all of them" if not raw.unread else "reads most of them"
    if len(raw.notations) > 1:
        return f"declare {' or '.join(raw.notations)}: each {how}"
    return f"declare {raw.notations[0]}: that {how}"


def _bin_reasons(attribute: Attribute, fullest: Json | None) -> list[str]:
    """Why one bin is too wide: most values lie in it, and the synthetic ones lie elsewhere in it."""
    if fullest is None or fullest["share"] <= MAX_BIN_SHARE:
        return []
    if fullest["ks"] - fullest["ks_by_chance"] <= MAX_GAP:
        return []
    repair = (
        f"give {fullest['spike']} a bin of its own"
        if fullest["spike_share"] > MAX_BIN_SHARE * fullest["share"]
        else "describe the column in finer bins there"
    ) + _without_bins(attribute)
    return [
        f"{per_hundred(fullest['share'])} of 100 real values lie in the one bin {fullest['label']}, where "
        f"the synthetic values are {wording.up_to(fullest['ks'])} of 100 apart from them, so {repair}"
    ]


def _without_bins(attribute: Attribute) -> str:
    """The other repair of wide bins, for kinds whose resolution can be learned."""
    return ", or declare none and let them be learned" if is_learnable(attribute) else ""


def _code_reasons(
    attribute: Attribute, raw: RawColumn, real: NumberCounts, invented: float | None
) -> list[str]:
    """Why numbers are codes: they have leading zeros, or a fixed length and gaps that are filled with
    invented values."""
    repair = "so describe the column as categories"
    if raw.leading_zeros > MAX_LOST_SHARE * max(raw.records, 1):
        share = per_hundred(raw.leading_zeros / raw.records)
        return [f"{share} of 100 real values begin with zeros, which numbers lose, {repair}"]
    if invented is None or raw.digits is None or not isinstance(attribute.reader, Integer):
        return []
    # What a second sample of the same people would add: the share of values that occur once (Good and
    # Turing).
    unseen = float((real.counts == 1).sum() / real.total) if real.total else 0.0
    few = real.total >= MIN_RECORDS_PER_CODE * len(real.values)
    if not few or invented - unseen <= MAX_INVENTED_SHARE:
        return []
    return [
        f"{per_hundred(invented)} of 100 synthetic values do not occur in the real table, whose "
        f"{len(real.values)} values of {raw.digits} digits look like codes, {repair}"
    ]


def _verdict(
    attribute: Attribute,
    real: NumberCounts,
    synthetic: NumberCounts,
    distances: ValueDistances | None,
    reasons: list[str],
) -> FigureVerdict | None:
    if reasons:
        return wording.damage_verdict(reasons)
    if distances is None:
        return _emptied(real.total, synthetic.total)
    chance = chance_gap(real.total, synthetic.total)
    if distances.kolmogorov - chance > MAX_GAP:
        return _gap_verdict(attribute, real, synthetic, distances)
    others = findings(attribute, real, synthetic)
    return wording.value_verdict(
        distances.kolmogorov,
        chance=chance,
        levels=[
            _median_level(attribute, real, synthetic, chance=chance),
            *(finding.level for finding in others),
        ],
        parts=[
            _medians(attribute, real, synthetic),
            *(finding.words for finding in others),
        ],
    )


def _gap_verdict(
    attribute: Attribute,
    real: NumberCounts,
    synthetic: NumberCounts,
    distances: ValueDistances,
) -> FigureVerdict:
    """The verdict on values that are far apart without another reason: bins hide it, or noise did it."""
    gap = distances.kolmogorov
    statement = (
        f"the values are {wording.up_to(gap)} of 100 records apart "
        f"({_medians(attribute, real, synthetic)})"
    )
    declared = attribute.is_comparable and not isinstance(attribute, ScaleBins)
    if declared and gap_at(attribute.bin_spans()[0], real, synthetic) < gap / 2:
        return wording.damage_verdict(
            [
                (
                    f"{statement}, most of it inside bins, so describe the column in finer bins where its "
                    "values are"
                )
                + _without_bins(attribute)
            ]
        )
    return wording.damage_verdict(
        [f"{statement}, so use fewer bins or columns, or a larger ε"], by_noise=True
    )


def median_tolerance(attribute: Attribute, real: NumberCounts) -> float:
    """By how much the medians may differ: 5 % of the real one, a declared step, or 1 % of the interquartile
    range, whichever is most."""
    spread = real.quantile(0.75) - real.quantile(0.25)
    tolerance = max(attribute.value_step, SPREAD_TOLERANCE * spread)
    if is_moment(attribute):
        return tolerance
    return max(tolerance, MEDIAN_TOLERANCE * abs(real.quantile(0.5)))


def _median_level(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts, *, chance: float
) -> Level:
    """The level that the medians alone give: never "same" beyond the tolerance, and "small" where chance may
    be the reason."""
    tolerance = median_tolerance(attribute, real)
    median = synthetic.quantile(0.5)
    if abs(median - real.quantile(0.5)) <= tolerance:
        return "same"
    low, high = (real.quantile(0.5 + shift) for shift in (-chance, chance))
    return "small" if low - tolerance <= median <= high + tolerance else "clear"


def _medians(attribute: Attribute, real: NumberCounts, synthetic: NumberCounts) -> str:
    texts = [text_of(attribute, side.quantile(0.5)) for side in (real, synthetic)]
    return f"median {texts[0]} real, {texts[1]} synthetic"


def column_verdict(coded: FigureVerdict, entry: Json, *, few_codes: bool) -> FigureVerdict:
    """The verdict on a column whose values were compared.

    coded: that of its codes. It counts for a column without a scale, and where there are few codes or few
    real values: with many of them two tables differ in almost every cell, and how far their values are apart
    is what matters. few_codes: whether the column has few codes."""
    values: FigureVerdict | None = entry["verdict"]
    if values is None:
        return coded
    if "measures" not in entry:
        return wording.worse(values, coded)
    distinct = entry["distinct"]["real"]
    if few_codes or (distinct is not None and distinct <= FEW_VALUES):
        return wording.worse(values, coded)
    return wording.worse(values, _missing(entry))


def _missing(entry: Json) -> FigureVerdict:
    """The verdict on missing cells. Real cells that do not fit may be written as missing ones, and are no
    difference."""
    real, synthetic = (entry["missing"][side] for side in ("real", "synthetic"))
    also = entry["unreadable"]["real"] + entry["outside"]["real"]
    near = min(max(synthetic, real), real + also)
    pooled = (near + synthetic) / 2
    records = entry["records"]
    error = math.sqrt(
        pooled * (1 - pooled) * sum(1 / max(each, 1) for each in records.values())
    )
    return wording.missing_verdict(near, synthetic, chance=error)


def damaged_columns(report: Report) -> list[str]:
    """The names of the damaged columns of a report, in its order."""
    return [
        entry["name"]
        for entry in report["attributes"]
        if entry["verdict"]["level"] == "damaged"
    ]
