"""Forms about cities: the archive that is brought, and the draft that is edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import InputError
from synthweb.accounts.models import User
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities.selectors import CityDocuments
from synthweb.releases import selectors as releases

MAX_ARCHIVE = 2_500_000
_SOURCE = "source-"


class CityArchiveForm(forms.Form):
    """A zip with a specification and what it names."""

    archive = forms.FileField(
        label=_("The folder of the city as a zip"),
        help_text=_(
            "One specification (.yaml), the CSV of the areas, and descriptions that were written by hand; "
            "at most 2.5 MB. Models and receipts are left out: you choose releases for them."
        ),
        widget=forms.FileInput(
            attrs={"accept": ".zip,application/zip", "class": "form-control"}
        ),
        error_messages={"required": _("No file came in: choose a zip of at most 2.5 MB.")},
    )

    def clean_archive(self) -> CityDocuments:
        file = self.cleaned_data["archive"]
        # One byte more than allowed is enough to refuse it.
        content = file.read(MAX_ARCHIVE + 1)
        if len(content) > MAX_ARCHIVE:
            raise forms.ValidationError(_("The file is larger than 2.5 MB."))
        try:
            return cities.read_archive(content)
        except InputError as error:
            raise forms.ValidationError(error.text) from None


class CityDraftForm(forms.Form):
    """The words of the specification, and a release for each source."""

    specification = forms.CharField(
        label=_("Specification"),
        max_length=cities.MAX_SPECIFICATION,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 24, "class": "form-control code", "spellcheck": "false"}
        ),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: User,
        documents: CityDocuments,
    ) -> None:
        super().__init__(data, initial={"specification": documents.specification})
        readable = releases.to_draw_from(user).values_list("code", "name")
        known = [
            ("", gettext("Choose one")),
            *((code, f"{name} ({code})") for code, name in readable),
        ]
        spec = cities.specification_of(documents.specification)
        for name in cities.fed_by_releases(spec):
            self.fields[_SOURCE + name] = forms.ChoiceField(
                required=False,
                choices=known,
                label=name,
                initial=documents.releases.get(name, ""),
                widget=forms.Select(attrs={"class": "form-select"}),
            )

    @property
    def sources(self) -> list[forms.BoundField]:
        """The fields of releases."""
        return [self[name] for name in self.fields if name.startswith(_SOURCE)]

    @property
    def chosen(self) -> dict[str, str]:
        """The release of each source, by its name."""
        return {
            name.removeprefix(_SOURCE): code
            for name, code in self.cleaned_data.items()
            if name.startswith(_SOURCE)
        }
