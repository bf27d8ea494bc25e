"""Cards of the comparison of uncoded values: a histogram with its measures, and one table of all columns."""

from __future__ import annotations

from dataclasses import replace

from synth_engine.evaluation.cards import MARKS, Card, CardTable, make_card, make_table
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.value_histograms import draw_histogram, tails
from synth_engine.evaluation.wording import Json, per_hundred

_HEADS = {
    "median": "Median",
    "mean": "Mean",
    "standard_deviation": "Standard deviation",
    "quantile_1": "1 % quantile",
    "quantile_5": "5 % quantile",
    "quantile_95": "95 % quantile",
    "quantile_99": "99 % quantile",
}
# Eight columns have to fit beside another card.
_SHORT_HEADS = ("Median", "Mean", "Std. dev.", "1 %", "5 %", "95 %", "99 %")
_SIDES = ("real", "synthetic")


def by_column(report: Report) -> dict[str, Json]:
    """The entries of `values` that have a histogram, by column."""
    return {
        entry["name"]: entry for entry in report.get("values") or () if entry.get("histogram")
    }


def notes(report: Report) -> dict[str, str]:
    """What was counted of the cells of columns without a scale, in a sentence by column."""
    return {entry["name"]: _note(entry) for entry in _listed(report)}


def _listed(report: Report) -> list[Json]:
    """The entries of categories, texts and identifiers."""
    return [entry for entry in report.get("values") or () if "measures" not in entry]


def _note(entry: Json) -> str:
    distinct = entry["distinct"]
    words = f"Different values: {_count(distinct['real'])} real, {_count(distinct['synthetic'])} synthetic."
    if entry["invented"]:
        words += f" {per_hundred(entry['invented'])} of 100 synthetic values do not occur in the real table."
    return words


def listed_card(report: Report) -> Card | None:
    """One table of all categories, texts and identifiers; None without any."""
    if not (entries := _listed(report)):
        return None
    rows = [
        (
            entry["name"],
            entry["kind"],
            *(_count(entry["distinct"][side]) for side in _SIDES),
            f"{entry['outside']['real']:.2%}",
            "–" if entry["invented"] is None else f"{entry['invented']:.2%}",
            f"{entry['missing']['real']:.2%}",
            f"{entry['missing']['synthetic']:.2%}",
        )
        for entry in entries
    ]
    head = (
        "Column",
        "Kind",
        "Real values",
        "Synthetic values",
        "Not declared",
        "Invented",
        "Missing, real",
        "Missing, synthetic",
    )
    table = make_table("Columns without a scale, real and synthetic", head, rows, names=2)
    most = max(entries, key=lambda entry: entry["invented"] or 0.0)
    verdict = (
        (
            f"Of {most['name']}, {per_hundred(most['invented'])} of 100 synthetic values do not occur in "
            "the real table."
        )
        if most["invented"]
        else "All synthetic values that were compared occur in the real table."
    )
    reading = report["reading"]["listed"]
    return make_card(report, "listed", reading, table, verdict, figure=None)


def column_card(report: Report, key: str, attribute: Json, entry: Json) -> Card:
    """The card of one column. attribute: its entry of `attributes`, whose verdict counts; entry: that of
    `values`."""
    verdict = attribute["verdict"]
    judged = {**entry, "verdict": verdict}
    made = make_card(
        report,
        key,
        {**report["reading"]["value"], "title": entry["name"]},
        _details(entry),
        verdict["words"],
        figure=draw_histogram(report, judged),
    )
    return replace(
        made,
        mark=MARKS[verdict["level"]],
        measures=_measures(entry),
        note=tails(entry["histogram"]),
    )


def _measures(entry: Json) -> CardTable:
    """Both sides in two lines."""
    rows = [
        (side.capitalize(), *(entry["texts"][name][side] for name in _HEADS)) for side in _SIDES
    ]
    table = make_table(f"Values of {entry['name']}", ("", *_SHORT_HEADS), rows)
    return replace(table, labels=True)


def _details(entry: Json) -> CardTable:
    """Every measure in a line of its own, and the most frequent values."""
    rows: list[tuple[str, ...]] = [
        (head, *(entry["texts"][name][side] for side in _SIDES))
        for name, head in _HEADS.items()
    ]
    for name, head in (
        ("missing", "Missing"),
        ("unreadable", "Cannot be read as described"),
        ("outside", "Beyond the declared bounds"),
    ):
        rows.append((head, *(f"{entry[name][side]:.2%}" for side in _SIDES)))
    rows.append(("Different values", *(_count(entry["distinct"][side]) for side in _SIDES)))
    gap = "–" if entry["ks"] is None else f"{entry['ks']:.4f}"
    rows.append(("Largest gap (Kolmogorov)", "", gap))
    rows.append(("The same by chance", "", f"{entry['ks_by_chance']:.4f}"))
    rows.append(("Average move (earth mover)", "", entry["texts"]["earth_mover"]))
    invented = "–" if entry["invented"] is None else f"{entry['invented']:.2%}"
    rows.append(("Values that are not in the real table", "", invented))
    rows += [
        (f"Records with {top['text']}", *(f"{top[side]:.2%}" for side in _SIDES))
        for top in entry["top"]
    ]
    caption = f"All measures of {entry['name']}"
    return replace(make_table(caption, ("", "Real", "Synthetic"), rows), labels=True)


def overview_card(report: Report) -> Card | None:
    """One table of all columns of numbers, days or times, two lines each; None without any."""
    entries = [entry for entry in report.get("values") or () if "measures" in entry]
    if not entries:
        return None
    rows = [
        (
            entry["name"],
            side,
            *(entry["texts"][name][side] for name in _HEADS),
            f"{entry['missing'][side]:.2%}",
        )
        for entry in entries
        for side in _SIDES
    ]
    head = ("Column", "Table", *_HEADS.values(), "Missing")
    table = make_table("Columns of values, real and synthetic", head, rows, names=2)
    reading = report["reading"]["values"]
    return make_card(report, "numbers", reading, table, _widest_gap(entries), figure=None)


def _widest_gap(entries: list[Json]) -> str:
    known = [entry for entry in entries if entry["ks"] is not None]
    if not known:
        return "No values can be compared."
    worst = max(known, key=lambda entry: float(entry["ks"]))
    return (
        f"The values of {worst['name']} differ most: up to {worst['ks']:.1%} of the records are apart; "
        f"median {worst['texts']['median']['real']} real, {worst['texts']['median']['synthetic']} synthetic."
    )


def _count(value: int | None) -> str:
    return "more than a million" if value is None else grouped(value)
