"""The steward's six steps with one dataset: Upload, Describe, Ask for budget, Release, Share, Compare.

Share comes before Compare: a decision to share that is made after a look at the real table may rest on that
look, and the receipt would say so. Who takes the steps in order gets no such mark.

A pure function of facts, so that the rule "always one next step, and always first" can be tested without a
page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from django.utils.translation import gettext as _

State = Literal["done", "next", "later"]


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """What the steps depend on; nothing in here is real data."""

    status: str  # uploaded | ready | refused
    described: bool
    undeclared: int | None  # columns still open in the draft; None while nobody has looked
    columns: int | None
    missing: tuple[str, ...]  # columns that are described and not in the table any more
    request: str | None  # state of the newest budget request: open | granted | refused
    has_budget: bool
    running: bool
    released: bool
    compared: bool
    shared: bool


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where each step happens."""

    upload: str
    describe: str
    budget: str
    release: str
    compare: str
    share: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step as the strip shows it; `missing` says what is open, `action` and `address` how to go on.

    `waits` is true while the step is somebody else's turn: then there is something to read and nothing to
    press.
    """

    name: str
    state: State
    missing: str = ""
    action: str = ""
    address: str = ""
    waits: bool = False


def six_steps(facts: StepFacts, addresses: Addresses) -> tuple[Step, ...]:
    """The six steps in order; the first that is not done is `next`, those after it are `later`."""
    listed = (
        _upload(facts, addresses),
        _describe(facts, addresses),
        _budget(facts, addresses),
        _release(facts, addresses),
        _share(facts, addresses),
        _compare(facts, addresses),
    )
    first = next(
        (index for index, step in enumerate(listed) if step.state != "done"), len(listed)
    )
    # A step that is done stays done behind one that is open again: after a file was replaced,
    # say, the releases of the earlier file are still there.
    return tuple(
        step
        if step.state == "done"
        else replace(step, state="next" if index == first else "later")
        for index, step in enumerate(listed)
    )


def strip(listed: tuple[Step, ...], *, acts: bool) -> tuple[Step, ...]:
    """The steps as the strip shows them: what is missing in the next one stands beside its button, and only
    steps that can be taken now, by somebody who may, lead somewhere."""
    return tuple(
        replace(
            step,
            missing="" if step.state == "next" else step.missing,
            address=step.address if acts and step.state != "later" else "",
        )
        for step in listed
    )


def next_step(listed: tuple[Step, ...], addresses: Addresses) -> Step:
    """The one thing to do now; once all six are done, another release."""
    again = Step(
        name=_("Release"),
        state="next",
        missing=_(
            "All six steps are done. Draw as many samples as you like for free, or spend more budget."
        ),
        action=_("Make another release"),
        address=addresses.release,
    )
    return next((step for step in listed if step.state == "next"), again)


def _upload(facts: StepFacts, addresses: Addresses) -> Step:
    match facts.status:
        case "ready":
            return Step(name=_("Upload"), state="done")
        case "refused":
            return Step(
                name=_("Upload"),
                state="later",
                missing=_(
                    "The file could not be read. Mend it as said below, and upload it again."
                ),
                action=_("Upload a corrected file"),
                address=addresses.upload,
            )
    return Step(
        name=_("Upload"),
        state="later",
        missing=_("The worker is reading the file."),
        waits=True,
    )


def _describe(facts: StepFacts, addresses: Addresses) -> Step:
    # Before `described`: such a description is in force, and no run can use it.
    if facts.missing:
        names = ", ".join(facts.missing[:5]) + (
            " " + _("and others") if len(facts.missing) > 5 else ""
        )
        return Step(
            name=_("Describe"),
            state="later",
            missing=_(
                "The file was replaced or is read otherwise, and has no column %(names)s."
            )
            % {"names": names},
            action=_("Describe it again"),
            address=addresses.describe,
        )
    if facts.described:
        return Step(name=_("Describe"), state="done", address=addresses.describe)
    missing = _("Say what is public about each column.")
    if facts.undeclared is not None and facts.columns:
        missing = _("%(undeclared)s of %(columns)s columns undeclared.") % {
            "undeclared": facts.undeclared,
            "columns": facts.columns,
        }
        if facts.undeclared == 0:
            missing = _("Every column is declared; confirm the description.")
    return Step(
        name=_("Describe"),
        state="later",
        missing=missing,
        action=_("Describe the table"),
        address=addresses.describe,
    )


def _budget(facts: StepFacts, addresses: Addresses) -> Step:
    if facts.has_budget:
        return Step(name=_("Ask for budget"), state="done", address=addresses.budget)
    if facts.request == "open":
        return Step(
            name=_("Ask for budget"),
            state="later",
            missing=_("A custodian has to decide."),
            waits=True,
        )
    missing = (
        _("A custodian refused; the reason stands below.")
        if facts.request == "refused"
        else _("No budget yet.")
    )
    return Step(
        name=_("Ask for budget"),
        state="later",
        missing=missing,
        action=_("Ask for budget"),
        address=addresses.budget,
    )


def _release(facts: StepFacts, addresses: Addresses) -> Step:
    if facts.released:
        return Step(name=_("Release"), state="done", address=addresses.release)
    if facts.running:
        return Step(
            name=_("Release"), state="later", missing=_("A run is under way."), waits=True
        )
    return Step(
        name=_("Release"),
        state="later",
        missing=_("Nothing has been released yet."),
        action=_("Make a release"),
        address=addresses.release,
    )


def _share(facts: StepFacts, addresses: Addresses) -> Step:
    state: State = "done" if facts.shared else "later"
    return Step(
        name=_("Share"),
        state=state,
        missing=""
        if facts.shared
        else _("No analyst sees a release yet. Decide this before anybody compares."),
        action=_("Share with analysts"),
        address=addresses.share,
    )


def _compare(facts: StepFacts, addresses: Addresses) -> Step:
    state: State = "done" if facts.compared else "later"
    return Step(
        name=_("Compare"),
        state=state,
        missing="" if facts.compared else _("See how close the release is to the real table."),
        action=_("Compare with the real table"),
        address=addresses.compare,
    )
