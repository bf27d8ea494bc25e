"""What the press of a button on the describe page does to the draft: a function of the draft and of what was
posted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synth_engine.errors import DomainError
from synthweb.datasets import basis, bulk_edit, looks
from synthweb.datasets import draft as drafts
from synthweb.datasets.basis import FOUND, LEARNED, STATEMENT_NEEDED
from synthweb.datasets.draft import Column
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.forms import Posted
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.kinds.unshown import READS
from synthweb.datasets.learned import (
    as_found,
    as_learned,
    may_be_found,
    may_be_learned,
    not_found,
)
from synthweb.datasets.list_fields import normalise
from synthweb.datasets.read_lists import values_read
from synthweb.lib.saved_meanwhile import Difference, digest

_LISTED = 5  # columns named in a remark
ACCEPT = "accept"
"""The verb of the button that takes all columns that are clear."""
LISTS = ("lists", "lists-finish")
"""The verbs of the buttons of the page that shows lists that were read from the table; the second one
confirms the description."""
NOT_SHOWN = ("completions", READS)
"""Facts that come with a description and have no input."""
CHOOSE = "choose-"
"""Begins the verb of a button that takes another reading of a column; the key of the choice follows."""
PROPOSE = "propose-"
"""Begins the verb of a button that fills in the form of a rule that holds in the table; the number of the
rule follows."""
COMPUTED = "derived"
NOTHING_ASKED = (
    "Nothing was chosen to be set: choose a kind, missing values, a rule, bins or an origin."
)


@dataclass(kw_only=True)
class EditOutcome:
    """Columns to keep (None: forget what was typed), answers to questions about columns by key, ranges of
    columns at whose real values somebody looks now, lines that
    stay open in the editor, lines that stay selected, lines that ask where their facts are written, lines and
    facts about the table that were saved otherwise meanwhile, of which nothing is kept, lines whose list was
    read from the table and which somebody has to decide about, what stood in the way, what was done, and what
    of it could not be had."""

    columns: dict[str, Column | None] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    looked: dict[str, Mapping[str, object]] = field(default_factory=dict)
    editing: list[int] = field(default_factory=list)
    selected: list[int] = field(default_factory=list)
    asking: list[int] = field(default_factory=list)
    meanwhile: list[int] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)
    problem: str = ""
    done: str = ""
    remarks: list[str] = field(default_factory=list)


def apply(posted: Posted, draft: drafts.Draft) -> EditOutcome:
    """Everything a post asks for: what stands in open editors is kept, then the button does its work."""
    editor = DraftEditor(posted, drafts.columns(draft))
    _apply(editor, posted)
    # What was not kept stays in its editor.
    for index in editor.outcome.meanwhile:
        if index in posted.editing:
            editor.open(index)
    return editor.outcome


def _apply(editor: DraftEditor, posted: Posted) -> None:
    for index in posted.editing:
        if index != posted.index:
            editor.keep(index)
    if posted.verb == ACCEPT:
        editor.accept()
    elif posted.verb in LISTS:
        editor.decide_lists()
    else:
        _press(editor, posted)


def computed(facts: Mapping[str, Any], *, place: int) -> Column:
    """A column that is computed as a rule says, typed and not confirmed: whoever confirms it says where it is
    written. facts: `rule`, `of` and what else it needs, as in a domain's JSON."""
    form = FORMS[COMPUTED]
    typed = form.as_typed(facts, {}) if form.as_typed is not None else {}
    fields = {key: text for key, text in typed.items() if text}
    return {
        "kind": COMPUTED,
        "origin": "declared",
        "fields": fields,
        "confirmed": False,
        "whole": True,
        "place": place,
    }


def _press(editor: DraftEditor, posted: Posted) -> None:
    match posted.verb:
        case "edit" | "kind" | "keep" | "shut":
            editor.keep(posted.index)
            (editor.open if posted.verb in ("edit", "kind") else editor.shut)(posted.index)
        case "confirm":
            editor.confirm(posted.index, because=posted.because(posted.index))
        case "learn":
            editor.learn(posted.index)
        case "look":
            editor.look(posted.index)
        case "written":
            editor.write(posted.index)
        case "drop":
            editor.drop(posted.index)
        case verb if verb.startswith(CHOOSE):
            editor.choose(posted.index, verb.removeprefix(CHOOSE))
        case "discard":
            editor.forget(posted.index)
        case "confirm-open" | "confirm-selected" | "drop-selected" | "set-selected":
            editor.apply_to_group(posted.verb)


class DraftEditor:
    def __init__(self, posted: Posted, columns: Mapping[str, Column]) -> None:
        self.posted, self.columns, self.names = posted, columns, posted.names
        self.outcome = EditOutcome(editing=list(posted.editing))
        self.stale = {
            index
            for index, name in self.names.items()
            if posted.version(index) not in ("", digest(columns.get(name)))
        }

    def keep(self, index: int | None) -> None:
        """Keep what was typed and differs from what was suggested; an editor that was only looked at changes
        nothing."""
        if index not in self.names:
            return
        typed = self._typed(index)
        if typed is None or self._stands(index, typed):
            return
        column = drafts.typed_difference(typed, self.posted.suggested(index))
        self._put(index, column and {**column, "confirmed": False})

    def confirm(self, index: int | None, *, because: str) -> None:
        """Take a line as public knowledge, if it is sound and somebody said where it is written; else keep it
        as typed, with what is to mend, or ask for the statement."""
        if index not in self.names:
            return
        column = self._described(index)
        known = because or _known(self.names[index], column)
        if known is None:
            self.keep(index)
            self.outcome.asking.append(index)
            return
        self._confirm(index, column, because=known)

    def learn(self, index: int | None) -> None:
        """Take a line of numbers or days without its bounds, or one of texts without its list, which are
        written nowhere."""
        if index not in self.names:
            return
        column = self._described(index)
        if may_be_learned(column):
            self._confirm(index, as_learned(column), because=LEARNED)
        elif may_be_found(column):
            self._confirm(index, as_found(column), because=FOUND)

    def look(self, index: int | None) -> None:
        """Note the range of a line before the histogram of its real values is opened; without one it stays
        shut."""
        if index not in self.names:
            return
        name = self.names[index]
        self.keep(index)
        standing = self.standing(name)
        if not looks.has_range(standing):
            return
        column = drafts.merge_over_suggestion(self.posted.suggested(index), standing)
        try:
            self.outcome.looked[name] = looks.range_of(attribute_of(name, column))
        except DomainError:
            return

    def decide_lists(self) -> None:
        """Lines whose list was read from the table: each is taken as public, with a statement of its own, or
        its values are found by each release."""
        for index in self.names:
            if self.posted.says_public(index):
                self.confirm(index, because=self.posted.because(index))
            else:
                self._confirm(index, as_found(self._described(index)), because=FOUND)

    def write(self, index: int | None) -> None:
        """Take the proposed form of a line's cells as if it was typed, to be confirmed with the line."""
        if index is None or index not in self.names:
            return
        column = self._described(index)
        fields = {**column["fields"], **self.posted.written(index)}
        typed = drafts.typed_difference(
            {**column, "fields": fields}, self.posted.suggested(index)
        )
        self._put(index, typed and {**typed, "confirmed": False})

    def _described(self, index: int) -> Column:
        """What stands in the editor of a line, or on the line."""
        standing = self.standing(self.names[index])
        return self._typed(index) or drafts.merge_over_suggestion(
            self.posted.suggested(index), standing
        )

    def _confirm(
        self, index: int, column: Column, *, because: str, together: bool = False
    ) -> None:
        """together: whether the statement was given for several lines at once."""
        name = self.names[index]
        wanted = drafts.FIELDS.get(column["kind"], ())
        column = {
            "kind": column["kind"],
            "origin": column.get("origin") or "declared",
            "fields": {
                key: text for key, text in column["fields"].items() if key in wanted and text
            },
            "because": because,
            "vouched": not together,
        }
        try:
            attribute_of(name, column)
        except DomainError:
            self._put(index, {**column, "confirmed": False, "tried": True})
            self.open(index)
        else:
            self._put(index, {**column, "confirmed": True})
            self.shut(index)

    def drop(self, index: int | None) -> None:
        if index in self.names:
            # No statement is asked for: a column that is left out has no facts in the
            # description.
            self._put(
                index,
                {"kind": "identifier", "origin": "declared", "fields": {}, "confirmed": True},
            )
            self.shut(index)

    def choose(self, index: int | None, key: str) -> None:
        """Take another reading of a column for its suggestion, or with an empty key the first one again. What
        was typed over the former reading is forgotten: it was about something else."""
        suggested = self.posted.suggested(index) if index is not None else None
        if index not in self.names or not suggested or "hint" not in suggested:
            return
        if key and key not in [each["key"] for each in suggested["hint"]["choices"]]:
            return
        self.outcome.answers[self.names[index]] = key
        self.forget(index)

    def forget(self, index: int | None) -> None:
        if index in self.names:
            if not self._is_stale(index, None):
                self.outcome.columns[self.names[index]] = None
            self.shut(index)

    def accept(self) -> None:
        """Confirm all columns that are clear, without a further look at any: of a list that was read each
        release finds the values, if it can find all of them; the others are shown in full first."""
        chosen, _ = self._clear_and_asked()
        self._drop_person(chosen)
        read = {index: self._read_list(index) for index in chosen}
        self.outcome.lists = [index for index in chosen if not_found(read[index])]
        for index in chosen:
            if read[index] and index not in self.outcome.lists:
                learned = as_found(self._described(index))
                self._confirm(index, learned, because=FOUND, together=True)
        rest = [index for index in chosen if not read[index]]
        self._confirm_group(rest, because=self.posted.because())

    def _clear_and_asked(self) -> tuple[list[int], list[int]]:
        """The columns that are open, without a question and with one: nobody answers a question by confirming
        everything else."""
        still = [
            index
            for index, name in self.names.items()
            if not self.columns.get(name, {}).get("confirmed")
        ]
        asked = [index for index in still if self._is_asked(index)]
        return [index for index in still if index not in asked], asked

    def _drop_person(self, chosen: list[int]) -> None:
        """Leave out the column that identifies people, which is never described, and take it from these."""
        person = (self.posted.table or {}).get("unit_column")
        for index in [each for each in chosen if self.names[each] == person]:
            self.drop(index)
            chosen.remove(index)

    def apply_to_group(self, verb: str) -> None:
        """The group actions; confirming many at once takes one statement for all of them."""
        chosen = self.posted.selected
        if verb == "confirm-open":
            chosen, asked = self._clear_and_asked()
            if asked:
                names = ", ".join(self.names[index] for index in asked[:_LISTED])
                more = f" and {len(asked) - _LISTED} more" if len(asked) > _LISTED else ""
                self.outcome.remarks.append(
                    f"Still open, because of a question: {names}{more}. Answer it, edit the column or "
                    "leave it out."
                )
        if verb.startswith("confirm"):
            self._drop_person(chosen)
            # Whoever confirms many columns at once has not looked at each list.
            self.outcome.lists = [index for index in chosen if self._read_list(index)]
            chosen = [index for index in chosen if index not in self.outcome.lists]
        if not chosen:
            nothing = verb != "confirm-open" and not self.outcome.lists
            self.outcome.problem = "No column is selected." if nothing else ""
        elif verb == "drop-selected":
            for index in chosen:
                self.drop(index)
        elif verb == "set-selected":
            self.outcome.selected = chosen
            self.set(chosen)
        else:
            self._confirm_group(chosen, because=self.posted.because())

    def _confirm_group(self, chosen: list[int], *, because: str) -> None:
        """Confirm lines together; without a statement those alone that need none, and the others stay
        selected."""
        columns = {index: self._described(index) for index in chosen}
        for index, column in columns.items():
            known = because or _known(self.names[index], column)
            if known is None:
                self.outcome.problem = STATEMENT_NEEDED
                self.outcome.selected.append(index)
            else:
                self._confirm(index, column, because=known, together=True)

    def _read_list(self, index: int) -> list[str]:
        return values_read(self._described(index), self.posted.suggested(index))

    def _is_asked(self, index: int) -> bool:
        """Whether a line has a question that nobody has answered, nor typed something instead."""
        hint = (self.posted.suggested(index) or {}).get("hint") or {}
        typed = self.standing(self.names[index]) or index in self.posted.editing
        return bool(hint.get("question")) and not hint.get("answer") and not typed

    def set(self, chosen: list[int]) -> None:
        """The same for several lines, kept unconfirmed; a line in which nothing changes stays as it is."""
        asked = self.posted.asked
        if not asked.anything:
            self.outcome.problem = NOTHING_ASKED
            return
        remarks: list[tuple[str, str, str]] = []
        changed = 0
        for index in chosen:
            name, suggested = self.names[index], self.posted.suggested(index)
            before = drafts.merge_over_suggestion(suggested, self.standing(name))
            result = bulk_edit.change(before, asked)
            remarks += [(name, rule, repair) for rule, repair in result.remarks]
            if bulk_edit.differs(before, result.column):
                column = drafts.typed_difference(result.column, suggested)
                self._put(index, column and {**column, "confirmed": False})
                changed += 1
        self.outcome.done = (
            f"{changed} of {len(chosen)} selected columns changed; "
            "confirm them when they are right."
        )
        self.outcome.remarks = bulk_edit.remark_lines(remarks)

    def standing(self, name: str) -> Column | None:
        """The stored facts of a column, with those that this post stores."""
        return (
            self.outcome.columns[name]
            if name in self.outcome.columns
            else self.columns.get(name)
        )

    def open(self, index: int | None) -> None:
        if index is not None and index not in self.outcome.editing:
            self.outcome.editing.append(index)

    def shut(self, index: int | None) -> None:
        self.outcome.editing = [other for other in self.outcome.editing if other != index]

    def _put(self, index: int, column: Column | None) -> None:
        column = column and {**column, "place": index}
        if not self._is_stale(index, column):
            self.outcome.columns[self.names[index]] = column

    def _is_stale(self, index: int, column: Column | None) -> bool:
        """Whether a line was saved otherwise after this page was shown, so that nothing of it is kept now."""
        if index not in self.stale:
            return False
        stored = self.columns.get(self.names[index])
        same = stored == column or (stored and column and {**stored, **column} == stored)
        if not same and index not in self.outcome.meanwhile:
            self.outcome.meanwhile.append(index)
        return not same

    def _typed(self, index: int) -> Column | None:
        """What stands in the editor, with what came with a file and no input shows: public texts that
        complete others, and sets by which listed values are read. Both belong to the kind with which they
        came."""
        typed = self.posted.typed(index)
        if typed is None:
            return None
        stored = self.standing(self.names[index])
        # No kind is chosen yet where a column is one of categories until somebody says otherwise.
        texts = stored["fields"] if stored and stored["kind"] in ("", typed["kind"]) else {}
        fields = {key: text for key, text in typed["fields"].items() if key not in NOT_SHOWN}
        further = {
            key: texts[key] for key in NOT_SHOWN if key in typed["fields"] and texts.get(key)
        }
        return {**typed, "fields": fields | further}

    def _stands(self, index: int, typed: Column) -> bool:
        """Whether the draft says exactly this already."""
        stored = self.standing(self.names[index])
        if (
            stored is None
            or stored["kind"] != typed["kind"]
            or stored.get("origin") != typed["origin"]
        ):
            return False
        if typed.get("because", "") != stored.get("because", ""):
            return False
        keys = drafts.FIELDS.get(typed["kind"], ())
        return all(
            normalise(typed["fields"].get(k, "")) == normalise(stored["fields"].get(k, ""))
            for k in keys
        )


def _known(name: str, column: Column) -> str | None:
    """The statement of a column that needs none of its steward (`basis.known`)."""
    try:
        return basis.known(column, attribute_of(name, column))
    except DomainError:
        return basis.known(column, None)
