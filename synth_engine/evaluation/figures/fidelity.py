"""Fidelity of columns whose values a run learned out of a public set: how much of both tables is on values
that both have.

Source of the figure: Rodriguez and Howe 2018, section 4 (fidelity F).
"""

from __future__ import annotations

from synth_engine.domain import Attribute, Categorical
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.wording import Explanation, FigureVerdict, Json
from synth_engine.kinds.attribute import OTHER
from synth_engine.kinds.facts import PAID_FOR

DIGITS = 9
_STEPS: tuple[tuple[float, FigureVerdict], ...] = (
    (0.9, {"level": "same", "words": "nearly all records have values that were found"}),
    (0.5, {"level": "small", "words": "some records have values that were not found"}),
    (0.0, {"level": "clear", "words": "most records have values that were not found"}),
)


class Fidelity(ComparisonFigure):
    """One table, with a line for each learned column."""

    field = "fidelity"
    position = 85
    section = FigureSection("fidelity", "Learned values", 31, (("fidelity", "Learned values"),))
    explanations = {
        "fidelity": Explanation(
            title="Fidelity of learned values",
            what="For each column whose values were found with budget in a public set: the share of real "
            "records whose value is also in the synthetic table, the share of synthetic records whose "
            "value is also in the real one, and F, their product. “Other” and missing are in neither share.",
            how="1 means that both tables have the same values, 0 that they have none in common. The first "
            "share falls where values are too rare to be found, the second where values came out that "
            "nobody has, which a larger ρ makes less likely.",
        )
    }

    def entry(self, sides: Sides) -> list[Json] | None:
        entries = [
            _entry(attribute, sides) for attribute in sides.columns if _is_learned(attribute)
        ]
        return sorted(entries, key=lambda entry: entry["fidelity"]) or None

    def cards(self, report: Report) -> list[Card]:
        entries = report.get(self.field)
        if not entries:
            return []
        rows = [
            (
                entry["name"],
                f"{entry['found']:.2%}",
                f"{entry['occurring']:.2%}",
                f"{entry['fidelity']:.3f}",
                f"{MARKS[entry['verdict']['level']]} {entry['verdict']['words']}",
            )
            for entry in entries
        ]
        reading = report["reading"][self.field]
        head = ("Column", "Real records found", "Synthetic records that occur", "F", "Verdict")
        table = make_table("Fidelity, the lowest first", head, rows, words=True)
        line = f"Lowest: {entries[0]['name']}, F {entries[0]['fidelity']:.3f}"
        return [make_card(report, self.field, reading, table, line, figure=None)]


def _is_learned(attribute: Attribute) -> bool:
    return isinstance(attribute, Categorical) and attribute.facts["values"] in PAID_FOR


def _entry(attribute: Attribute, sides: Sides) -> Json:
    clique = (attribute.name,)
    real, synthetic = sides.real[clique].dense(), sides.synthetic[clique].dense()
    # Codes of values come first; "other" and missing are no values.
    listed = [code for code, label in enumerate(attribute.value_labels) if label != OTHER]
    common = [code for code in listed if real[code] > 0 and synthetic[code] > 0]
    recovered, occurring = (
        float(counts[common].sum() / max(1, counts.sum())) for counts in (real, synthetic)
    )
    value = recovered * occurring
    verdict = next(verdict for least, verdict in _STEPS if value >= least)
    return {
        "name": attribute.name,
        "found": round(recovered, DIGITS),
        "occurring": round(occurring, DIGITS),
        "fidelity": round(value, DIGITS),
        "verdict": verdict,
    }


FIGURE = Fidelity()
