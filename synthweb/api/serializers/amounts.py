"""Amounts of privacy budget as exact decimal text: "1.5", "0.000000001". JSON numbers would be rounded by
readers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synth_engine.errors import SpecError
from synth_engine.privacy import loss
from synth_engine.spec import MAX_ROWS
from synthweb.api.serializers.strict import WholeNumber
from synthweb.ledger import amounts


@extend_schema_field({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$", "example": "0.5"})
class AmountField(serializers.Field[Any, Any, str, Any]):
    """An integer of the ledger shown as the number it stands for."""

    def __init__(self, *, currency: str, **options: Any) -> None:
        self.currency = currency
        super().__init__(read_only=True, **options)

    def to_representation(self, value: int) -> str:
        return amounts.decimal_text(self.currency, value)


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "number"}], "example": "0.5"})
class LossField(serializers.Field[Fraction, Any, str, Any]):
    """An amount in a request, text or number, read exactly: 0.1 means one tenth."""

    def to_internal_value(self, data: Any) -> Fraction:
        try:
            return loss.parse_decimal(data, name=self.field_name or "amount")
        except SpecError as error:
            # An error of a field has no place for a repair: it
            # travels as the code (`problems._repair`).
            raise serializers.ValidationError(error.rule, code=error.repair) from None

    def to_representation(self, value: Fraction) -> str:
        return loss.plain(value)


class SpentField(LossField):
    """An amount of which there has to be some: ε and ρ. (δ may be nothing.)"""

    def to_internal_value(self, data: Any) -> Fraction:
        amount = super().to_internal_value(data)
        if not amount:
            raise serializers.ValidationError(
                f"{self.field_name} must be above zero", code="give a positive amount"
            )
        return amount


class AmountSerializer(serializers.Serializer[Any]):
    """ε, δ and ρ of a ledger row; an account counts (epsilon, delta) or rho, by its rule."""

    epsilon = AmountField(currency="epsilon")
    delta = AmountField(currency="delta")
    rho = AmountField(currency="rho")


def amount_from(data: dict[str, Any]) -> amounts.Amount:
    """The validated amounts of a request as integers of the ledger, rounded up."""
    return amounts.Amount(
        epsilon=loss.nano(data.get("epsilon", Fraction(0))),
        delta=loss.atto(data.get("delta", Fraction(0))),
        rho=loss.nano(data.get("rho", Fraction(0))),
    )


class StatedRecordsField(WholeNumber):
    """About how many records a table has."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            min_value=1,
            max_value=MAX_ROWS,
            help_text="About how many records there are, as anybody could guess and nobody counted; of a "
            "band the low end (100, 1000, 10000, 100000). Needed once where neither the description nor an "
            "earlier release has a public number; later requests use it.",
            **options,
        )
