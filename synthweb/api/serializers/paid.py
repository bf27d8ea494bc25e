"""Figures of a release that are measured with budget, as JSON: what is asked, what it costs, and the
answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.plans.release_check import KINDS, MAX_WORST_TABLES, CheckedFigure
from synthweb.api.serializers.amounts import (
    AmountField,
    AmountSerializer,
    LossField,
    SpentField,
)
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.releases import paid
from synthweb.releases.marginals import MAX_CONDITIONS
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import MAX_REASON, PaidCheck
from synthweb.runs.checks import CheckRequest, classifier_of, count_of


class AskedFigureSerializer(StrictSerializer):
    """One figure to measure."""

    kind = Choice(
        choices=KINDS,
        help_text="distance: the total variation distance of one to three columns. mean-distance: the mean "
        "over all pairs of the columns. counts: how many counts of one to three columns are near enough. "
        "marginal: the counts of one to three columns in the real table. count: the number of its records "
        "that meet `where`. ks: the Kolmogorov-Smirnov distance of an ordered column. auc, accuracy: of a "
        "classifier that is trained on the synthetic table and tested on the real one: it predicts `where` "
        "from `columns`. worst-groups: the groups of records, by the values of `size` of the columns, "
        "whose numbers differ most.",
    )
    columns = serializers.ListField(
        required=False,
        child=Text(max_length=1_000),
        min_length=1,
        max_length=1_000,
        help_text="Of every kind but count, whose conditions name them.",
    )
    where = serializers.ListField(
        required=False,
        child=Text(max_length=10_000),
        min_length=1,
        max_length=MAX_CONDITIONS,
        help_text="Of a count: conditions on one to three columns that all hold, as of tables of counts: "
        "column=value, column=value|value, or column=first..last. Of auc and accuracy: the one condition "
        "that is predicted.",
    )
    least = WholeNumber(
        required=False,
        min_value=1,
        max_value=10**12,
        help_text="Of counts: records that a cell has to have in the synthetic table to be looked at.",
    )
    within = Text(
        required=False,
        max_length=20,
        help_text="Of counts: the share by which a count may be off, as text, such as 0.05.",
    )
    size = WholeNumber(
        required=False,
        min_value=1,
        max_value=2,
        help_text="Of worst-groups: columns whose values make a group.",
    )
    tables = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_WORST_TABLES,
        help_text="Of worst-groups: tables of so many columns that are chosen, by how far they differ, and "
        "counted.",
    )


class NewCheckSerializer(StrictSerializer):
    """Have figures of a release measured: what it costs is held at once and charged before any noise is
    drawn."""

    figures = AskedFigureSerializer(many=True)
    epsilon = SpentField()
    delta = LossField(required=False)

    def asked_of(self, domain: Domain) -> CheckRequest:
        """The request that was validated. domain: of the release. Errors: ValidationError at the figure that
        is none."""
        data = self.validated_data
        figures: list[CheckedFigure] = []
        faults: list[dict[str, list[str]]] = []
        for each in data["figures"]:
            try:
                figures.append(_figure(dict(each), domain))
                faults.append({})
            except SpecError as error:
                faults.append({"kind": [error.text]})
        if any(faults):
            raise serializers.ValidationError({"figures": faults})
        return CheckRequest(
            figures=tuple(figures),
            epsilon=data["epsilon"],
            delta=data.get("delta", Fraction(0)),
        )


def _figure(each: dict[str, Any], domain: Domain) -> CheckedFigure:
    """Errors: SpecError for what is no figure, InputError for conditions that cannot hold."""
    if each["kind"] in ("auc", "accuracy"):
        return _classified(each, domain)
    if each["kind"] != "count":
        return CheckedFigure.from_json(each)
    if set(each) != {"kind", "where"}:
        raise SpecError(
            "a figure of the kind count has conditions and nothing else",
            repair="give where, and leave columns out",
        )
    return count_of(domain, each["where"])


def _classified(each: dict[str, Any], domain: Domain) -> CheckedFigure:
    """Errors: as of `_figure`."""
    if set(each) != {"kind", "columns", "where"} or len(each["where"]) != 1:
        raise SpecError(
            f"a figure of the kind {each['kind']} has columns and one condition",
            repair="give in where what is predicted, and in columns what it is predicted from",
        )
    figures = classifier_of(domain, each["where"][0], each["columns"])
    return next(figure for figure in figures if figure.kind == each["kind"])


class PriceSerializer(serializers.Serializer[Any]):
    """What a check would cost and how precise it would be; nothing is held."""

    price = AmountSerializer()
    fits = serializers.BooleanField(help_text="Whether the budget has that much left.")
    sentence = serializers.CharField(help_text="The guarantee of the check.")
    distance = serializers.FloatField(
        help_text="About half the width of the interval of a distance, as a share."
    )
    counts = serializers.FloatField(
        help_text="About half the width of the interval of a count, in records."
    )


class PaidCellSerializer(serializers.Serializer[Any]):
    """The count of one cell of a marginal."""

    values = serializers.ListField(
        source="texts",
        child=serializers.CharField(allow_blank=True),
        help_text="Of each column, in order.",
    )
    value = serializers.FloatField(
        source="figure.value", help_text="Records; noisy, so that it may lie below zero."
    )
    lower = serializers.FloatField(source="figure.low")
    upper = serializers.FloatField(source="figure.high")


class PaidGroupSerializer(serializers.Serializer[Any]):
    """One of the worst groups: the records with one value in each of one or two columns."""

    columns = serializers.ListField(child=serializers.CharField())
    values = serializers.ListField(
        source="texts",
        child=serializers.CharField(allow_blank=True),
        help_text="Of each column, in order.",
    )
    value = serializers.FloatField(
        source="figure.value", help_text="Records of the real table; noisy."
    )
    lower = serializers.FloatField(source="figure.low")
    upper = serializers.FloatField(source="figure.high")
    synthetic = serializers.IntegerField(
        help_text="Records of the table that is checked, at the number of records of the release."
    )


class PaidFigureSerializer(serializers.Serializer[Any]):
    """A figure that was measured with budget: noisy, with the interval that its noise allows."""

    asked = serializers.CharField(help_text="What it is, in words.")
    kind = serializers.CharField()
    columns = serializers.ListField(child=serializers.CharField())
    value = serializers.FloatField()
    lower = serializers.FloatField()
    upper = serializers.FloatField()
    level = serializers.FloatField(
        help_text="The share of checks whose interval holds the figure of the real table."
    )
    unit = serializers.CharField(help_text="share, cells or records.")
    cells = serializers.IntegerField(help_text="Cells that the figure is about.")
    table = PaidCellSerializer(
        many=True,
        help_text="Of a marginal, the count of each cell, the last column fastest; their intervals hold "
        "together. Else empty.",
    )
    groups = PaidGroupSerializer(
        many=True,
        help_text="Of worst-groups, those first whose numbers differ most; their intervals hold together. "
        "Else empty.",
    )


class VoidReasonSerializer(StrictSerializer):
    """Why figures are not to be used."""

    reason = Text(
        max_length=MAX_REASON,
        help_text="One line, which everybody reads who sees the figures. Name no values of the table.",
    )


class VoidSerializer(serializers.Serializer[Any]):
    """That figures are not to be used, and why."""

    reason = serializers.CharField()
    by = serializers.CharField(help_text="Who said so.")
    at = serializers.DateTimeField()


class PaidCheckSerializer(serializers.ModelSerializer[PaidCheck]):
    """Figures that were measured together, under one receipt."""

    release = serializers.CharField(source="release.code")
    run = serializers.CharField(source="run_code")
    epsilon = AmountField(currency="epsilon")
    delta = AmountField(currency="delta")
    sentence = serializers.SerializerMethodField(help_text="The guarantee of the check.")
    chosen_after_looking = serializers.SerializerMethodField(
        help_text="Whether they were chosen after a comparison with real data was opened."
    )
    void = serializers.SerializerMethodField(
        help_text="Why the figures are not to be used; null while they are."
    )
    figures = serializers.SerializerMethodField()

    class Meta:
        model = PaidCheck
        fields = [
            "code",
            "release",
            "run",
            "epsilon",
            "delta",
            "sentence",
            "chosen_after_looking",
            "void",
            "figures",
            "created_at",
        ]
        read_only_fields = fields

    def get_sentence(self, check: PaidCheck) -> str:
        return str(check.receipt["guarantee"]["sentence"])

    def get_chosen_after_looking(self, check: PaidCheck) -> bool:
        return bool(check.receipt["chosen_after_looking"])

    @extend_schema_field(VoidSerializer(allow_null=True))
    def get_void(self, check: PaidCheck) -> dict[str, Any] | None:
        return void_as_json(check)

    @extend_schema_field(PaidFigureSerializer(many=True))
    def get_figures(self, check: PaidCheck) -> list[dict[str, Any]]:
        return figures_of(check)


def void_as_json(check: PaidCheck | None) -> dict[str, Any] | None:
    """Why the figures of a check are not to be used; None while they are, or there are none."""
    void = None if check is None else paid.void_of(check)
    return None if void is None else dict(VoidSerializer(void).data)


def figures_of(check: PaidCheck) -> list[dict[str, Any]]:
    """The figures of a check as JSON."""
    domain = model_of(check.release.code).domain
    documents = [
        {
            "asked": paid.asked_in_words(asked, domain),
            "kind": asked.kind,
            "columns": asked.columns,
            "value": result.figure.value,
            "lower": result.figure.low,
            "upper": result.figure.high,
            "level": result.figure.level,
            "unit": result.unit,
            "cells": result.cells,
            "table": list(paid.cells_of(asked, result, domain)),
            "groups": list(paid.groups_of(result, domain)),
        }
        for asked, result in paid.results_of(check)
    ]
    return list(PaidFigureSerializer(documents, many=True).data)


class CriterionVerdictSerializer(serializers.Serializer[Any]):
    """A criterion and what released figures say of it: met, not-met or cannot-tell."""

    criterion = serializers.CharField(source="stated", help_text="In words.")
    private = serializers.CharField(
        source="private_verdict", help_text="By the noisy answers of the release."
    )
    private_lower = serializers.FloatField(
        source="private_figure.low", default=None, allow_null=True
    )
    private_upper = serializers.FloatField(
        source="private_figure.high", default=None, allow_null=True
    )
    paid = serializers.CharField(
        source="paid_verdict",
        allow_blank=True,
        help_text="By a check that measured it; empty without one.",
    )
    paid_lower = serializers.FloatField(source="paid_figure.low", default=None, allow_null=True)
    paid_upper = serializers.FloatField(
        source="paid_figure.high", default=None, allow_null=True
    )
