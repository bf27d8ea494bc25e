"""Attacks on the synthetic table that were tried with real records: lower bounds, never the guarantee.

The room tries them on demand (`trials/attacks.py`); a report without them has no such cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synth_engine.evaluation import style
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_notes_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection
from synth_engine.evaluation.plots import Figure, Report
from synth_engine.evaluation.rate_bars import RateSeries, draw_rates
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Explanation, Json, Level

SECTION = FigureSection("risks", "Risk: attacks that were tried", 80, (("risks", "Risk"),))
LEVELS: dict[str, Level] = {"none": "same", "sign": "clear", "leak": "damaged"}
VERDICTS = {
    "none": "no sign of a leak",
    "sign": "a sign of a leak, which may be chance",
    "leak": "a leak",
}
NEVER_THE_GUARANTEE = (
    "These are lower bounds: what some attacks found with the means of today, never the guarantee. A "
    "better attack may find more; what bounds all attacks is ε and δ on the receipt."
)
ATTACKS = {
    "singling out": "values of three to six columns that hold for one record of the table hold for one "
    "attacked record",
    "linkability": "the same nearest record is found by one half of the columns and by the other",
    "attribute inference": "a value is guessed from the nearest record in all other columns; the worst "
    "column",
    "membership": "the synthetic table has a nearer record than the control; one half is expected",
    "shadow models": "whether an unusual record was in a small table is told from what the method releases "
    "of it; one half is expected",
    "copies of rare records": "a record unlike all others stands in the table as it is",
}


class Risks(ComparisonFigure):
    """Bars of success with the synthetic table, beside the same attack with a table that cannot know the
    attacked records."""

    field = "risks"
    position = 210
    section = SECTION
    explanations = {
        "risks": Explanation(
            title="Success of attacks, beside a control",
            what="A random half of the real records is attacked. The attacker uses the synthetic table, "
            "and for the control as many records of the other half, which cannot know the attacked ones. "
            "Bars have 95 % intervals (Wilson). The risk is the success beyond the control: (synthetic − "
            "control) / (1 − control).",
            how="What an attacker learns about people in general counts in both bars. Only where the orange "
            "bar is longer does the table give away attacked records. " + NEVER_THE_GUARANTEE,
        ),
        "risk_inference": Explanation(
            title="Attribute inference by column",
            what="For each column, how often its value is guessed from the nearest record in all other "
            "columns; a guess within a twentieth of the range of an ordered column is right.",
            how="Columns come by their risk. With many columns one of twenty may show a sign by chance. "
            + NEVER_THE_GUARANTEE,
        ),
    }

    def verdict(self, report: Report) -> str:
        entry = report.get(self.field)
        if not entry:
            return ""
        # Where there are notes alone, their card shows them.
        notes = entry["notes"] if entry.get("attacks") else []
        return " ".join([NEVER_THE_GUARANTEE, *notes])

    def cards(self, report: Report) -> list[Card]:
        entry = report.get(self.field)
        if not entry:
            return []
        if not entry.get("attacks"):
            return [
                make_notes_card(report, "risk-notes", _reading(report, "risks"), entry["notes"])
            ]
        cards = [_attack_card(report, entry)]
        if entry["inference"]:
            cards.append(_inference_card(report, entry))
        return cards


def _attack_card(report: Report, entry: Json) -> Card:
    attacks = entry["attacks"]
    rows = [
        (
            attack["name"] + (f": {attack['column']}" if "column" in attack else ""),
            *_numbers(attack),
            f"{MARKS[LEVELS[attack['level']]]} {VERDICTS[attack['level']]}: {ATTACKS[attack['name']]}.",
        )
        for attack in attacks
    ]
    caption = f"Attacks on {grouped(entry['records']['attacked'])} real records"
    level = _worst(attacks)
    named = [attack["name"] for attack in attacks if attack["level"] == level]
    words = (
        "No attack found more than its control. Lower bounds, never the guarantee."
        if level == "none"
        else f"{VERDICTS[level].capitalize()}: {', '.join(named)}. Lower bounds, never the guarantee."
    )
    made = make_card(
        report,
        "risks",
        _reading(report, "risks"),
        replace(
            make_table(caption, ("Attack", *_HEAD, "What succeeds"), rows, words=True),
            labels=True,
        ),
        words,
        figure=_draw(
            report,
            [attack["name"] for attack in attacks],
            attacks,
            words=words,
            has_names=False,
        ),
    )
    return replace(made, mark=MARKS[LEVELS[level]])


def _inference_card(report: Report, entry: Json) -> Card:
    columns = entry["inference"]
    rows = [
        (
            each["column"],
            *_numbers(each),
            f"{MARKS[LEVELS[each['level']]]} {VERDICTS[each['level']]}.",
        )
        for each in columns
    ]
    worst = columns[0]
    words = (
        f"Highest for {worst['column']}: right in {worst['rates']['synthetic']:.0%} of records, "
        f"{worst['rates']['control']:.0%} with the control. Lower bounds, never the guarantee."
    )
    made = make_card(
        report,
        "risk-inference",
        _reading(report, "risk_inference"),
        make_table("Attribute inference", ("Column", *_HEAD, "Verdict"), rows, words=True),
        words,
        figure=_draw(report, [each["column"] for each in columns], columns, words=words),
    )
    return replace(made, mark=MARKS[LEVELS[_worst(columns)]])


_HEAD = ("Trials", "With the synthetic table", "Control", "Risk", "Risk, 95 %")


def _numbers(attack: Json) -> tuple[str, ...]:
    low, high = attack["risk_interval"]
    return (
        grouped(attack["trials"]["synthetic"]),
        f"{attack['rates']['synthetic']:.1%}",
        f"{attack['rates']['control']:.1%}",
        f"{attack['risk']:.3f}",
        f"{low:.3f} to {high:.3f}",
    )


def _worst(attacks: Sequence[Json]) -> str:
    levels = {attack["level"] for attack in attacks}
    return next(level for level in reversed(VERDICTS) if level in levels)


def _draw(
    report: Report,
    labels: Sequence[str],
    attacks: Sequence[Json],
    *,
    words: str,
    has_names: bool = True,
) -> Figure:
    series = [
        RateSeries(
            name=name,
            colour=colour,
            values=[attack["rates"][side] for attack in attacks],
            intervals=[attack["intervals"][side] for attack in attacks],
        )
        for side, name, colour in (
            ("synthetic", "with the synthetic table", style.SYNTHETIC),
            ("control", "control: other real records", style.REAL),
        )
    ]
    return draw_rates(
        report,
        labels,
        series,
        axis="share of attacks that succeed",
        words=words,
        has_names=has_names,
    )


def _reading(report: Report, key: str) -> Explanation:
    """The texts of a report, or those of today for one that was made before there were any."""
    reading: Explanation = report["reading"].get(key, Risks.explanations[key])
    return reading


FIGURE = Risks()
