"""What comes in about reference tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import TableError
from synth_engine.references import Roles
from synthweb.lib.errors import sentence
from synthweb.lib.names import validate_one_line
from synthweb.references.models import RECORDS
from synthweb.references.services import MOST_BYTES, WORD, Brought


def parts_of(lines: Iterable[str]) -> dict[str, tuple[tuple[str, str], ...]]:
    """`parents` and `names` of Roles, from lines of a partition, its column and perhaps the column of its
    names, with colons between them. Errors: ValueError."""
    parents, names = [], []
    for line in filter(None, map(str.strip, lines)):
        name, column, *called = (
            part.strip() for part in line.split(":", 2)
        )  # too few are a ValueError
        if not (name and column and all(called)):
            raise ValueError("a part is empty")
        parents.append((name, column))
        names += [(name, each) for each in called]
    return {"parents": tuple(parents), "names": tuple(names)}


class FileForm(forms.Form):
    """A file, that it is public, and which of its columns is what."""

    kind = forms.ChoiceField(
        required=False,
        label=_("What it has"),
        choices=[
            ("", _("Codes, with points, larger areas or weights")),
            (RECORDS, _("Records, to be read beside the answers of a release")),
        ],
        help_text=_(
            "A table of records has the columns of a dataset: last year’s release, or the survey of "
            "another state."
        ),
    )
    file = forms.FileField(
        label=_("File"),
        widget=forms.FileInput(attrs={"accept": ".csv,.txt,.gz"}),
        help_text=format_lazy(
            _(
                "CSV in UTF-8, plain or packed with gzip, at most {megabytes} MB as uploaded. Files of "
                "LODES (…_xwalk.csv.gz, …_od_main_….csv.gz) are read as they are."
            ),
            megabytes=MOST_BYTES // 2**20,
        ),
        error_messages={
            "required": f"No file came in: choose a CSV of at most {MOST_BYTES // 2**20} MB."
        },
    )
    code = forms.CharField(required=False, max_length=200, label=_("Column of the codes"))
    latitude = forms.CharField(
        required=False, max_length=200, label=_("Column of latitudes, in degrees")
    )
    longitude = forms.CharField(
        required=False, max_length=200, label=_("Column of longitudes, in degrees")
    )
    weight = forms.CharField(
        required=False,
        max_length=200,
        label=_("Column of weights"),
        help_text=_("Residents, jobs, area: 0 or more."),
    )
    parents = forms.CharField(
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "town: ctycsub: ctycsubname"}),
        label=_("Larger parts that each code belongs to"),
        help_text=_(
            "One a line: what to call the partition, a colon, and its column; after another colon, if "
            "there is one, the column of its names."
        ),
    )
    adds = forms.BooleanField(
        required=False,
        label=_(
            "An earlier release: codes stand in several lines, and their weights are summed"
        ),
    )
    word = forms.CharField(
        max_length=20,
        label=format_lazy(
            _(
                "Type the word “{word}” to say that anybody may read this file, and that it holds nothing "
                "of a table that you protect"
            ),
            word=WORD,
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    @property
    def of_columns(self) -> list[forms.BoundField]:
        """The fields that most files need not."""
        return [
            self[name]
            for name in ("code", "latitude", "longitude", "weight", "parents", "adds")
        ]

    @property
    def columns_said(self) -> bool:
        """Whether one of them is filled in, or wrong: then they are shown at once."""
        return any(field.errors or field.value() for field in self.of_columns)

    def clean_word(self) -> str:
        word = str(self.cleaned_data["word"]).strip().lower()
        if word != WORD:
            raise forms.ValidationError(
                _("Type “%(word)s” if the file is public. If it is not, do not upload it here.")
                % {"word": WORD}
            )
        return word

    def clean_parents(self) -> dict[str, tuple[tuple[str, str], ...]]:
        try:
            return parts_of(self.cleaned_data["parents"].splitlines())
        except ValueError:
            raise forms.ValidationError(
                _(
                    "A line is not a name, a colon and a column: write it like “town: ctycsub”, or “town: "
                    "ctycsub: ctycsubname”."
                )
            ) from None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        texts: dict[str, Any] = {
            key: cleaned.get(key) or None for key in ("latitude", "longitude", "weight")
        }
        parents = cleaned.get("parents") or {"parents": (), "names": ()}
        has_roles = any(texts.values()) or bool(parents["parents"]) or bool(cleaned.get("adds"))
        cleaned["roles"] = None
        if cleaned.get("kind") == RECORDS:
            if has_roles or cleaned.get("code"):
                self.add_error(
                    "kind",
                    _("Columns of records have no roles: leave the columns below empty."),
                )
            return cleaned
        if not cleaned.get("code"):
            if has_roles:
                self.add_error(
                    "code",
                    _(
                        "Say the column of the codes too, or leave all columns to be found by their names."
                    ),
                )
            return cleaned
        try:
            adds = bool(cleaned.get("adds"))
            cleaned["roles"] = Roles(code=cleaned["code"], adds=adds, **parents, **texts)
        except TableError as error:
            self.add_error("code", sentence(error))
        return cleaned

    @property
    def brought(self) -> Brought:
        cleaned = self.cleaned_data
        return Brought(
            data=cleaned["file"].read(),
            word=cleaned["word"],
            roles=cleaned["roles"],
            has_records=cleaned["kind"] == RECORDS,
        )


class NewForm(FileForm):
    """A new reference table."""

    name = forms.CharField(
        max_length=200,
        help_text=_("What your colleagues call it, such as “Census blocks 2010”."),
        validators=[validate_one_line],
    )
    published = forms.CharField(
        max_length=1_000,
        label=_("Where anybody can get it"),
        help_text=_("An address or a citation. It stands on the page of the table."),
    )
    field_order = [
        "name",
        "published",
        "file",
        "kind",
        *(name for name in FileForm.base_fields if name not in ("file", "kind")),
    ]


class UseForm(forms.Form):
    """Which version for which column of a draft, and what of it."""

    column = forms.CharField(max_length=200)
    reference = forms.CharField(max_length=16)
    level = forms.CharField(required=False, max_length=100)
    partitions = forms.MultipleChoiceField(required=False)
    weights = forms.BooleanField(required=False)
    floor = forms.FloatField(required=False, min_value=0, max_value=1e12)
    totals = forms.BooleanField(required=False)

    def __init__(self, *args: Any, partitions: tuple[str, ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        # Choices differ from version to version: only names that this one has are valid.
        offered = forms.MultipleChoiceField(
            required=False, choices=[(name, name) for name in partitions]
        )
        self.fields["partitions"] = offered
