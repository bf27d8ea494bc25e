"""Violations of the declared constraints: real and synthetic, with and without their being
enforced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from synth_engine.evaluation import summaries, wording
from synth_engine.evaluation.cards import Card, make_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides, Tile
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Explanation, FigureVerdict

ANY = "any of these"


class ConstraintEntry(TypedDict):
    sentence: str
    kind: str
    columns: list[str]
    records: dict[str, int | None]  # by side; None where it was not counted
    left_out: NotRequired[str]  # why it is not enforced


class Constraints(ComparisonFigure):
    """A table with one line for each constraint, and, of several, one for records that violate any."""

    field = "constraints"
    position = 100
    section = FigureSection(
        "rules", "Rules for every record", 70, (("constraints", "Constraints"),)
    )
    explanations = {
        "constraints": Explanation(
            title="Constraints",
            what="How many records break each constraint that the description declares: of the real table, "
            "of the synthetic one as the model alone would draw it, and of the synthetic one as it is "
            "drawn.",
            how="The last number is 0 for every constraint. Real records that break one are errors in the "
            "table, or the constraint is not true; they were counted like any other. Many synthetic ones "
            "in the middle mean that the method did not see how these columns go together, and that much "
            "had to be drawn again. Records are judged by the bins that they fall into, so two values of "
            "one bin count as in order. A constraint that leaves no record possible with what the release "
            "learned is left out, and the reason stands beside it.",
        ),
    }

    def tally(self, source: TallySource) -> tuple[int, ...]:
        return source.breaking()

    def entry(self, sides: Sides) -> list[ConstraintEntry]:
        violations = {
            "real": sides.real.figures.get(self.field),
            "unenforced": sides.unenforced,
            "synthetic": sides.synthetic.figures.get(self.field),
        }
        enforcement = sides.domain.enforcement
        unkept: list[ConstraintEntry] = [
            {
                "sentence": each.constraint.sentence,
                "kind": each.constraint.kind,
                "columns": list(each.constraint.columns),
                "records": dict.fromkeys(violations),
                "left_out": each.reason,
            }
            for each in enforcement.left_out
        ]
        if not any(violations.values()):
            return unkept
        labels = [
            (constraint.sentence, constraint.kind, list(constraint.columns))
            for constraint in enforcement.enforced
        ]
        if len(labels) > 1:
            # A record may break several constraints, so the lines do not add up to this one.
            labels.append((ANY, "any", []))
        return unkept + [
            {
                "sentence": sentence,
                "kind": kind,
                "columns": columns,
                # A side that was not counted is None.
                "records": {
                    side: counts[index] if counts else None
                    for side, counts in violations.items()
                },
            }
            for index, (sentence, kind, columns) in enumerate(labels)
        ]

    def tiles(self, report: Report) -> list[Tile]:
        """Broken constraints are a difference; kept ones are said by the section itself."""
        entries = report.get(self.field)
        if not entries or not entries[-1]["records"]["synthetic"]:
            return []
        broken = {side: entries[-1]["records"][side] or 0 for side in ("real", "synthetic")}
        rows = report["rows"]
        excess = broken["synthetic"] / max(rows["synthetic"], 1) - broken["real"] / max(
            rows["real"], 1
        )
        level = summaries.worst(
            ["small", wording.level_of(max(0.0, excess), wording.DISTANCE_STEPS)]
        )
        words: FigureVerdict = {"level": level, "words": verdict(entries)}
        return [Tile.of(self.section.title, grouped(broken["synthetic"]), words)]

    def cards(self, report: Report) -> list[Card]:
        if not (entries := report.get(self.field)):
            return []
        rows = [
            (
                entry["sentence"]
                + (f" (left out: {entry['left_out']})" if "left_out" in entry else ""),
                *(
                    "" if entry["records"][side] is None else grouped(entry["records"][side])
                    for side in ("real", "unenforced", "synthetic")
                ),
            )
            for entry in entries
        ]
        head = ("Constraint", "Real", "Synthetic, not enforced", "Synthetic")
        table = make_table("Records that break them", head, rows)
        reading = report["reading"][self.field]
        return [make_card(report, "constraints", reading, table, verdict(entries), figure=None)]


def verdict(entries: Sequence[ConstraintEntry]) -> str:
    """Sums the violations up in one line."""
    # The last line covers all constraints: it is "any", or the only one.
    if "left_out" in entries[-1]:
        return "No constraint is kept: what was learned leaves no record that could."
    whole = entries[-1]["records"]
    if whole["synthetic"]:
        return "The synthetic table breaks some of the constraints."
    if whole["real"]:
        return "The synthetic table keeps all constraints; some real records do not."
    return (
        "Both tables keep all constraints."
        if whole["real"] == 0
        else "The synthetic table keeps all constraints."
    )


FIGURE = Constraints()
