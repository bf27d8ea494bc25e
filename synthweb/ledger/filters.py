"""Filters of entries and of the audit log: what is typed into an address, checked, and applied to a query.

Days are whole days in UTC, the last one included.
"""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import urlencode

from django import forms
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from synthweb.ledger.models import BudgetAccount, LedgerEntry

Row = TypeVar("Row", bound=Model)
_TEXT = {"class": "form-control", "autocomplete": "off", "spellcheck": "false"}
MEANING = {
    "GRANT": gettext_lazy("granted"),
    "HOLD": gettext_lazy("held"),
    "CHARGE": gettext_lazy("charged"),
    "RELEASE": gettext_lazy("given back"),
    "LAPSE": gettext_lazy("lapsed"),
    "OUTSIDE": gettext_lazy("outside the guarantee"),
}


def _choice(label: Any) -> forms.ChoiceField:
    return forms.ChoiceField(
        required=False, label=label, widget=forms.Select(attrs={"class": "form-select"})
    )


def _text(label: Any, length: int) -> forms.CharField:
    return forms.CharField(
        required=False,
        label=label,
        max_length=length,
        widget=forms.TextInput(attrs=_TEXT),
        strip=True,
    )


def _day(label: Any) -> forms.DateField:
    widget = forms.DateInput(attrs={"class": "form-control", "type": "date"}, format="%Y-%m-%d")
    return forms.DateField(
        required=False, label=label, widget=widget, input_formats=["%Y-%m-%d"]
    )


class Filter(forms.Form):
    """What every filter has: two days, and a way back into an address. An invalid part is said and left out
    of pages; exports refuse it, so that nobody takes a wider file away than they think."""

    fields_of: dict[str, str] = {}  # field of the form → column

    def __init__(self, data: Any, **options: Any) -> None:
        super().__init__(data, auto_id="filter_%s", **options)
        self.offer()
        # Validated at once: pages use the fields that are right even where others are wrong.
        self.is_valid()

    def offer(self) -> None:
        """Say what there is to choose from."""

    @property
    def chosen(self) -> dict[str, str]:
        """What narrows, as it stands in an address."""
        return {
            name: str(value)
            for name, value in self.cleaned_data.items()
            if value not in (None, "")
        }

    @property
    def query(self) -> str:
        """The same as the beginning of a query string, for links to other pages."""
        return f"{urlencode(self.chosen)}&" if self.chosen else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        since, until = cleaned.get("since"), cleaned.get("until")
        if since and until and until < since:
            self.add_error("until", _("The last day lies before the first."))
        return cleaned

    def narrow(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        """The rows that fit."""
        cleaned = self.cleaned_data
        wanted = {
            column: cleaned[name]
            for name, column in self.fields_of.items()
            if cleaned.get(name)
        }
        if since := cleaned.get("since"):
            wanted["at__date__gte"] = since
        if until := cleaned.get("until"):
            wanted["at__date__lte"] = until
        return rows.filter(**wanted)


class EntryFilter(Filter):
    """What somebody looks for in the entries of an account."""

    fields_of = {"kind": "kind", "actor": "actor", "dataset": "dataset_code", "run": "run_code"}

    kind = _choice(gettext_lazy("What"))
    actor = _choice(gettext_lazy("Who"))
    dataset = _choice(gettext_lazy("Dataset"))
    run = _text(gettext_lazy("Run"), 16)
    since = _day(gettext_lazy("From"))
    until = _day(gettext_lazy("To"))

    def __init__(self, data: Any, *, account: BudgetAccount) -> None:
        self.account = account
        super().__init__(data)

    def offer(self) -> None:
        # order_by replaces the model's own ordering, whose columns would count for DISTINCT.
        actors = (
            LedgerEntry.objects.filter(account=self.account)
            .order_by("actor")
            .values_list("actor", flat=True)
        )
        datasets = self.account.coverages.values_list(
            "dataset__code", "dataset__name"
        ).order_by("dataset__name")
        offered: dict[str, list[tuple[str, Any]]] = {
            "kind": [(kind, MEANING[kind]) for kind in LedgerEntry.Kind.values],
            "actor": [(actor, actor) for actor in actors.distinct()],
            "dataset": list(datasets),
        }
        for name, choices in offered.items():
            self.fields[name].choices = [("", _("Any")), *choices]  # type: ignore[attr-defined]


class AuditFilter(Filter):
    """What somebody looks for in the audit log."""

    fields_of = {"action": "action", "actor": "actor", "object": "object_code"}

    action = _choice(gettext_lazy("What"))
    actor = _text(gettext_lazy("Who"), 150)
    object = _text(gettext_lazy("Object code"), 32)
    since = _day(gettext_lazy("From"))
    until = _day(gettext_lazy("To"))
    order = _choice(gettext_lazy("Order"))

    def __init__(
        self, data: Any, *, actions: list[tuple[str, str]], without: tuple[str, ...] = ()
    ) -> None:
        self.actions, self.without = actions, without
        super().__init__(data)

    def offer(self) -> None:
        self.fields["action"].choices = [("", _("Anything")), *self.actions]  # type: ignore[attr-defined]
        orders = [("", _("Newest first")), ("oldest", _("Oldest first"))]
        self.fields["order"].choices = orders  # type: ignore[attr-defined]
        for name in self.without:
            del self.fields[name]

    def narrow(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        oldest_first = self.cleaned_data.get("order") == "oldest"
        return super().narrow(rows).order_by("sequence" if oldest_first else "-sequence")
