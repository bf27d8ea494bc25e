"""Regressions of a release as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synth_engine.evaluation import fits


class FitRangeSerializer(serializers.Serializer[Any]):
    """A standard error and an interval of a coefficient."""

    standard_error = serializers.FloatField()
    lower = serializers.FloatField(source="low")
    upper = serializers.FloatField(
        source="high", help_text="The estimate need not lie in the middle."
    )


class CoefficientSerializer(serializers.Serializer[Any]):
    """One coefficient."""

    column = serializers.CharField(
        allow_blank=True, help_text="The regressor; empty for the constant."
    )
    value = serializers.CharField(
        allow_blank=True,
        help_text="The values that are compared with the base of the column; empty for a number.",
    )
    estimate = serializers.FloatField()
    of_table = FitRangeSerializer(
        help_text="Of the coefficient of the real binned table: privacy noise alone."
    )
    of_population = FitRangeSerializer(
        help_text="Of the coefficient of the population, if the table is a random sample of it and, of least "
        "squares, all errors have one variance: privacy noise and sampling."
    )


class FitGroupSerializer(serializers.Serializer[Any]):
    """Values that count as the same."""

    values = serializers.CharField(help_text="As in a condition of a table of counts.")
    number = serializers.FloatField(
        allow_null=True,
        help_text="What each of them counts as; null where the column has indicators, or no value.",
    )


class FitColumnSerializer(serializers.Serializer[Any]):
    """How a column is counted in the fit."""

    name = serializers.CharField()
    base = serializers.CharField(
        allow_blank=True,
        help_text="The values that all others are compared with; empty for a number.",
    )
    groups = FitGroupSerializer(many=True, source="described")


class FitSerializer(serializers.Serializer[Any]):
    """A regression from noisy answers."""

    kind = serializers.ChoiceField(source="request.kind", choices=list(fits.KINDS))
    outcome = serializers.CharField(source="request.outcome")
    outcome_is = serializers.CharField(
        allow_blank=True, help_text="The values that count as 1; empty for a number."
    )
    records = serializers.FloatField(help_text="About how many the table has.")
    level = serializers.SerializerMethodField(
        help_text="The share of releases whose interval holds the coefficient."
    )
    coefficients = CoefficientSerializer(many=True)
    columns = FitColumnSerializer(many=True, help_text="The outcome is the last one.")

    def get_level(self, _fit: object) -> float:
        return fits.LEVEL
