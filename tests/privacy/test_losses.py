"""Amounts: read strictly, kept exactly, written to the ledger rounded up."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine.errors import DomainError, SpecError, UnsupportedEvent
from synth_engine.privacy import accountant, events, loss
from synth_engine.privacy.unit import PrivacyUnit, Relation, Sensitivity, histogram_sensitivity

amounts = st.fractions(min_value=Fraction(1, 10**9), max_value=1000, max_denominator=10**9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", Fraction(1)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("1e-9", Fraction(1, 10**9)),
        ("2.50E+1", Fraction(25)),
        ("1/3", Fraction(1, 3)),
        ("0", Fraction(0)),
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        (3, Fraction(3)),
        (Decimal("0.3"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_an_amount_is_read_exactly(text: str, expected: Fraction) -> None:
    assert loss.parse_amount(text, name="epsilon") == expected


@pytest.mark.parametrize(
    "text",
    [
        "nan", "inf", "-1", "-0.0001", "+1", "", " 1", "1 ", "1_000", "0x10", "1,5", "１", "٣", "1e", "e5",
        ".", "1/0", "1/-3",
        "1e-19", "1e10", "1e999999999", "9" * 41, "0." + "0" * 17 + "0" * 20 + "1", float("nan"),
        float("inf"), -1.0, -1,
        Fraction(-1, 2), Decimal("NaN"), True, None, [], b"1",
    ],
    ids=repr,
)  # fmt: skip
def test_anything_else_is_refused_by_the_name_of_its_field(text: object) -> None:
    with pytest.raises(SpecError, match="epsilon") as caught:
        loss.parse_amount(text, name="epsilon")  # type: ignore[arg-type]
    assert str(text) not in str(caught.value) or str(text) in (
        "",
        ".",
        " 1",
        "1 ",
        "e5",
        "1e",
        "-1",
        "inf",
        "nan",
        "0x10",
    )


@given(amounts)
def test_plain_text_is_exact(amount: Fraction) -> None:
    assert Fraction(loss.plain(amount)) == amount
    assert Fraction(loss.ratio(amount)) == amount


@given(amounts)
def test_the_ledger_never_writes_less_than_was_spent(amount: Fraction) -> None:
    assert amount <= Fraction(loss.nano(amount), loss.NANO) < amount + Fraction(1, loss.NANO)
    assert amount <= Fraction(loss.atto(amount), loss.ATTO) < amount + Fraction(1, loss.ATTO)


def test_floats_cannot_pose_as_exact_losses() -> None:
    with pytest.raises(TypeError):
        loss.Pure(epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        events.DiscreteLaplace(scale=1.0, l1=1)  # type: ignore[arg-type]


EVENTS: list[events.Event] = [
    events.DiscreteLaplace(scale=Fraction(10), l1=2),
    events.DiscreteGaussian(sigma_squared=Fraction(9, 4), l2_squared=2),
    events.PermuteAndFlip(scale=Fraction(10), linf=1),
    events.Gumbel(scale=Fraction(10), linf=1),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.law)
def test_an_event_survives_json(event: events.Event) -> None:
    assert events.from_json(event.to_json()) == event


@pytest.mark.parametrize(
    "document",
    [
        {"law": "laplace", "scale": "1/1", "l1": 1},
        {"law": "discrete-laplace", "scale": "1/1"},
        {"law": "discrete-laplace", "scale": "1/1", "l1": 1, "extra": 1},
        {"law": "discrete-laplace", "scale": "0/1", "l1": 1},
        {"law": "discrete-laplace", "scale": "1/0", "l1": 1},
        {"law": ["discrete-laplace"]},
        {},
    ],
)
def test_an_unknown_event_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(UnsupportedEvent):
        events.from_json(document)


def test_the_costs_of_the_four_laws() -> None:
    laplace, gaussian, flip, gumbel = EVENTS
    assert (laplace.pure_epsilon(), laplace.rho()) == (Fraction(1, 5), Fraction(1, 50))
    assert (gaussian.pure_epsilon(), gaussian.rho()) == (None, Fraction(4, 9))
    assert (flip.pure_epsilon(), flip.rho()) == (Fraction(1, 5), Fraction(1, 50))
    assert (gumbel.pure_epsilon(), gumbel.rho()) == (Fraction(1, 5), Fraction(1, 200))
    assert accountant.rho(EVENTS) == Fraction(1, 50) + Fraction(4, 9) + Fraction(
        1, 50
    ) + Fraction(1, 200)
    with pytest.raises(UnsupportedEvent):
        accountant.pure_epsilon(EVENTS)


@pytest.mark.parametrize(
    ("relation", "records", "expected"),
    [
        (Relation.ADD_REMOVE, 1, Sensitivity(l1=1, l2_squared=1, linf=1)),
        (Relation.ADD_REMOVE, 5, Sensitivity(l1=5, l2_squared=25, linf=5)),
        (Relation.REPLACE_ONE, 1, Sensitivity(l1=2, l2_squared=2, linf=2)),
        (Relation.REPLACE_ONE, 5, Sensitivity(l1=10, l2_squared=50, linf=10)),
    ],
)
def test_replacing_doubles_what_adding_costs(
    relation: Relation, records: int, expected: Sensitivity
) -> None:
    assert histogram_sensitivity(PrivacyUnit(max_records=records), relation) == expected


@pytest.mark.parametrize("records", [0, -1, 1.0, True, "1", 10**7])
def test_a_privacy_unit_has_a_sound_number_of_records(records: object) -> None:
    with pytest.raises(DomainError):
        PrivacyUnit(max_records=records)  # type: ignore[arg-type]


def test_the_unit_is_named_in_words() -> None:
    assert PrivacyUnit().sentence() == "one record"
    assert PrivacyUnit(max_records=5, column="id").sentence() == "one person, at most 5 rows"
    assert (
        PrivacyUnit.from_json(PrivacyUnit(max_records=2, column="id").to_json()).max_records
        == 2
    )
