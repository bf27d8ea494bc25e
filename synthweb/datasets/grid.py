"""The lines of the describe page: plain values for the templates. Nothing here decides who sees what."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Attribute, Undeclared, Weak, public_ranges
from synth_engine.domain.document import parse
from synth_engine.errors import DomainError
from synth_engine.evaluation.column_check import ColumnCheck, Light
from synth_engine.kinds.completions import Completions
from synth_engine.plans import domain_learning, sample_size
from synth_engine.plans.scale_learning import MAX_BINS
from synthweb.datasets import basis, hints, inputs, looks, sets
from synthweb.datasets import draft as drafts
from synthweb.datasets.draft import Column
from synthweb.datasets.draft_to_attribute import attribute_of, separable
from synthweb.datasets.evidence import Cells, Evidence, ReadCell
from synthweb.datasets.field_errors import PlacedError, placed_errors
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.kinds.form import Fields
from synthweb.datasets.kinds.typed import CHECKED, TypedFields
from synthweb.datasets.learned import is_learned, may_be_found, may_be_learned
from synthweb.datasets.pictures import Bars, ColumnForecast
from synthweb.datasets.read_lists import values_read
from synthweb.lib.language import translated, translated_sentences, written_number
from synthweb.lib.number_format import grouped, shortened
from synthweb.lib.saved_meanwhile import digest

LineLight = Light | Literal["kept"]
"""A light of a line: that of its cells, or that a column was confirmed although they do not fit."""
LIGHTS: dict[LineLight, str | Promise] = {
    "fits": _("fits"),
    "question": _("question"),
    "kept": _("does not fit, confirmed so"),
    "unfit": _("does not fit"),
}
"""What a light says, in the order of a list that begins with what is well."""


@dataclass(frozen=True, kw_only=True)
class ColumnLine:
    """One column: what is suggested for it, what was typed, and where that leaves it."""

    index: int
    name: str
    suggested: Column | None
    typed: Column | None
    editing: bool = False
    selected: bool = False
    asking: bool = False  # where its facts are written was not said yet
    sharing: int = 1  # columns that share a release's ε
    max_records: int = 1
    placed: bool = (
        False  # whether its codes have public points, or are those of a coordinate of a place
    )
    cells: Cells | None = None
    current: bool = False  # whether it is the column that the page shows whole
    learning: int = 0  # columns whose bounds are learned
    finding: int = 0  # columns of texts whose values are found
    rows: int | None = None  # of the table, where they are public
    refused: tuple[DomainError, ...] = ()  # what the whole description has against it
    stored: Column | None = (
        None  # of a line that was saved otherwise meanwhile, what is kept of it
    )
    meanwhile: bool = False  # whether it is such a line
    looked: bool = False  # whether the histogram of its real values was opened

    @property
    def version(self) -> str:
        """The digest of what is kept of it, which the page sends back."""
        return digest(self.stored if self.meanwhile else self.typed)

    @property
    def stored_summary(self) -> str:
        """Of a line that was saved otherwise meanwhile: what is kept, in one line."""
        line = replace(self, typed=self.stored, meanwhile=False)
        return f"{line.kind_label}: {line.summary}" if line.summary else line.kind_label

    @property
    def confirmed(self) -> bool:
        return bool(self.typed and self.typed.get("confirmed"))

    @cached_property
    def column(self) -> Column:
        return drafts.merge_over_suggestion(self.suggested, self.typed)

    @cached_property
    def _read(self) -> Attribute | DomainError:
        try:
            return attribute_of(self.name, self.column)
        except DomainError as error:
            return error

    @property
    def _attribute(self) -> Attribute | None:
        """How the column reads; None where it is not sound."""
        return self._read if isinstance(self._read, Attribute) else None

    @property
    def error(self) -> DomainError | None:
        """The faults to repair, once somebody has tried to confirm."""
        tried = bool(self.typed and (self.typed.get("tried") or self.confirmed))
        if tried and isinstance(self._read, DomainError):
            return self._read
        return self.refused[0] if self.refused else None

    @cached_property
    def placed_errors(self) -> list[PlacedError]:
        """All that is to mend, each at its input, once somebody has tried to confirm."""
        if self.error is None:
            return []
        return placed_errors(self.name, self.column, refused=self.refused)

    @property
    def column_errors(self) -> list[PlacedError]:
        """Those at no input that is shown."""
        shown = {each.key for each in self.inputs}
        return [each for each in self.placed_errors if each.key not in shown]

    @property
    def state(self) -> str:
        """confirmed, wrong, typed, suggested or empty."""
        if self.error:
            return "wrong"
        if self.confirmed:
            return "confirmed"
        if self.typed:
            return "typed"
        return "suggested" if self.suggested else "empty"

    @cached_property
    def check(self) -> ColumnCheck | None:
        """How real cells fit what is described; None where there are none, or nothing sound is described."""
        if self.cells is None or isinstance(self._read, DomainError):
            return None
        return self.cells.check(self._read, draws=self.current and self.looked)

    @cached_property
    def light(self) -> LineLight:
        """Whether cells fit, or something has to be answered first. A suggestion that nobody changed fits its
        own data, and is only looked at when its column is shown."""
        if self.error or isinstance(self._read, DomainError):
            return "unfit" if self.typed else "question"
        touched = self.typed is not None or self.current or bool(self.answer)
        if touched and self.check is not None and self.check.light != "fits":
            return (
                "kept" if self.confirmed and self.check.light == "unfit" else self.check.light
            )
        return "question" if self.question or self.doubt == gettext("Not certain") else "fits"

    @cached_property
    def read_list(self) -> list[str]:
        """The values that it lists and that were read from the table, while nobody has decided about them."""
        return values_read(self.column, self.suggested) if self.is_open else []

    @property
    def learned(self) -> bool:
        """Whether a release learns its bounds."""
        return is_learned(self.column)

    @property
    def may_be_learned(self) -> bool:
        """Whether its bounds may be learned, and are not yet."""
        return may_be_learned(self.column) and not self.learned

    @property
    def learning_percent(self) -> str:
        """The share of a release that learning its bounds takes."""
        columns = max(1, self.learning + (not self.learned))
        return f"{100 * float(domain_learning.scale_share(columns)):.2g}"

    @property
    def may_be_found(self) -> bool:
        """Whether it is one of texts, of which a release can find the frequent ones."""
        return may_be_found(self.column)

    @property
    def finding_percent(self) -> str:
        """The share of a release that finding its values takes."""
        return f"{100 * float(domain_learning.text_share(self.finding + 1)):.2g}"

    @property
    def light_label(self) -> str:
        return str(LIGHTS[self.light])

    @property
    def lost(self) -> tuple[str, ...]:
        """What does not fit, or may be meant otherwise, in sentences."""
        touched = self.typed is not None or self.current or bool(self.answer)
        return (*self.check.reasons, *self.check.doubts) if touched and self.check else ()

    @cached_property
    def written(self) -> Fields:
        """How its cells seem to be written, where the column does not say so and could."""
        shown = {each.key for each in self.inputs}
        if self.cells is None or self.confirmed or isinstance(self._read, DomainError):
            return {}
        fields = self.column["fields"]
        proposed = {
            key: text
            for key, text in self.cells.written(of_days="unpadded" in shown).items()
            if key in shown and not fields.get(key)
        }
        try:
            attribute_of(self.name, {**self.column, "fields": {**fields, **proposed}})
        except DomainError:
            return {}  # as of ISO dates, which have no other form
        return proposed

    @property
    def written_json(self) -> str:
        return json.dumps(self.written, ensure_ascii=False)

    @property
    def written_words(self) -> list[str]:
        """The same in the words of the inputs."""
        labels = {key: inputs.of(key, self.kind, "").label for key in self.written}
        return [
            labels[key] if text == CHECKED else f"{labels[key]}: “{text}”"
            for key, text in self.written.items()
        ]

    @property
    def read_cells(self) -> list[ReadCell]:
        """Real cells beside how each will be read."""
        if self.cells is None or isinstance(self._read, DomainError):
            return []
        return self.cells.shown(self._read)

    @cached_property
    def expected(self) -> ColumnForecast | None:
        """The error to expect of this column, from public facts alone; None where nobody said about how many
        records there are."""
        if not self.codes or self.rows is None:
            return None
        return ColumnForecast.of(
            self.codes, columns=self.sharing, max_records=self.max_records, rows=self.rows
        )

    @property
    def codes(self) -> int:
        """How many codes a release counts of it; 0 of a column that is left out, made up or computed, and has
        no error of its own."""
        if isinstance(self._read, DomainError):
            return 0
        return MAX_BINS if isinstance(self._read, Undeclared) else self._read.size

    @cached_property
    def picture(self) -> Bars | None:
        """The histogram of the real values, with bins as they are declared or as a release can afford
        them."""
        if self.check is None or self.check.histogram is None or not self.codes:
            return None
        bins = self.expected.clear_bins if self.learned and self.expected else None
        return Bars.of(self.check.histogram, affordable=bins)

    @property
    def is_shut(self) -> bool:
        """Whether its real values have a histogram that nobody has opened."""
        return not self.looked and self.check is not None and self.check.has_values

    @property
    def has_range(self) -> bool:
        """Whether a range is stated and kept, so that the histogram may be opened."""
        return looks.has_range(self.typed)

    @property
    def needs_statement(self) -> bool:
        """Whether somebody has to say where its facts are written, before it is confirmed with others."""
        clear = self.is_open and not self.question and not self.read_list
        return clear and basis.known(self.column, self._attribute) is None

    @property
    def is_open(self) -> bool:
        return self.state != "confirmed"

    @property
    def kind(self) -> str:
        return str(self.column["kind"])

    @property
    def kind_label(self) -> str:
        return str(drafts.KINDS.get(self.kind, _("not chosen")))

    @property
    def origin(self) -> str:
        return str(self.column.get("origin") or "declared")

    @property
    def origin_label(self) -> str:
        match self.state:
            case "confirmed":
                return str(drafts.ORIGINS[self.origin])
            case "suggested" if self._has_public_range:
                return gettext("Public by its name")
            case "suggested":
                return gettext("Read from your data")
            case "empty":
                return ""
        if self.typed and self.typed.get("brought"):
            return gettext("%(origin)s, imported and not confirmed") % {
                "origin": drafts.ORIGINS[self.origin]
            }
        return gettext("Typed, not confirmed")

    @property
    def _has_public_range(self) -> bool:
        facts = {} if self._attribute is None else self._attribute.to_json()
        return public_ranges.states(self.name, facts) is not None

    @property
    def why(self) -> str:
        return translated_sentences(self._why)

    @property
    def _why(self) -> str:
        """The same as the engine says it."""
        if self.suggested is None or self.confirmed:
            return ""
        return str(self.suggested.get("why", ""))

    @property
    def reason(self) -> str:
        """The first sentence of it, for the line."""
        if not self._why or self.state != "suggested":
            return ""
        return translated(self._why.partition(". ")[0].removesuffix(".") + ".")

    @property
    def _hint(self) -> Mapping[str, Any]:
        return (self.suggested.get("hint") or {}) if self.suggested and self.is_open else {}

    @property
    def question(self) -> str:
        """What has to be answered first; empty once it is, or something was typed."""
        return (
            ""
            if self.answer or self.typed
            else translated(str(self._hint.get("question") or ""))
        )

    @property
    def answer(self) -> str:
        """The key of the reading that was chosen."""
        return str(self._hint.get("answer") or "")

    @property
    def choices(self) -> list[tuple[str, str, bool]]:
        """Key and label of everything that the column could be, and whether it is that now."""
        return [
            (each["key"], translated(each["label"]), each["key"] == self.answer)
            for each in self._hint.get("choices") or ()
        ]

    @property
    def hint_remarks(self) -> list[str]:
        """What holds in the data, and is no fact of the description."""
        return list(self._hint.get("remarks") or ())

    @property
    def doubt(self) -> str:
        """How sure the suggestion is, in words, where it is not."""
        if self.state != "suggested" or self.answer:
            return ""
        return {"open": gettext("Not certain"), "probable": gettext("Probable")}.get(
            str(self._hint.get("certainty")), ""
        )

    @property
    def suggested_json(self) -> str:
        # The page sends it back with each press: what is confirmed is then what was shown, and
        # the preview need not be opened again.
        if self.confirmed or self.suggested is None:
            return ""
        # A hint without a choice answers nothing.
        sent = {
            key: each
            for key, each in self.suggested.items()
            if key != "hint" or self._hint.get("choices") or self._hint.get("question")
        }
        return json.dumps(sent, ensure_ascii=False)

    @property
    def summary(self) -> str:
        """Values, bounds and bins in one line."""
        return summary(self._read) if isinstance(self._read, Attribute) else ""

    @property
    def many(self) -> str:
        """What very many codes ask for, from the description alone."""
        if (
            isinstance(self._read, DomainError | Undeclared)
            or self._read.size <= sample_size.MANY_CODES
        ):
            return ""
        needed = grouped(sample_size.rows_for(self._read.size, columns=self.sharing))
        facts = {
            "codes": grouped(self._read.size),
            "columns": ngettext("one column", "%(number)s columns", self.sharing)
            % {"number": self.sharing},
            "records": needed,
        }
        if not self.placed:
            return (
                gettext(
                    "%(codes)s codes: at ε = 1, shared by %(columns)s, noise outweighs them below about "
                    "%(records)s records. Fewer values or wider bins keep more."
                )
                % facts
            )
        sentence = (
            gettext(
                "%(codes)s codes with public points: methods for places, “adaptive” and with public totals "
                "“on-the-map”, count none by itself and keep places as finely as there are records. Other "
                "methods, at ε = 1 shared by %(columns)s, lose them in noise below about %(records)s "
                "records."
            )
            if self.kind == "categorical"
            else gettext(
                "%(codes)s codes of a coordinate: methods for places, “adaptive” and with public totals "
                "“on-the-map”, count none by itself and keep places as finely as there are records. Other "
                "methods, at ε = 1 shared by %(columns)s, lose them in noise below about %(records)s "
                "records."
            )
        )
        return sentence % facts

    @property
    def missing(self) -> str:
        if isinstance(self._read, DomainError) or self.kind == "identifier":
            return ""
        markers = [marker or "empty cell" for marker in self._read.missing or ()]
        return ", ".join(markers) or "none"

    @property
    def inputs(self) -> list[inputs.Input]:
        fields = self.column["fields"]
        wrong: dict[str, str] = {}
        for each in self.placed_errors:
            wrong.setdefault(each.key, each.sentence)
        if not wrong and self.current and self.check and self.check.unreadable == 1:
            shown = (
                key
                for key in ("format", "day_format", "of", "low")
                if key in drafts.FIELDS[self.kind] and FORMS[self.kind].is_shown(key, fields)
            )
            wrong = dict.fromkeys(list(shown)[:1], f"{self.check.reasons[0]}.")
        return [
            replace(
                inputs.of(key, self.kind, str(fields.get(key) or "")), error=wrong.get(key, "")
            )
            for key in drafts.FIELDS.get(self.kind, ())
            if FORMS[self.kind].is_shown(key, fields)
            and (key != "separate_markers" or self._is_separable)
        ]

    @property
    def _is_separable(self) -> bool:
        return separable(self.kind, TypedFields(self.name, self.column["fields"]))

    @property
    def written_marker(self) -> str:
        """The marker that samples write for every missing value; empty where there are no others, or each has
        its own."""
        if isinstance(self._read, DomainError) or self._read.separate_markers:
            return ""
        markers = self._read.missing or ()
        return (markers[0] or "∅") if len(markers) > 1 else ""

    @property
    def separate_markers(self) -> bool:
        """Whether each missing value is written by its own marker."""
        return isinstance(self._read, Attribute) and self._read.separate_markers

    @property
    def set_told(self) -> str:
        """How large the public set of a weak column is, and what finding its values needs."""
        return (
            set_summary(self._read, max_records=self.max_records) if self.kind == "weak" else ""
        )

    @property
    def completions_told(self) -> str:
        """By which public texts beginnings are completed, and how to have others; empty where there are
        none."""
        text = self.column["fields"].get("completions") if self.kind == "weak" else ""
        return completions_summary(str(text)) if text else ""

    @property
    def because(self) -> str:
        """Where its facts are written, as somebody said it."""
        return str(self.column.get("because") or "")

    @property
    def as_suggested(self) -> basis.FactCount:
        """How many of its facts equal the suggestion, to be shown beside the statement: only of a line that
        shows it."""
        return basis.count_facts(self.name, self.column, self.suggested)


def summary(attribute: Attribute) -> str:
    """Values, bounds and bins in one line."""
    form = FORMS.get(attribute.kind)
    return form.summary(attribute) if form else ""


def set_summary(attribute: Attribute | DomainError, *, max_records: int) -> str:
    """The size of a public set and what discovery will need; or what is wrong with it."""
    if isinstance(attribute, DomainError):
        return f"{attribute.rule}; {attribute.repair}."
    if not isinstance(attribute, Weak):
        raise TypeError("the values are no public set")
    least = sample_size.records_to_be_found(attribute, max_records=max_records)
    return gettext(
        "%(values)s values. With a tenth of ε = 1 spent on finding them, a value comes out that about "
        "%(records)s records have; rarer ones are “other”."
    ) % {"values": _counted(attribute.values.size), "records": grouped(least)}


def completions_summary(text: str) -> str:
    """Of which set the texts are, and how many, from their JSON."""
    try:
        completions = Completions.from_json(parse(text.encode()))
    except DomainError as error:
        return f"{error.rule}; {error.repair}."
    public = completions.values.to_json()
    kind = str(public.get("name") if public["set"] == "known" else public["set"])
    source = sets.CHOICES.get(kind, "a combined set")
    weighed = ", the likely ones more often" if completions.weights else ""
    return (
        "A text of which only the beginning is found is completed by one of "
        f"{grouped(completions.values.size)} public texts{weighed}. They are: {source}. To change them, "
        "upload a description (DOMAIN.json) with others, or without any."
    )


def _counted(number: int) -> str:
    """A size that may have thirty digits."""
    return (
        grouped(number)
        if number < 10**9
        else written_number(f"about {number:.3g}".replace("e+", " · 10^"))
    )


@dataclass(frozen=True, kw_only=True)
class ColumnCount:
    """How many columns there are, how many are open, and how many of these have a question. The others are
    clear."""

    total: int
    still: int
    asked: int

    @property
    def clear(self) -> int:
        return self.still - self.asked

    @classmethod
    def of(cls, lines: Sequence[ColumnLine]) -> ColumnCount:
        still = [line for line in lines if not line.confirmed]
        return cls(
            total=len(lines), still=len(still), asked=sum(bool(line.question) for line in still)
        )


# --- all lines ----------------------------------------------------------------------------------------------
def lines(
    *,
    payload: Mapping[str, Any] | None,
    draft: drafts.Draft,
    editing: Collection[int] | None = (),
    selected: Collection[int] = (),
    asking: Collection[int] = (),
    placed: Collection[str] = (),
) -> list[ColumnLine]:
    """A line for each column of the table, or of the draft when the preview has expired. `editing` None: all.
    `placed`: columns whose codes have public points."""
    typed = drafts.columns(draft)
    sharing = drafts.count_sharing_columns(
        draft, total=len(typed if payload is None else payload["columns"])
    )
    records = drafts.max_records(draft)
    placed = drafts.placed_columns(draft) | set(placed)
    suggestions = hints.suggested_columns(payload, draft) if payload else {}
    learning, finding = learned_and_found(suggestions, typed)
    looked = draft.get("looked") or {}
    evidence = Evidence(payload) if payload else None
    return [
        ColumnLine(
            index=index,
            name=name,
            suggested=suggestions.get(name),
            typed=typed.get(name),
            editing=editing is None or index in editing,
            selected=index in selected,
            asking=index in asking,
            sharing=sharing,
            max_records=records,
            placed=name in placed,
            cells=evidence.of(name) if evidence else None,
            learning=learning,
            finding=finding,
            looked=name in looked,
        )
        for index, name in _names_by_index(payload, typed)
    ]


def _names_by_index(
    payload: Mapping[str, Any] | None, typed: Mapping[str, drafts.Column]
) -> list[tuple[int, str]]:
    """The place and the name of each column, of the preview or, where that has expired, of the draft."""
    if payload is not None:
        return list(enumerate(payload["columns"]))
    return sorted(
        (column.get("place", place), name) for place, (name, column) in enumerate(typed.items())
    )


def learned_and_found(
    suggested: Mapping[str, Column], typed: Mapping[str, Column]
) -> tuple[int, int]:
    """How many columns are described, or suggested, without the bounds that a release then learns, and how
    many by a public set in which it finds their values."""
    shown = [
        drafts.merge_over_suggestion(suggested.get(name), typed.get(name))
        for name in {*typed, *suggested}
    ]
    return sum(map(is_learned, shown)), sum(column.get("kind") == "weak" for column in shown)


def first_rows(payload: Mapping[str, Any]) -> list[list[str]]:
    """The rows of a preview, each cell as far as there is room. Cut here: a filter of the template for
    thousands of cells takes a third of the page's time."""
    return [[_cell(text, most=40) for text in row] for row in payload.get("preview", ())]


def _cell(text: str, *, most: int) -> str:
    return shortened(text, most=most) or "∅"
