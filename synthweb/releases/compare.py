"""The comparison page: what `releases/compare.html` needs beside the release. Knows no request and no database."""

from __future__ import annotations

from synth_engine.evaluation import report as reports
from synth_engine.evaluation import view


class UnknownReport(ValueError):
    """A stored report of another version: it has to be made again."""


def page(report: dict[str, object]) -> view.Comparison:
    """The cards of a stored report, ready for the template: pass it as `comparison`."""
    if report.get("schema") != reports.SCHEMA:
        raise UnknownReport("the stored comparison is of another version; start it again")
    return view.lay_out(report)
