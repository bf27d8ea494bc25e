"""What comes in about the table itself: a file, a name, the form of a CSV, the word to delete it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import TableError
from synth_engine.formats import (
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    ERROR_CELLS,
    KINDS,
    MAX_VOUCHER,
    PACKED,
    QUOTES,
    THOUSANDS,
    WORKBOOKS,
    Dialect,
    endings,
    unknown_ending,
)
from synth_engine.formats.dialect import MOST_HEADER_LINES, MOST_LEFT_OUT
from synthweb.datasets import sealed_names
from synthweb.datasets.models import Dataset
from synthweb.datasets.uploads import FIELD, ReceivedTable
from synthweb.lib.errors import sentence
from synthweb.lib.names import validate_one_line
from synthweb.lib.saved_meanwhile import MergedForm

# By name: a tab is no value of an input.
DELIMITER_NAMES = {name.replace(" ", "-"): sign for sign, name in DELIMITERS.items()}
THOUSANDS_NAMES = {name.replace(" ", "-"): sign for sign, name in THOUSANDS.items()}
DECIMAL_NAMES = {name.split(" ")[1]: sign for sign, name in DECIMALS.items()}
CSV_FIELDS = (
    "delimiter",
    "encoding",
    "quote",
    "header_lines",
    "names",
    "spaced",
    "literal",
    "escape",
)
SHEET_FIELDS = ("sheet", "error_cells", "vouched_by")
QUOTE_NAMES = {name.split(" ")[0]: sign for sign, name in QUOTES.items()}
HEADERS = {
    "yes": _("names of columns"),
    "no": _("a row like the others: columns are called column_1, column_2 …"),
}
EXTRA_ROWS_NAMES = {
    "refuse": _("Refuse the file, with the line"),
    "keep": _("Keep them as records"),
    "drop": _("Leave them out, wherever they stand"),
}
CHOOSE_AGAIN = "Choose the file again: browsers do not send it a second time by themselves."


class NameForm(MergedForm):
    """What a dataset is called."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        help_text=_("What your colleagues call this table."),
        validators=[validate_one_line],
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_(
            "Where it comes from, who is in it. Colleagues see it, and so do analysts you share releases "
            "with."
        ),
    )


def file_attributes() -> dict[str, str]:
    """What the input and its script have to know of the kinds that are taken. A browser offers files by the
    last part of their names alone: `.csv.gz` is offered as `.gz`."""
    taken = endings(KINDS)
    offered = dict.fromkeys(f".{ending.rpartition('.')[2]}" for ending in taken)
    return {
        "accept": ",".join(offered),
        "data-endings": " ".join(taken),
        "data-packed": " ".join(ending for ending in taken if ending in endings(PACKED)),
        "data-unknown": sentence(unknown_ending(KINDS)),
    }


class TableFileForm(forms.Form):
    """A table. Its bytes have gone into the vault while the request came in, or in requests before it:
    `upload` is the code of these."""

    upload = forms.CharField(required=False, max_length=16, widget=forms.HiddenInput)
    table = forms.FileField(
        label=_("Table"),
        # The intake refuses an empty file with a repair; the check of Django would come first.
        allow_empty_file=True,
        widget=forms.FileInput(attrs=file_attributes()),
        help_text=_(
            "CSV, plain or packed with gzip (.csv.gz); JSON lines; Parquet; an Excel sheet; a file of SPSS "
            "or Stata; one of them in a ZIP archive."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.is_bound and self.data.get("upload"):
            self.fields[FIELD].required = False

    def forget_upload(self) -> None:
        """The upload is over: when the form is shown again, it asks for the file."""
        self.data = {name: self.data[name] for name in self.data if name != "upload"}
        self.fields[FIELD].required = True

    def clean_table(self) -> ReceivedTable | None:
        received = self.cleaned_data[FIELD]
        if received is None and not self.fields[FIELD].required:
            return None
        if not isinstance(received, ReceivedTable):
            raise forms.ValidationError(_("No table came in; choose a file."))
        if received.refusal is not None:
            raise forms.ValidationError(sentence(received.refusal))
        return received

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.errors and FIELD not in self.errors and not self.data.get("upload"):
            self.add_error(FIELD, CHOOSE_AGAIN)
        return cleaned


class UploadForm(TableFileForm, NameForm):
    """A new table: everything at once."""

    field_order = ["name", "description", "table"]


class DialectForm(MergedForm):
    """How a CSV is written."""

    delimiter = forms.ChoiceField(
        label=_("Between cells"),
        choices=[(key, DELIMITERS[sign].capitalize()) for key, sign in DELIMITER_NAMES.items()],
    )
    encoding = forms.ChoiceField(label=_("Letters"), choices=list(ENCODINGS.items()))
    quote = forms.ChoiceField(
        label=_("Around cells that hold one"),
        choices=[(key, QUOTES[sign].capitalize()) for key, sign in QUOTE_NAMES.items()],
    )
    sheet = forms.CharField(
        required=False,
        strip=False,
        max_length=200,
        help_text=_("Its name; empty if one sheet alone has cells."),
    )
    error_cells = forms.ChoiceField(
        label=_("Cells that show an error, like #N/A"),
        required=False,
        choices=[(key, text.capitalize()) for key, text in ERROR_CELLS.items()],
    )
    vouched_by = forms.CharField(
        label=_("Who vouches for the formulas"),
        required=False,
        max_length=MAX_VOUCHER,
        validators=[validate_one_line],
        help_text=_(
            "Name and role. Results of formulas are read where somebody vouches that each is computed from "
            "its own row alone; every receipt names who."
        ),
    )
    header = forms.ChoiceField(
        label=_("The first line is"),
        choices=list(HEADERS.items()),
        widget=forms.RadioSelect,
        initial="yes",
    )
    skip = forms.IntegerField(
        label=_("Lines above that"),
        required=False,
        min_value=0,
        max_value=MOST_LEFT_OUT,
        help_text=_("Left out: titles, dates."),
    )
    footer = forms.IntegerField(
        label=_("Lines at the end"),
        required=False,
        min_value=0,
        max_value=MOST_LEFT_OUT,
        help_text=_("Left out: sums, sources."),
    )
    decimal = forms.ChoiceField(
        label=_("Decimals behind"),
        required=False,
        choices=[(key, DECIMALS[sign]) for key, sign in DECIMAL_NAMES.items()],
    )
    thousands = forms.ChoiceField(
        label=_("Between thousands"),
        required=False,
        choices=[(key, THOUSANDS[sign]) for key, sign in THOUSANDS_NAMES.items()],
    )

    units = forms.CharField(
        label=_("Left out around numbers"),
        required=False,
        max_length=400,
        help_text=_("Currencies, percent signs and units, separated by blanks: $ % kg."),
    )
    header_lines = forms.IntegerField(
        label=_("Lines with names"),
        required=False,
        min_value=1,
        max_value=MOST_HEADER_LINES,
        help_text=_("Joined: “2019” above “male” is “2019 male”."),
    )
    names = forms.CharField(
        label=_("Names of the columns"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_(
            "One a line, in place of those in the file: for columns without a name or with the same one."
        ),
    )
    extra_rows = forms.ChoiceField(
        label=_("Empty rows, notes and totals"),
        required=False,
        choices=list(EXTRA_ROWS_NAMES.items()),
        help_text=_(
            "Rows without a cell, with a note in the first cell alone, or beginning with “Total”."
        ),
    )
    escape = forms.ChoiceField(
        label=_("A backslash before a quotation mark"),
        required=False,
        choices=[
            ("", _("Refuse the file")),
            ("backslash", _("Makes the mark a letter")),
            ("none", _("Is a letter itself")),
        ],
    )
    spaced = forms.BooleanField(
        label=_("Blanks behind a delimiter are no part of the cell"), required=False
    )
    literal = forms.BooleanField(
        label=_("Quotation marks inside unquoted cells are letters"),
        required=False,
        help_text=_('As in 3" pipe.'),
    )

    def __init__(
        self,
        *args: Any,
        file_kind: str,
        words: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        """words: a few words of the table in each encoding that it may have, for its steward."""
        super().__init__(*args, **kwargs)
        if words:
            shown = {
                name: f"{ENCODINGS[name]}: {', '.join(some)}" for name, some in words.items()
            }
            others = {name: text for name, text in ENCODINGS.items() if name not in shown}
            self.fields["encoding"] = forms.ChoiceField(
                label=_("Letters"), choices=list((shown | others).items())
            )
        for name in CSV_FIELDS if file_kind in WORKBOOKS else SHEET_FIELDS:
            del self.fields[name]

    @property
    def further(self) -> bool:
        """Whether a fact that few files need is not as usual, or wrong."""
        usual = ("", None, False, 1, "refuse")
        return any(
            self[name].errors or self[name].value() not in usual
            for name in (*CSV_FIELDS[3:], "extra_rows")
            if name in self.fields
        )

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        *,
        data: Mapping[str, object] | None = None,
        words: Mapping[str, Sequence[str]] | None = None,
    ) -> DialectForm:
        """As it is read now, or as it is guessed to be written. data: what was sent, over that."""
        now = sealed_names.form_of(dataset) or Dialect()
        names = {sign: key for key, sign in DELIMITER_NAMES.items()}
        return cls(
            data,
            file_kind=dataset.file_kind,
            words=words,
            stored={
                "delimiter": names.get(now.delimiter, "comma"),
                "encoding": now.encoding,
                "quote": _name_of(now.quote, QUOTE_NAMES),
                "sheet": now.sheet,
                "error_cells": now.error_cells,
                "vouched_by": now.vouched_by,
                "header": "yes" if now.header else "no",
                "skip": now.skip,
                "footer": now.footer,
                "decimal": _name_of(now.decimal, DECIMAL_NAMES),
                "thousands": _name_of(now.thousands, THOUSANDS_NAMES),
                "units": " ".join(now.units),
                "header_lines": now.header_lines,
                "names": "\n".join(now.names),
                "spaced": now.spaced,
                "literal": now.literal,
                "escape": {"": "", "\\": "backslash", "none": "none"}[now.escape],
                "extra_rows": now.extra_rows,
            },
        )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        try:
            _ = self.dialect if not self.errors else None
        except TableError as error:
            field = "units" if "unit" in error.rule else "thousands"
            self.add_error(field, sentence(error))
        return cleaned

    @property
    def dialect(self) -> Dialect:
        """What was said, once it is valid."""
        data = self.cleaned_data
        return Dialect(
            encoding=data.get("encoding", "utf-8"),
            delimiter=DELIMITER_NAMES.get(data.get("delimiter", ""), ""),
            quote=QUOTE_NAMES.get(data.get("quote", ""), '"'),
            header=data["header"] == "yes",
            skip=data["skip"] or 0,
            footer=data["footer"] or 0,
            decimal=DECIMAL_NAMES.get(data["decimal"], "."),
            thousands=THOUSANDS_NAMES.get(data["thousands"], ""),
            units=tuple(dict.fromkeys(data.get("units", "").split())),
            sheet=data.get("sheet", ""),
            error_cells=data.get("error_cells") or "refuse",
            vouched_by=data.get("vouched_by", ""),
            header_lines=data.get("header_lines") or 1,
            names=tuple(
                name.strip() for name in data.get("names", "").splitlines() if name.strip()
            ),
            spaced=data.get("spaced", False),
            literal=data.get("literal", False),
            escape={"backslash": "\\"}.get(data.get("escape", ""), data.get("escape", "")),
            extra_rows=data.get("extra_rows") or "refuse",
            # Whoever sends this form has seen the questions about marks: the answers are part
            # of the form of the file (ADR 11).
            marks_confirmed=True,
        )


def _name_of(sign: str, names: dict[str, str]) -> str:
    return next(name for name, known in names.items() if known == sign)


class DeleteForm(forms.Form):
    """The name of the dataset, typed: nobody deletes one by a slip."""

    name = forms.CharField(
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, dataset: Dataset, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._wanted = dataset.name
        self.fields["name"].label = f"Type its name, {dataset.name}, to delete it"

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self._wanted.strip():
            raise forms.ValidationError(
                _("This is another name. Type it exactly as it stands above.")
            )
        return name
