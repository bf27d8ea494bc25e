"""What comes in from the pages of datasets."""

from __future__ import annotations

import json
from collections.abc import Container

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from synth_engine.domain.document import MAX_BYTES, parse
from synth_engine.errors import DomainError
from synthweb.datasets import draft as drafts
from synthweb.datasets import hints, stated_records
from synthweb.datasets.basis import MAX_STATEMENT_LENGTH
from synthweb.datasets.bulk_edit import MISSING, OUTSIDES, BulkChange
from synthweb.datasets.hints import clean
from synthweb.datasets.kinds.form import DAY_CELLS, NUMBER_CELLS, Fields
from synthweb.datasets.kinds.typed import CHECKED
from synthweb.datasets.services.terms import USUAL_TABLE
from synthweb.lib.errors import sentence

PUBLIC = "public"
"""The answer that a list is public; any other one means that releases find its values."""
MAX_INPUT_LENGTH = 2_000_000  # characters; ten thousand categories fit


class DocumentForm(forms.Form):
    """A description from elsewhere. It is read in memory: settings.py allows no other upload handler, so
    nothing touches a disk."""

    document = forms.FileField(
        label=_("Description"),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
        error_messages={"required": "No file came in: choose a JSON file of at most 2.5 MB."},
    )

    def clean_document(self) -> dict[str, object]:
        try:
            document = parse(self.cleaned_data["document"].read(MAX_BYTES + 1))
        except DomainError as error:
            raise forms.ValidationError(sentence(error)) from None
        if not isinstance(document, dict):
            raise forms.ValidationError(
                _("A description is a JSON object; see docs/domain.md.")
            )
        return document


class Posted:
    """One post of the describe page: a press of one button, with everything typed in the lines that came
    along.

    A line that is open in the editor sends its inputs as `INDEX-field`; every line that is not confirmed
    sends what was suggested for it as `INDEX-suggested`, so that confirming copies what the steward saw and
    nothing else.
    """

    def __init__(self, data: QueryDict) -> None:
        self._data = data
        self.verb, _, index = data.get("do", "save").partition(":")
        self.index = int(index) if index.isdecimal() and len(index) < 7 else None
        total = data.get("total", "")
        self.total = int(total) if total.isdecimal() and len(total) < 7 else None

    def because(self, index: int | None = None) -> str:
        """Where the facts of a line, or of several lines at once, are written, as the steward says."""
        if index is not None:
            key = f"{index}-because"
        elif self.verb == "accept":
            key = "because-open"
        else:
            key = "because"
        return clean(self._data.get(key, "")).strip()[:MAX_STATEMENT_LENGTH]

    def says_public(self, index: int) -> bool:
        """Whether the list of a line is said to be public, on the page of lists that were read from the
        table."""
        return self._data.get(f"{index}-list") == PUBLIC

    @property
    def names(self) -> dict[int, str]:
        """Index → name of every line that came along."""
        ends = "-name"
        keys = (
            key
            for key in self._data
            if key.endswith(ends) and key.removesuffix(ends).isdecimal()
        )
        return {int(key.removesuffix(ends)): clean(str(self._data[key])) for key in keys}

    def version(self, index: int) -> str:
        """The digest of what was kept of a line when it was shown; empty of a program that sends none."""
        return str(self._data.get(f"{index}-version", ""))

    @property
    def rules_version(self) -> str:
        """The same of the rules."""
        return str(self._data.get("rules-version", ""))

    @property
    def table_shown(self) -> str:
        """The facts about the whole table when they were shown."""
        return str(self._data.get("table-shown", ""))

    @property
    def pressed(self) -> str:
        """The button, as it is written in the page."""
        return str(self._data.get("do", "save"))

    @property
    def selected(self) -> list[int]:
        """The lines whose box is ticked."""
        return [
            int(text)
            for text in self._data.getlist("select")
            if text.isdecimal() and int(text) in self.names
        ]

    @property
    def asked(self) -> BulkChange:
        """The facts to set for the selected lines."""

        def one_of(key: str, known: Container[str]) -> str:
            text = self._data.get(f"all-{key}", "")
            return text if text in known else ""

        return BulkChange(
            kind=one_of("kind", drafts.KINDS),
            origin=one_of("origin", drafts.ORIGINS),
            outside=one_of("outside", OUTSIDES),
            missing=one_of("missing", MISSING),
            markers=clean(self._data.get("all-markers", ""))[:10_000],
            bins=clean(self._data.get("all-bins", ""))[:20].strip(),
        )

    @property
    def group_typed(self) -> dict[str, str]:
        """What stands in the panel for several columns, as it was typed."""
        typed = {
            key: clean(self._data.get(f"all-{key}", ""))[:10_000]
            for key in ("kind", "origin", "outside", "missing", "markers", "bins")
        }
        return {**typed, "because": self.because()}

    @property
    def replaces(self) -> bool:
        """Whether a file that is brought along takes the place of what is typed."""
        return self._data.get("both-say") == "file"

    @property
    def editing(self) -> list[int]:
        """The lines that are open in the editor."""
        return [index for index in self.names if f"{index}-kind" in self._data]

    def suggested(self, index: int) -> drafts.Column | None:
        """What was suggested for a line, as the page showed it."""
        try:
            # It comes back from a browser, and is trusted no more than what is typed.
            column = json.loads(self._data.get(f"{index}-suggested", ""))
        except (ValueError, RecursionError):
            return None
        if (suggested := hints.read_column(column)) is None:
            return None
        if hint := hints.read_hint(column.get("hint")):
            suggested["hint"] = hint
        return suggested

    def written(self, index: int) -> Fields:
        """How the cells of a line seem to be written, as the page proposed it."""
        try:
            # It comes back from a browser, and is trusted no more than what is typed.
            proposed = json.loads(self._data.get(f"{index}-written", ""))
        except (ValueError, RecursionError):
            return {}
        if not isinstance(proposed, dict):
            return {}
        keys = (*NUMBER_CELLS, *DAY_CELLS)
        return {key: clean(str(proposed[key]))[:100] for key in keys if key in proposed}

    def typed(self, index: int) -> drafts.Column | None:
        """What stands in the editor of a line; None when it is not open."""
        kind = self._data.get(f"{index}-kind")
        if kind is None:
            return None
        wanted = drafts.FIELDS.get(kind, ())
        fields = {
            key: clean(self._data.get(f"{index}-{key}", ""))[:MAX_INPUT_LENGTH]
            for key in wanted
        }
        origin, because = self._data.get(f"{index}-origin", ""), self.because(index)
        return {
            "kind": kind if kind in drafts.KINDS else "",
            "origin": origin if origin in drafts.ORIGINS else "declared",
            "fields": fields,
            **({"because": because} if because else {}),
        }

    @property
    def records(self) -> int | None:
        """About how many records there are, when a band was chosen."""
        text = self._data.get("records_band", "")
        return int(text) if text in stated_records.CHOICES else None

    @property
    def table(self) -> dict[str, str] | None:
        """The facts about the whole table, when they came along."""
        if "relation" not in self._data:
            return None
        typed = {key: clean(self._data.get(key, ""))[:5_000].strip() for key in USUAL_TABLE}
        # A program may say nothing of it: the usual one.
        typed["unit_spelling"] = typed["unit_spelling"] or USUAL_TABLE["unit_spelling"]
        # A number of rows is public only if somebody says so: else it is counted with noise.
        return typed if self._data.get("rows_public") == CHECKED else typed | {"rows": ""}
