"""The form of a new release. Its choices come from the mechanisms' own descriptions; its errors are the
engine's."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine import mechanisms
from synth_engine.domain import Domain, Weak
from synth_engine.errors import InputError, SpecError
from synth_engine.evaluation.criteria import Criterion
from synth_engine.plans.parameters import RECORDS, ParameterRule
from synth_engine.privacy.loss import parse_decimal, plain
from synth_engine.spec import Spec
from synthweb.datasets import stated_records
from synthweb.ledger.yearly_limits import EarmarkBalance
from synthweb.lib.language import translated, typed_number
from synthweb.lib.names import validate_one_line
from synthweb.lib.number_format import delta, in_letters
from synthweb.runs import criteria_fields, methods, public_tables, purpose
from synthweb.runs.earmark_fields import earmark_field, offer_earmarks
from synthweb.runs.purpose import PREFIX

NAME = re.compile(r"[a-z_]+")
AMOUNT = {
    "required": _("Give a number above 0, such as 1."),
    "max_length": _("At most %(limit_value)d characters: write it like 1, 0.5 or 1e-9."),
}
SHORT = {
    "max_length": _(
        "At most %(limit_value)d characters, and this has %(show_value)d: shorten it."
    )
}
LONGEST_RENAMING = 100_000
TABLE_FIELDS = ("prior", "prior_columns")
PUBLIC_TABLE = "public table"  # in the rules of errors about one
CRITERION = "criteri"  # in the rules of errors about criteria and one criterion


class DepthField(forms.CharField):
    """The depth of a tree. The page shows below it how large the cells at this depth are."""

    sets_cells = True


class ReleaseForm(forms.Form):
    """Mechanism, loss, rows and name. Numbers are read as text, exactly: `clean` makes `spec` of them."""

    lacks_records = False
    """Whether nobody said about how many records there are, so that nothing is forecast."""

    mechanism = forms.ChoiceField(widget=forms.RadioSelect, label=_("Method"))
    epsilon = forms.CharField(max_length=40, label=_("Privacy loss ε"), error_messages=AMOUNT)
    delta = forms.CharField(max_length=40, required=False, label=_("δ"), error_messages=AMOUNT)
    rows = forms.CharField(
        max_length=12, required=False, label=_("Rows of a sample"), error_messages=SHORT
    )
    name = forms.CharField(
        max_length=200,
        required=False,
        label=_("Name of the release"),
        error_messages=SHORT,
        validators=[validate_one_line],
    )
    earmark = earmark_field()
    request_key = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    confirmed = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    prior = forms.CharField(
        max_length=40,
        required=False,
        label=_("Public table"),
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    prior_columns = forms.CharField(
        max_length=LONGEST_RENAMING,
        required=False,
        label=_("Columns with another name"),
        help_text=_(
            "Columns are shared by name. For others, one a line: the column of the description, an equals "
            "sign, and what the public table calls it."
        ),
        widget=forms.Textarea(
            attrs={"class": "form-control", "rows": 2, "placeholder": "age = AGEP"}
        ),
        error_messages=SHORT,
    )

    def __init__(
        self,
        data: Mapping[str, object] | None = None,
        *,
        domain: Domain | None = None,
        tables: public_tables.OfferedTables = public_tables.NOTHING,
        earmarks: Sequence[EarmarkBalance] = (),
        **suggested: Any,
    ) -> None:
        """`domain`: of the table; methods that are not for it are not offered. `tables`: public tables to
        choose from. `earmarks`: parts of the budget that are set aside for runs. `suggested`: what fields
        begin with, such as the choices of an earlier run."""
        self.domain, described = domain, mechanisms.describe(domain)
        self.first = methods.preferred(described, recommended=mechanisms.recommended(domain))
        usual = {"mechanism": self.first, "epsilon": "1", "delta": "0"}
        # One key a page: a form that is sent twice asks for one run (`views._request_key`).
        initial = usual | suggested | {"request_key": secrets.token_urlsafe(24)}
        given, self.hindrance = (None, "") if data is None else purpose.gathered(data)
        self.edited = data is not None and bool(data.get(purpose.EDIT))
        super().__init__(given, initial=initial)
        choice = self.fields["mechanism"]
        if not isinstance(choice, forms.ChoiceField):
            raise TypeError("the field has no choices")
        choice.choices = [(one["id"], one["title"]) for one in described]
        self.described = {one["id"]: one for one in described}
        self.chosen = (initial if given is None else given).get("mechanism") or usual[
            "mechanism"
        ]
        self.fields |= criteria_fields.fields() | stated_records.fields()
        offered = purpose.Offered.by(domain)
        self.columns = offered.columns
        for name, rule in self._schema().items():
            self.fields[PREFIX + name] = parameter_field(name, rule, offered=offered)
        if given is not None:
            self.data = self._defaults() | given
        self._keep_what_is_chosen()
        self.tables = tables
        self._offer_tables()
        self.earmarks = earmarks
        offer_earmarks(self, earmarks)

    def _offer_tables(self) -> None:
        select, value = self.fields["prior"].widget, self["prior"].value()
        if not isinstance(select, forms.Select):
            raise TypeError("the field has no choices")
        listed = dict([*self.tables.references, *self.tables.releases])
        more = []
        # An older version, or a table that is gone by now: a list shows what was chosen.
        if value and str(value) not in listed:
            choice = public_tables.TableChoice.parse_or_none(str(value))
            more = [(str(value), choice.label if choice else str(value))]
        select.choices = [*self.tables.choices, *more]

    def _keep_what_is_chosen(self) -> None:
        """A list to choose from shows what was chosen, even if it is no longer there."""
        for field in self.purpose_fields():
            if isinstance(field.field.widget, forms.Select):
                purpose.with_gone(field.field.widget, field.value())

    def _schema(self) -> Mapping[str, ParameterRule]:
        facts = self.described.get(self.chosen)
        rules = {} if facts is None else dict(facts["parameters"]["properties"])
        rules.pop(RECORDS, None)  # asked once, for every method
        return rules if self._completes_texts() else {**rules, **_marked(rules)}

    def _completes_texts(self) -> bool:
        """Whether there is no column of unknown values, or public texts to complete those of which only a
        beginning is found."""
        unknown = (
            [each for each in self.domain.attributes if isinstance(each, Weak)]
            if self.domain
            else []
        )
        return not unknown or any(each.completions for each in unknown)

    def _defaults(self) -> dict[str, object]:
        """What stands in fields that were not sent: those of a method that was chosen a moment ago. An
        unticked box is not sent either, and stays unticked."""
        rules = self._schema().items()
        return {
            PREFIX + name: str(purpose.as_text(rule["default"]))
            for name, rule in rules
            if rule.get("type") != "boolean" and "default" in rule
        }

    def families(self) -> list[methods.Family]:
        """The methods on offer, as cards in groups."""
        return methods.families(
            list(self.described.values()), first=self.first, chosen=self.chosen
        )

    @property
    def beyond_forecast(self) -> str:
        """What forecasts of columns and pairs do not say of the recommended method, or of the one chosen."""
        reasons = (
            (methods.BEYOND.get(name), word)
            for name, word in ((self.first, "recommended"), (self.chosen, "chosen"))
        )
        return next((words.format(word=word) for words, word in reasons if words), "")

    def purpose_fields(self) -> list[forms.BoundField]:
        """The fields of the chosen mechanism that say what the release is for: a column to predict,
        tables."""
        return [
            field
            for field in self._added()
            if isinstance(field.field, purpose.OneColumn | purpose.GroupsOfColumns)
        ]

    def weight_fields(self) -> list[forms.BoundField]:
        """The fields of the chosen mechanism that weigh columns."""
        return [
            field
            for field in self._added()
            if isinstance(field.field, purpose.WeightsOfColumns)
        ]

    @property
    def expert_open(self) -> bool:
        """Whether something behind the three questions was chosen, or is wrong: then it is shown at once."""
        first = ("mechanism", "delta", "name", "rows")
        chosen = self.chosen != self.first or bool(self["rows"].value())
        weighs = any(
            field.errors or field.value() not in (None, "", "{}")
            for field in self.weight_fields()
        )
        return (
            chosen
            or weighs
            or self.parameters_changed()
            or self.tables_open
            or self.criteria_open
            or any(self[name].errors for name in first)
        )

    def parameter_fields(self) -> list[forms.BoundField]:
        """The other fields that the chosen mechanism adds."""
        return [field for field in self._added() if not hasattr(field.field, "columns")]

    def _added(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(PREFIX)]

    def parameters_changed(self) -> bool:
        """Whether one of those others is not what it begins with, or is wrong: then they are shown at
        once."""
        return any(
            field.errors or str(field.value()) != str(field.field.initial or "")
            for field in self.parameter_fields()
        )

    @property
    def is_pressed(self) -> bool:
        """Whether it was sent by the button that spends, not by one that changes a choice."""
        return self.is_bound and not self.edited

    def nothing_pending(self) -> bool:
        """Columns that were picked for a group and not added are not dropped in silence: they are an
        error."""
        groups = self._groups()
        if groups is None or not purpose.picks(self.data):
            return True
        self.add_error(
            groups,
            _("You chose columns for a table but did not add it: add it, or clear the choice."),
        )
        return False

    def _groups(self) -> str | None:
        """The field of groups of columns."""
        problems = (
            name
            for name, field in self.fields.items()
            if isinstance(field, purpose.GroupsOfColumns)
        )
        return next(problems, None)

    @property
    def shows_tables(self) -> bool:
        """Whether the chosen method reads a public table, or one is chosen, which it then refuses."""
        takes_prior = mechanisms.traits(self.chosen).takes_prior
        return takes_prior or any(field.value() for field in self.table_fields())

    @property
    def tables_open(self) -> bool:
        """Whether the fields of a public table are used, or wrong: then they are shown at once."""
        return any(field.value() or field.errors for field in self.table_fields())

    def table_fields(self) -> list[forms.BoundField]:
        """The fields of a public table."""
        return [self[name] for name in TABLE_FIELDS]

    @property
    def criteria_open(self) -> bool:
        """Whether a criterion is stated, or wrong: then their fields are shown at once."""
        stated = [self[name] for name in criteria_fields.STATING]
        return any(field.value() for field in stated) or any(
            field.errors for field in self.criteria_fields()
        )

    def criteria_fields(self) -> list[forms.BoundField]:
        """The fields of criteria."""
        return [self[name] for name in criteria_fields.FIELDS]

    def _criteria(self, cleaned: Mapping[str, Any]) -> tuple[Criterion, ...]:
        if self.domain is None:
            return ()
        try:
            return tuple(criteria_fields.parsed(cleaned, self.domain))
        except criteria_fields.CriteriaFault as fault:
            self.add_error(fault.field, fault.words)
            return ()

    def settled_fields(self) -> list[forms.BoundField]:
        """The fields that every mechanism has."""
        return [
            field
            for field in self.visible_fields()
            if not field.html_name.startswith(PREFIX)
            and field.html_name not in (*TABLE_FIELDS, *criteria_fields.FIELDS)
        ]

    def as_suggested(self) -> ReleaseForm:
        """The same form with everything filled in as it begins, to be checked and estimated."""
        begun = {
            name: self.initial.get(name, field.initial) for name, field in self.fields.items()
        }
        return ReleaseForm(
            {name: "" if value is None else value for name, value in begun.items()},
            domain=self.domain,
            tables=self.tables,
            earmarks=self.earmarks,
        )

    def picks(self) -> list[tuple[str, str]]:
        """The lists that a group is put together with: the name of each, and what is chosen in it."""
        return [
            (name, self.data.get(name, "") if self.is_bound else "") for name in purpose.PICKS
        ]

    def clean_rows(self) -> int | None:
        text = self.cleaned_data["rows"]
        return stated_records.parsed(text) if text else None

    def clean_prior_columns(self) -> dict[str, str]:
        try:
            return public_tables.parse_columns(self.cleaned_data["prior_columns"])
        except ValueError:
            raise forms.ValidationError(
                _(
                    "A line is not two names with an equals sign between them, or a column stands in two "
                    "lines: write it like “age = AGEP”."
                )
            ) from None

    def _table(self, cleaned: Mapping[str, Any]) -> public_tables.TableChoice | None:
        columns = cleaned.get("prior_columns") or {}
        if not cleaned.get("prior"):
            if columns:
                self.add_error(
                    "prior", _("Columns are renamed: choose a public table, or clear them.")
                )
            return None
        choice = public_tables.TableChoice.parse_or_none(cleaned["prior"], columns=columns)
        if choice is None:
            self.add_error("prior", _("There is no such public table: choose one of the list."))
        return choice

    def _stated(self, cleaned: Mapping[str, Any]) -> int | None:
        try:
            return stated_records.stated_in(cleaned)
        except forms.ValidationError as error:
            self.add_error("records", error)
            return None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        amounts = {name: self._amount(name, cleaned.get(name)) for name in ("epsilon", "delta")}
        if self.hindrance:
            self.add_error(self._groups(), self.hindrance)
        cleaned["table"] = self._table(cleaned)
        cleaned["criteria"] = self._criteria(cleaned)
        cleaned["records"] = self._stated(cleaned)
        if self.errors:
            return cleaned
        parameters = {
            name: cleaned[PREFIX + name]
            for name in self._schema()
            if cleaned[PREFIX + name] not in ("", None)
        }
        try:
            cleaned["spec"] = Spec(
                mechanism=cleaned["mechanism"],
                parameters=parameters,
                rows=cleaned["rows"],
                **amounts,
            )
        except SpecError as error:
            self.refuse(error)
        return cleaned

    def _amount(self, name: str, text: str | None) -> Any:
        try:
            return parse_decimal(typed_number(text or "0"), name=name)
        except SpecError as error:
            self.add_error(name, error.text)

    def refuse(self, error: InputError) -> None:
        """Put an engine error where the person can mend it: at the field that its rule begins with or the
        parameter that it names, else at the top."""
        if PUBLIC_TABLE in error.rule:
            renamed = error.column is not None or "renamed" in error.rule
            return self.add_error("prior_columns" if renamed else "prior", error.text)
        if CRITERION in error.rule:
            return self.add_error("criteria_counts", error.text)
        words = NAME.findall(error.rule)
        fields = [*words[:1], *(PREFIX + word for word in words)]
        return self.add_error(
            next((field for field in fields if field in self.fields), None), error.text
        )


def _marked(rules: Mapping[str, ParameterRule]) -> dict[str, ParameterRule]:
    """The rule by which beginnings of texts are written, with the mark suggested: nobody takes one for a text
    then."""
    rule = rules.get("partial", {})
    return (
        {"partial": {**rule, "default": "marked"}} if rule.get("default") == "completed" else {}
    )


def choices_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What the form begins with to ask for the same again: everything of a spec but its seed, and nothing of
    a method that is no longer on offer."""
    if spec["mechanism"] not in {one["id"] for one in mechanisms.describe()}:
        return {}
    parameters = {
        PREFIX + name: purpose.as_text(value)
        for name, value in spec.get("parameters", {}).items()
    }
    amounts = {
        "epsilon": plain(Fraction(spec["epsilon"])),
        "delta": delta(spec.get("delta") or "0"),
    }
    return {"mechanism": spec["mechanism"], "rows": spec.get("rows"), **amounts, **parameters}


def parameter_field(
    name: str, rule: ParameterRule, *, offered: purpose.Offered | None = None
) -> forms.Field:
    """A form field for one property of a mechanism's JSON schema; the engine checks the value itself.
    `offered`: the columns that such a property may name."""
    common: dict[str, Any] = {
        "label": translated(rule.get("title", name.replace("_", " "))),
        "help_text": in_letters(translated(rule.get("description", ""))),
        "initial": rule.get("default"),
        "required": False,
    }
    if "x-columns" in rule:
        return purpose.field(rule, offered or purpose.Offered(), **common)
    if "enum" in rule:
        labels = rule.get("x-labels", {})
        choices = [
            (value, in_letters(translated(labels.get(value, value)))) for value in rule["enum"]
        ]
        return forms.ChoiceField(
            choices=choices, widget=forms.Select(attrs={"class": "form-select"}), **common
        )
    if rule.get("type") == "boolean":
        return forms.BooleanField(
            widget=forms.CheckboxInput(attrs={"class": "form-check-input"}), **common
        )
    common["error_messages"] = AMOUNT
    field = DepthField if name == "depth" else forms.CharField
    return field(
        max_length=40, widget=forms.TextInput(attrs={"class": "form-control"}), **common
    )
