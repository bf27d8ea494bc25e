"""Suggestions for the description of a column, read off its values: for the steward's eyes, to be confirmed
or not.

No bound is suggested: the smallest and the largest value are those of single records, so bounds are written
somewhere or learned within the budget. Values are listed only as `value_lists` allows, and never those of a
column that says who a row is about (`people`). A suggestion is still made from the data, which is why every
fact of it is marked "suggested"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec import numbers, sentinels
from synth_engine.codec.fitting import unfit_texts
from synth_engine.domain import parse_attribute
from synth_engine.formats import Marks
from synth_engine.kinds import KINDS
from synth_engine.kinds.text import CLASSES, MAX_TEXT_LENGTH
from synth_engine.steward import (
    ambiguous,
    codes,
    drafts,
    look_alikes,
    people,
    rivals,
    unread,
    value_lists,
)
from synth_engine.steward.ambiguous import NumberQuestion
from synth_engine.steward.drafts import DistinctTexts
from synth_engine.steward.hints import Hint, ReadingChoice
from synth_engine.steward.markers import MARKERS, MAX_ODD_TEXTS, is_known, odd_markers
from synth_engine.steward.people import PersonSign
from synth_engine.steward.summary import (
    MAX_DISTINCT_TEXTS,
    MAX_TEXT_BYTES,
    Column,
    Wide,
)
from synth_engine.steward.value_lists import FOUND, MAX_CATEGORIES

READER = 1
"""The version of the rules by which drafts are made; it rises when one of them changes. What was described by
an earlier one stays as it was described: a draft proposes, and changes nothing that is confirmed."""
MAX_CATEGORY_LENGTH = 200
MAX_LABELS_LENGTH = 800  # characters
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"), ("1.0", "0.0"))
_ROW_IDS = {
    "kind": "identifier",
    "why": "Whole numbers, all different and close together: they look like row ids.",
}
_NAMES = {
    "kind": "identifier",
    "why": "Nearly every value is different, or long: it may name a record. Left out.",
}
_WORDS = (
    "If the words themselves are wanted, “Unknown categories” finds the frequent ones, out of the budget of "
    "a release."
)
_ASK_WHO = "Does this column say who a row is about?"
_NUMBERS = ("integer", "number", "scale")
_TEXTS = ("categorical", "weak")
_CONFIRM = (
    "Confirm only what is known without looking at this table, for example from a codebook."
)


WHO = ReadingChoice(key="who", label="Yes: leave the column out", facts={"kind": "identifier"})
_CLOCK = r"^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$"
_LENGTHS = (20, 50, 100, 200, 500)  # of texts, as a person would say them
_NEARLY = "Nearly all cells are numbers or times. Is this a column of numbers or times?"
_MOST_UNREAD = 0.5  # share of the rows, that an answer may count as missing and says so
_FEW_NUMBERS = 20  # different ones, that may as well be codes
_NO_VALUE = frozenset(
    "nux"
)  # not applicable, unknown, not available: letters by which surveys say so
_LEAST_ASKED = 0.01  # share of the rows with a word, for a question about it
_FEWEST_READABLE = 10  # different numbers or times, for a question about the other texts
_MOST_LOST = 0.1  # share of the rows that cannot be read
_BASKETS: Mapping[str, Any] = {
    "kind": "weak-basket",
    "values": {"set": "integers", "low": 0, "high": 9_999},
    "keep": 50,
    "why": "Each line is a basket. Say which items there may be, as is publicly known: these bounds are an "
    "example.",
}


@dataclass(frozen=True, kw_only=True)
class ColumnSuggestion:
    """A draft of one column in the form of a domain's JSON, what is said about it, and in which ways its
    texts may be numbers if the form of the file were another one."""

    attribute: dict[str, Any]
    hint: Hint
    numbers: NumberQuestion | None = None


def attribute(
    name: str, column: Column, *, codebook: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A draft of one attribute, in the form of a domain's JSON; `codebook` is what the file itself says about
    it."""
    return suggestion(name, column, codebook=codebook).attribute


def suggestion(
    name: str,
    column: Column,
    *,
    codebook: Mapping[str, Any] | None = None,
    holders: Mapping[str, int] | None = None,
) -> ColumnSuggestion:
    """The same with how sure it is, and what else the column could be. holders: different persons of each
    text, as `value_lists.PersonCounts` has them; None where rows stand for persons."""
    if codebook and codebook.get("baskets"):
        draft: dict[str, Any] = dict(_BASKETS)
    else:
        draft = (
            _draft_from_codebook(name, column, codebook, holders) if codebook else None
        ) or _draft_column(name, column, holders)
    draft = drafts.bounded(name, draft, column)
    hint, question = draft.pop("hint", None) or Hint(), draft.pop("numbers", None)
    return ColumnSuggestion(
        attribute={"name": name, **draft, "provenance": "suggested"},
        hint=hint,
        numbers=question,
    )


def _draft_from_codebook(
    name: str,
    column: Column,
    codebook: Mapping[str, Any],
    holders: Mapping[str, int] | None,
) -> dict[str, Any] | None:
    """The draft that a codebook makes: its codes are the values, if every value has one and they are no
    persons."""
    missing = codebook.get("missing", [])
    labels = {
        code: label for code, label in codebook.get("values", {}).items() if code not in missing
    }
    empty = [""] * bool(column.times[""])
    about = f"The file calls it “{codebook['label']}”. " if codebook.get("label") else ""
    # A value outside the codebook would be lost by a closed list, so it is drafted from the
    # values instead.
    closed = column.wide is None and set(column.times) <= {*labels, *missing, ""}
    if labels and closed and not _are_persons(name, [*labels, *labels.values()]):
        labels_listed = "; ".join(f"{code} = {label}" for code, label in labels.items())
        why = f"{about}The file's own codebook lists: {labels_listed[:MAX_LABELS_LENGTH]}. {_CONFIRM}"
        markers = [*empty, *missing] or None
        outside = "missing" if markers else "clamp"
        facts = {"values": list(labels), "other": False, "missing": markers, "outside": outside}
        return {"kind": "categorical", **facts, "why": why}
    draft = _draft_column(name, column.without(missing), holders)
    further_markers = [
        code
        for code in missing
        if code not in (draft.get("missing") or []) and not _within(draft, code)
    ]
    if further_markers and draft["kind"] != "identifier":
        draft["missing"] = [*(draft["missing"] or []), *further_markers]
        draft["why"] += (
            " The codes that the file itself declares as missing are taken for missing."
        )
    return draft | {"why": about + draft["why"]}


def _are_persons(name: str, texts: Sequence[str]) -> bool:
    """Whether a column or the texts of its codebook say who somebody is."""
    person = people.sign(
        name, pa.array(texts, type=pa.string()), np.ones(len(texts), dtype=np.int64)
    )
    return person is not None and person.certain


def _within(draft: Mapping[str, Any], code: str) -> bool:
    """Returns whether a code is also a value of what is drafted, which no marker of missing
    values may be."""
    if draft["kind"] in ("integer", "number"):
        return numbers.within(code, draft["low"], draft["high"])
    if draft["kind"] == "weak":
        return value_lists.is_found(code)
    if "low" in draft:
        # Without the markers, of which one is asked for.
        facts = {
            k: v
            for k, v in drafts.facts_of(draft).items()
            if k not in ("missing", "outside", "numbers")
        }
        return not unfit_texts(parse_attribute({"name": "column", **facts}), [code])[0]
    return code in draft.get("values", [draft.get("true"), draft.get("false")])


def _draft_column(
    name: str, column: Column, holders: Mapping[str, int] | None
) -> dict[str, Any]:
    if column.wide is not None:
        missing = column.wide.markers
        draft = _draft_of_many(name, column.wide)
    else:
        # In an order of their own, so that a draft does not depend on that of the rows.
        times = Counter(dict(sorted(column.times.items())))
        missing = [marker for marker in MARKERS if times.pop(marker, 0)]
        draft = _draft(
            name, times, marks=column.marks, has_missing=bool(missing), holders=holders
        )
    sentinel_texts = draft.pop("sentinels", ())
    missing += [text for text in draft.pop("odd", ()) if text not in missing]
    frequent = _not_of_few(missing, column)
    # A word that is no marker would otherwise move to a bound.
    unread = {"outside": "missing"} if not set(missing) <= set(frequent) else {}
    missing = frequent
    # A marker that is also a value of the range stays a value.
    own = [marker for marker in missing if not (marker and _within(draft, marker))]
    draft |= _with_missing(draft, own) | (unread if draft["kind"] == "scale" else {})
    hint: Hint = draft.setdefault("hint", Hint())
    # Whoever takes a sentinel for a value does not take it for a marker as well.
    without = [marker for marker in missing if marker not in sentinel_texts]
    hint.choices = [
        replace(
            choice,
            facts=dict(choice.facts)
            | _with_missing(choice.facts, without if choice.key == "value" else missing)
            | (unread if choice.facts["kind"] == "scale" else {}),
        )
        if choice.facts is not None
        else choice
        for choice in hint.choices
    ]
    if own and draft["kind"] != "identifier":
        written = " ".join(f'"{marker}"' for marker in own)
        draft["why"] += f" Missing values seem to be written {written}."
        if not set(own) <= set(MARKERS) and hint.certainty == "sure":
            hint.certainty = "probable"
    draft["why"] += "" if draft["kind"] == "identifier" else f" {_CONFIRM}"
    if column.wide is not None:
        return draft
    if not _has_question(draft) and (asked := rivals.country(name, draft, column)) is not None:
        draft["hint"] = hint = asked
    if draft["kind"] in (*_TEXTS, "boolean", "identifier"):
        values = [text for text in column.times if text not in MARKERS]
        hint.remarks += [*look_alikes.remarks(values), *rivals.filled_down(column)]
    return draft


def _not_of_few(markers: Sequence[str], column: Column) -> list[str]:
    """Markers without words of a few rows, such as a name that slipped into a column of numbers: an empty
    cell stands for them, since what cannot be read counts as missing."""
    times = column.times if column.wide is None else column.wide.odd
    frequent = [
        marker
        for marker in markers
        if is_known(marker)
        or any(map(str.isdigit, marker))
        or times[marker] >= value_lists.FEWEST_PERSONS
    ]
    return frequent if len(frequent) == len(markers) or "" in frequent else ["", *frequent]


def _with_missing(facts: Mapping[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    """The facts about missing values of a draft with these markers, besides those that it has of its own."""
    if facts["kind"] == "identifier":
        return {}
    own = [marker for marker in facts.get("missing") or () if marker not in missing]
    # An empty marker comes first only where cells are empty: the first one is what is written.
    markers = [*missing, *own]
    markers = [marker for marker in markers if not (marker and _within(facts, marker))]
    outside = {"outside": "missing"} if markers and "outside" in facts else {}
    return {"missing": markers or None} | outside


def _draft(
    name: str,
    times: Counter[str],
    *,
    marks: Marks,
    has_missing: bool,
    holders: Mapping[str, int] | None,
) -> dict[str, Any]:
    if not times:
        return {"kind": "identifier", "why": "Every value is missing: left out."}
    texts = pa.array(times.keys(), type=pa.string())
    counts = np.fromiter(times.values(), dtype=np.int64)
    pair = _pair(times)
    if pair:
        return {
            "kind": "boolean",
            "true": pair[0],
            "false": pair[1],
            "why": "Two values that say yes and no.",
        }
    column = DistinctTexts(
        name=name,
        texts=texts,
        counts=counts,
        marks=marks,
        has_missing=has_missing,
        holders=holders,
    )
    draft = _on_a_scale(column)
    if draft is None and ambiguous.may_be_read(texts, counts):
        draft = _beside_odd_texts(column) or ambiguous.dates(name, texts)
    is_text = draft is None
    if draft is None:
        draft = _asked(column, _text(column))
    who = people.by_name(name)
    if who is None and (is_text or draft["kind"] in _TEXTS) and not _has_question(draft):
        who = people.by_form(texts, counts)
        # Codes of one length look like identifiers; those that the column's name calls codes are none.
        if who is not None and not who.certain and codes.says_codes(name) is not None:
            who = None
    if who is not None:
        return _about_people(who, draft, column)
    return _constant(draft, column) if len(times) == 1 else draft


def _has_question(draft: Mapping[str, Any]) -> bool:
    hint: Hint | None = draft.get("hint")
    return draft.get("numbers") is not None or (hint is not None and bool(hint.question))


def _on_a_scale(column: DistinctTexts) -> dict[str, Any] | None:
    """A draft of numbers, days, timestamps or times of day, if all texts are; else None."""
    plain = column.marks.plain(column.texts)
    if (whole := numbers.whole(plain)) is not None:
        number = drafts.as_number(drafts.whole(int(whole.min()), int(whole.max())))
        return rivals.digits_as_days(column, number) or _without_sentinels(
            column, whole, _integer
        )
    if (decimals := numbers.decimal(plain)) is not None:
        codes_of = rivals.decimals_as_codes(column, plain, decimals)
        return codes_of or _without_sentinels(column, decimals, _decimals)
    if (moments := numbers.times(column.texts)) is not None:
        if moments.days:
            return _without_last_day(column) or drafts.days()
        span = drafts.span(moments, int(np.gcd.reduce(moments.clocks)))
        return rivals.zones(column.texts, span) or span
    for kind in KINDS.values():
        if (draft := kind.suggest(column.texts)) is not None:
            return draft
    return None


def _readable_texts(column: DistinctTexts) -> Iterator[tuple[DistinctTexts, NDArray[np.bool_]]]:
    """For each form of numbers, days and times the texts that have it, without blanks around them, and which
    they are: shape (n,)."""
    trimmed = pc.utf8_trim(column.texts, " \t")
    plain = column.marks.plain(trimmed)
    for texts, pattern in (
        (plain, numbers.DECIMAL),
        (trimmed, numbers.DAY),
        (trimmed, numbers.MOMENT),
        (trimmed, _CLOCK),
    ):
        written = pc.match_substring_regex(texts, pattern)
        readable = written.to_numpy(zero_copy_only=False)
        if readable.any():
            yield (
                replace(column, texts=trimmed.filter(written), counts=column.counts[readable]),
                readable,
            )


def _mostly_on_a_scale(column: DistinctTexts) -> Hint | None:
    """The question about texts of which nearly all are numbers, days or times, and the others are no markers;
    else None."""
    for rest, readable in _readable_texts(column):
        lost = column.counts[~readable].sum() / column.counts.sum()
        if len(rest.texts) < _FEWEST_READABLE or not 0 < lost <= _MOST_LOST:
            continue
        draft = _on_a_scale(rest)
        if draft is None or draft["kind"] in ("identifier", "categorical"):
            continue
        odd = column.texts.filter(pa.array(~readable)).to_pylist()
        frequent = column.counts[~readable] >= value_lists.FEWEST_PERSONS
        markers = odd if len(odd) <= MAX_ODD_TEXTS and frequent.all() else [""]
        facts = _facts_with_unread(draft, markers)
        percent = max(1, round(100 * lost))
        label = (
            f"Numbers or times; {percent} of 100 cells, such as “{odd[0]}”, count as missing"
        )
        return Hint(
            certainty="open",
            question=_NEARLY,
            choices=[ReadingChoice(key="scale", label=label, facts=facts)],
        )
    return None


def _beside_odd_texts(column: DistinctTexts) -> dict[str, Any] | None:
    """A draft of the texts on a scale, if the few others may stand for missing values; else None."""
    for rest, readable in _readable_texts(column):
        odd = odd_markers(column.texts, readable)
        if odd is None:
            continue
        draft = _on_a_scale(replace(rest, has_missing=column.has_missing or bool(odd)))
        if draft is None or draft["kind"] == "identifier":
            continue
        hint = draft.setdefault("hint", Hint())
        hint.certainty = "probable" if odd and hint.certainty == "sure" else hint.certainty
        words = [
            text for text in odd if not is_known(text) and text.casefold() not in _NO_VALUE
        ]
        values = column.listed() if odd else None
        few = len(rest.texts) <= _FEW_NUMBERS
        if values is not None or (words and few):
            facts = FOUND
            if values is not None:
                facts = drafts.listed_facts(values, other=len(values) < len(column.texts))
            label = "Categories, one of them for each text"
            hint.choices.append(ReadingChoice(key="categories", label=label, facts=facts))
        share = column.counts[~readable].sum() / column.counts.sum()
        if words and few and share >= _LEAST_ASKED:
            hint.certainty, hint.question = (
                "open",
                f"Beside numbers stands “{words[0]}”. Is it a value?",
            )
            label = f"Numbers; “{words[0]}” is no value and counts as missing"
            facts = drafts.facts_of(draft) | {"missing": list(odd)}
            hint.choices.insert(0, ReadingChoice(key="numbers", label=label, facts=facts))
        return draft | {"odd": [*draft.get("odd", ()), *odd]}
    return None


def _asked(column: DistinctTexts, draft: dict[str, Any]) -> dict[str, Any]:
    """A draft of texts, with the question that its steward has to answer first, if there is one."""
    question = hint = None
    if ambiguous.may_be_read(column.texts, column.counts):
        question = ambiguous.number_question(column.texts, column.counts, column.marks)
        hint = rivals.days_and_moments(column) or ambiguous.date_question(
            column.name, column.texts, column.counts
        )
        # Where other marks read all cells, nothing has to count as missing.
        if hint is None and question is None:
            hint = _mostly_on_a_scale(column)
    if hint is None and question is None:
        return _unread(column) or rivals.several_in_a_cell(column) or draft
    # A list of a hundred amounts or days describes nothing: such a column waits for the answer.
    if len(column.texts) > MAX_CATEGORIES:
        draft = {"kind": "identifier", "why": "Left out until the question is answered."}
    if hint is not None:
        # Where no answer reads all cells, the column can be left out instead.
        if hint.question != _NEARLY and all("" in _missing(choice) for choice in hint.choices):
            hint.choices.append(drafts.LEAVE_OUT)
        draft["why"] += f" {hint.question}"
        return draft | {"hint": hint}
    readings = question.readings if question else []
    examples = "; or ".join(
        f"{example} ({ambiguous.marks_in_words(same[0])})" for same, example in readings
    )
    draft["why"] += f" They look like numbers: {examples}. Say how they are written."
    return draft | {"hint": Hint(certainty="open"), "numbers": question}


def _missing(choice: ReadingChoice) -> Sequence[str]:
    return (choice.facts or {}).get("missing") or ()


def _unread(column: DistinctTexts) -> dict[str, Any] | None:
    """The question about numbers, days, times or places in a notation that nothing reads; None if the texts
    are none."""
    if not unread.worth_a_look(column.texts):
        return None
    # Telephone numbers and the like are digits as well.
    person = people.by_form(column.texts, column.counts)
    texts = unread.texts_of_a_kind(column.texts, column.counts)
    if texts is None or (person is not None and person.certain):
        return None
    choices = [drafts.LEAVE_OUT]
    if value_lists.mostly_found(column.texts, column.counts):
        choices.append(drafts.MADE_OUT)
    for rest, readable in _readable_texts(column):
        lost = column.counts[~readable].sum() / column.counts.sum()
        draft = _on_a_scale(rest) if lost <= _MOST_UNREAD else None
        if draft is not None and draft["kind"] == "scale":
            odd = min(column.texts.filter(pa.array(~readable)).to_pylist())
            label = (
                f"As far as cells are read; {max(1, round(100 * lost))} of 100, such as “{odd}”, count as "
                "missing"
            )
            facts = _facts_with_unread(draft, [""])
            choices.insert(0, ReadingChoice(key="scale", label=label, facts=facts))
            break
    return drafts.opened(texts.question, choices)


def _facts_with_unread(draft: Mapping[str, Any], markers: Sequence[str]) -> dict[str, Any]:
    """The facts of a draft of the texts that are read, in a column where the others count as missing."""
    missing = [*draft.get("odd", ()), *markers]
    return drafts.facts_of(draft) | {"missing": missing, "outside": "missing"}


def _constant(draft: dict[str, Any], column: DistinctTexts) -> dict[str, Any]:
    """The draft of a column with one value."""
    if draft["kind"] == "identifier":
        return draft
    hint: Hint = draft.setdefault("hint", Hint())
    if not column.has_missing and not draft.get("odd"):
        draft["why"] = (
            f"Every cell is the same: leaving the column out loses nothing. {draft['why']}"
        )
        hint.choices.append(drafts.LEAVE_OUT)
    return draft


def _draft_of_many(name: str, wide: Wide) -> dict[str, Any]:
    """The same of a column whose texts were too many to be kept."""
    if wide.read == "numbers":
        return _many_numbers(name, wide)
    if wide.read == "times":
        return drafts.days() if wide.days else drafts.span(wide, wide.common)
    texts = wide.some_texts()
    if len(texts) and wide.longest <= MAX_TEXT_BYTES:
        counted = texts.value_counts()
        column = DistinctTexts(
            name=name,
            texts=counted.field("values"),
            counts=counted.field("counts").to_numpy(),
            marks=wide.marks,
            has_missing=bool(wide.markers),
        )
        readable = ambiguous.may_be_read(column.texts, column.counts)
        if readable and (draft := ambiguous.dates(name, column.texts)) is not None:
            return draft
        draft = _asked(column, _many_texts(wide, column))
        if (who := people.by_name(name)) is None and not _has_question(draft):
            who = people.by_form(column.texts, column.counts)
        if who is not None:
            return _about_people(who, draft, column)
        if (verdict := codes.of_texts(column.texts, column.counts)) is not None:
            return _named(verdict, column.texts)
        return draft
    return dict(_NAMES)


def _many_texts(wide: Wide, column: DistinctTexts) -> dict[str, Any]:
    """The draft of texts too many to be listed. column: some of them."""
    if wide.different > 0.9 * wide.looked_at or not wide.frequent:
        return dict(_NAMES)
    return _discovered(column, f"More than {MAX_DISTINCT_TEXTS:,} different texts.")


def _many_numbers(name: str, wide: Wide) -> dict[str, Any]:
    if not wide.whole:
        draft = drafts.number(np.append(wide.sample(), [wide.least, wide.most]))
        who = people.by_name(name)
        return draft if who is None else drafts.left_out(who.why, [drafts.as_number(draft)])
    least, most = int(wide.least), int(wide.most)
    if (asked := rivals.counted_days(name, least, most)) is not None:
        return asked
    close = wide.rows >= 100 and most - least < 2 * wide.rows
    if wide.all_different and close and not people.measures(name):
        return dict(_ROW_IDS)
    sample = wide.sample()
    weights = np.ones(len(sample), dtype=np.int64)
    draft = drafts.whole(least, most)
    if (who := people.by_name(name)) is not None:
        return drafts.left_out(who.why, [drafts.as_number(draft)])
    verdict = codes.of_numbers(
        name,
        least=least,
        most=most,
        values=sample.astype(np.int64),
        counts=weights,
        numbered=wide.all_different and not people.measures(name),
    )
    if verdict is None or verdict.role == "codes":
        return draft
    return _named(verdict, None, number=draft)


def _pair(times: Counter[str]) -> tuple[str, str] | None:
    if len(times) != 2:
        return None
    by_folded = {text.casefold(): text for text in times}
    return next(
        ((by_folded[t], by_folded[f]) for t, f in _PAIRS if {t, f} == set(by_folded)), None
    )


def _integer(column: DistinctTexts, values: Any) -> dict[str, Any]:
    least, most = int(values.min()), int(values.max())
    weights = column.counts
    rows = int(weights.sum())
    asked = rivals.counted_days(column.name, least, most) or rivals.months(column, values)
    if asked is not None:
        return asked
    # Such numbers name records: as a histogram, they would describe nothing but the numbering.
    close = rows >= 100 and most - least < 2 * rows
    if column.unique and close and not column.has_missing and not people.measures(column.name):
        return dict(_ROW_IDS)
    draft = drafts.whole(least, most)
    verdict = codes.of_numbers(
        column.name,
        least=least,
        most=most,
        values=values,
        counts=weights,
        numbered=column.unique and not people.measures(column.name),
    )
    if verdict is None:
        return draft
    if verdict.role != "codes":
        return _named(verdict, None, number=draft)
    return rivals.code_draft(column, verdict.why, draft)


def _decimals(column: DistinctTexts, values: Any) -> dict[str, Any]:  # noqa: ARG001 - as _integer
    return drafts.number(values)


def _about_people(
    who: PersonSign, draft: Mapping[str, Any], column: DistinctTexts
) -> dict[str, Any]:
    """The draft of a column that seems to say who a row is about: it is left out. Where its few values are
    held by many, its steward is asked whether it is so."""
    if not who.certain and rivals.say_yes_or_no(column.texts):
        return dict(draft)
    if draft["kind"] == "identifier":
        if not who.certain and not _has_question(draft):
            return dict(draft)
        choices = list(draft["hint"].choices) if "hint" in draft else []
    elif draft["kind"] in _TEXTS:
        choices = [drafts.MADE_OUT, *_made_up(column.texts)]
    elif draft["kind"] == "scale" and draft["of"] in ("integer", "number"):
        choices = [drafts.as_number(draft)]
    else:
        choices = [
            ReadingChoice(key="reading", label="A date or time", facts=drafts.facts_of(draft))
        ]
    out = drafts.left_out(who.why, choices)
    if who.certain or column.listed() is None:
        return out
    hint = Hint(certainty="open", question=_ASK_WHO, choices=[WHO, *choices])
    return out | {"why": f"{out['why']} {_ASK_WHO}", "hint": hint}


def _named(
    verdict: codes.CodeVerdict,
    texts: pa.Array | None,
    *,
    number: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The draft of a column that names records or is free text: it is left out."""
    choices = [drafts.as_number(number)] if number else []
    return drafts.left_out(verdict.why, [*choices, *(() if texts is None else _made_up(texts))])


def _made_up(texts: pa.Array) -> list[ReadingChoice]:
    """The choice of texts that are made up, unless they are too long."""
    longest = pc.max(pc.utf8_length(texts)).as_py()
    if longest > MAX_TEXT_LENGTH:
        return []
    facts = {
        "kind": "text",
        "max_length": next((each for each in _LENGTHS if each >= longest), MAX_TEXT_LENGTH),
        "signs": list(CLASSES),
    }
    return [ReadingChoice(key="text", label="Made-up texts of these lengths", facts=facts)]


def _without_sentinels(
    column: DistinctTexts, values: Any, draft_of: Callable[[DistinctTexts, Any], dict[str, Any]]
) -> dict[str, Any]:
    """The draft of numbers; those that stand alone far from the others, like 999, are taken for markers."""
    alone = sentinels.of_numbers(values, column.counts)
    whole = draft_of(column, values)
    if alone is None or whole["kind"] not in _NUMBERS:
        return whole
    listed = column.texts.filter(pa.array(alone)).to_pylist()
    written = " and ".join(listed)
    rest = replace(
        column, texts=column.texts.filter(pa.array(~alone)), counts=column.counts[~alone]
    )
    draft = draft_of(rest, values[~alone])
    as_value = drafts.as_number(whole)
    if draft["kind"] not in _NUMBERS:
        return whole
    # Two kinds of missing values would be written alike: -1 for “never” beside empty cells stays a value.
    if column.has_missing and values[alone].min() < 0:
        facts = drafts.as_number(draft).facts or {}
        choice = ReadingChoice(
            key="marker",
            label=f"{written} stands for a missing value",
            facts={**facts, "missing": listed},
        )
        # In front, because a line of the page shows the first sentence.
        whole["why"] = (
            f"{written} is all that is below zero: it may stand for something else. {whole['why']}"
        )
        whole["hint"] = Hint(certainty="probable", choices=[choice])
        return whole
    draft["why"] = (
        f"{written} stands alone, far from the other values, and is taken for a marker of its own. "
        f"{draft['why']}"
    )
    as_value = replace(as_value, key="value", label=f"{written} is a number like the others")
    draft["hint"] = Hint(certainty="probable", choices=[as_value])
    return draft | {"odd": listed, "sentinels": listed}


def _without_last_day(column: DistinctTexts) -> dict[str, Any] | None:
    """The draft of ISO days without those that stand for none, like 9999-12-31; None if there are none."""
    alone = sentinels.of_days(column.texts)
    if alone is None:
        return None
    listed = column.texts.filter(pa.array(alone)).to_pylist()
    moments = numbers.times(column.texts.filter(pa.array(~alone)))
    if moments is None:
        return None
    draft = drafts.days()
    draft["why"] = (
        f"{' and '.join(listed)} stands for no day, and is taken for a marker of missing values. "
        f"{draft['why']}"
    )
    return draft | {"odd": listed, "hint": Hint(certainty="probable")}


def _text(column: DistinctTexts) -> dict[str, Any]:
    texts, counts = column.texts, column.counts
    different, rows = len(texts), int(counts.sum())
    if (verdict := codes.of_texts(texts, counts)) is not None:
        return _named(verdict, texts)
    longest = pc.max(pc.utf8_length(texts)).as_py()
    if (different > 0.9 * rows and different > MAX_CATEGORIES) or longest > MAX_CATEGORY_LENGTH:
        why = (
            "No two rows share a value: it names records. Left out."
            if column.unique
            else _NAMES["why"]
        )
        return {"kind": "identifier", "why": why}
    sentences = f"{different:,} different text{'' if different == 1 else 's'}."
    if pc.all(pc.match_substring_regex(texts, "^[0-9]+$")).as_py():
        sentences = f"Codes with leading zeros are texts and no numbers. {sentences}"
    if (values := column.listed()) is not None:
        other = len(values) < different
        sentences += " " + (
            "Those that are not listed become other."
            if other
            else "A text that is not listed counts as missing, or as the first if none can be."
        )
        return {
            **drafts.listed_facts(values, other=other),
            "why": f"{sentences} {drafts.OCCURRING}",
        }
    if different > MAX_CATEGORIES:
        frequent = np.sort(counts)[-MAX_CATEGORIES:]
        singles = int((counts == 1).sum())
        if frequent.sum() < 0.5 * rows and singles > 0.5 * different:
            return drafts.left_out(
                f"{sentences} Most of them occur once. {_WORDS}", [drafts.MADE_OUT]
            )
    return _discovered(column, sentences)


def _discovered(column: DistinctTexts, sentences: str) -> dict[str, Any]:
    """The draft of texts that may not be listed: each release finds the frequent ones, if they are short
    enough."""
    if value_lists.mostly_found(column.texts, column.counts):
        return {**FOUND, "why": f"{sentences} {drafts.FINDING}"}
    why = (
        f"{sentences} Most of them are longer than 15 letters, or have signs besides the usual ones, so "
        "that no release finds them."
    )
    return drafts.left_out(why, _made_up(column.texts))
