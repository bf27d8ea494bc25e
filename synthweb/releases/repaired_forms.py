"""The form of a repaired table: public totals as text or as a file, and what rows are repaired."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import InputError
from synth_engine.mixing import repair
from synthweb.lib.names import validate_one_line
from synthweb.releases import repaired
from synthweb.releases.models import RepairedTable
from synthweb.releases.repaired import RepairOrder


class RepairForm(forms.Form):
    """Public totals, and how many rows are made to meet them."""

    name = forms.CharField(
        max_length=200,
        required=False,
        label=_("Name"),
        help_text=_("Everybody who may draw from the release reads it."),
        validators=[validate_one_line],
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    published = forms.CharField(
        max_length=300,
        label=_("Where the totals are published"),
        help_text=_(
            "Such as the address of the table of a statistical office. It stands in the receipt: nobody "
            "can check it but by reading there."
        ),
        validators=[validate_one_line],
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    totals = forms.CharField(
        max_length=repaired.MAX_TEXT,
        required=False,
        strip=False,
        label=_("Totals"),
        help_text=_(
            "As CSV: a first line with columns of the table and the column count, then a line for each "
            "combination of values. An empty line begins the next table of totals. Bins of numbers are "
            "named as the description names them. A JSON document is read as well."
        ),
        widget=forms.Textarea(
            attrs={"rows": 10, "class": "form-control code", "spellcheck": "false"}
        ),
    )
    file = forms.FileField(
        required=False,
        label=_("or a file of totals"),
        help_text=_("CSV or JSON, at most 1 MB; it takes the place of the text."),
        widget=forms.FileInput(
            attrs={"accept": ".csv,.json,text/csv,application/json", "class": "form-control"}
        ),
    )
    way = forms.ChoiceField(
        choices=RepairedTable.Way.choices,
        label=_("How totals are met"),
        help_text=_(
            "Weights meet any number of tables of totals. Rows are repeated and left out for one table, "
            "which they meet exactly."
        ),
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    rows = forms.IntegerField(
        min_value=1,
        max_value=repaired.MAX_ROWS,
        label=_("Rows that are generated"),
        help_text=_("More rows are more likely to have every combination of the totals."),
        widget=forms.NumberInput(attrs={"class": "form-control"}),
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        file = given.get("file")
        text = given.get("totals", "")
        if file is not None:
            # One byte more than allowed is enough to refuse it.
            content = file.read(repaired.MAX_TEXT + 1)
            if len(content) > repaired.MAX_TEXT:
                self.add_error("file", _("The file is larger than 1 MB."))
                return given
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", _("The file is not UTF-8."))
                return given
        if not text.strip():
            self.add_error("totals", _("Give totals, as text or as a file."))
            return given
        try:
            given["read"] = repair.totals_of_text(text)
        except InputError as error:
            self.add_error("totals" if file is None else "file", error.text)
        return given

    @property
    def order(self) -> RepairOrder:
        """The requested repair."""
        typed = self.cleaned_data
        return RepairOrder(
            name=typed["name"],
            published=typed["published"],
            totals=typed["read"],
            way=typed["way"],
            rows=typed["rows"],
        )
