"""Guarantees and the engine's texts, as pages say them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from synth_engine import mechanisms
from synth_engine.privacy.receipt import Guarantee
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.audit.models import AuditEntry
from synthweb.ledger.audit_lines import facts
from synthweb.lib.guarantee import meaning
from synthweb.lib.number_format import in_letters
from synthweb.runs.forms import parameter_field

RECORD = PrivacyUnit()
PERSON = PrivacyUnit(max_records=5, column="person")


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        (Fraction(0), "ε 0.5 differential privacy for one record added or removed."),
        (
            Fraction(1, 10**9),
            "ε 0.5, δ 1e-9 differential privacy for one record added or removed.",
        ),
        (
            Fraction(5, 10**7),
            "ε 0.5, δ 5e-7 differential privacy for one record added or removed.",
        ),
        (
            Fraction(1, 500),
            "ε 0.5, δ 0.002 differential privacy for one record added or removed.",
        ),
    ],
)
def test_the_sentence_of_a_receipt_reads_in_letters(delta: Fraction, words: str) -> None:
    guarantee = Guarantee(
        epsilon=Fraction(1, 2), delta=delta, rho=Fraction(1, 8), certificate="zcdp"
    )
    assert in_letters(guarantee.sentence(relation=Relation.ADD_REMOVE, unit=RECORD)) == words


def test_only_whole_words_become_letters() -> None:
    assert (
        in_letters("deltas of rhombic epsilon_nano, delta")
        == "deltas of rhombic epsilon_nano, δ"
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "right"),
    [
        ("1", "0", "74"),
        ("1", "1e-9", "74"),
        ("0.1", "0", "53"),
        ("0.5", "0.2", "70"),
        ("4", "0", "99"),
    ],
)
def test_the_meaning_is_the_best_rate_of_right_guesses_rounded_up(
    epsilon: str, delta: str, right: str
) -> None:
    said = meaning(
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        relation=Relation.ADD_REMOVE,
        unit=RECORD,
    )
    assert f"right at most {right} times in 100" in said
    assert "whether one record is in the table" in said


def test_a_large_loss_is_called_weak_and_overflows_nothing() -> None:
    for epsilon in (Fraction(5), Fraction(10**4)):
        said = meaning(
            epsilon=epsilon, delta=Fraction(0), relation=Relation.ADD_REMOVE, unit=RECORD
        )
        assert "weak guarantee" in said


def test_a_person_and_a_replacement_are_named() -> None:
    said = meaning(
        epsilon=Fraction(1), delta=Fraction(0), relation=Relation.REPLACE_ONE, unit=PERSON
    )
    assert "which of two versions of one person is in the table" in said


def test_every_choice_of_a_mechanism_has_a_label_of_its_own() -> None:
    for mechanism in mechanisms.describe():
        for name, rule in mechanism["parameters"]["properties"].items():
            if "enum" in rule:
                assert set(rule["x-labels"]) == set(rule["enum"])
                values = [value for value, _ in parameter_field(name, rule).choices]
                assert values == rule["enum"]


def test_the_audit_log_shows_amounts_as_people_read_them() -> None:
    entry = AuditEntry(
        detail={
            "epsilon_nano": 1_500_000_000,
            "forfeited_epsilon_nano": 0,
            "reason": "",
            "bytes": 7,
        }
    )
    assert facts(entry) == [("ε", "1.5"), ("forfeited ε", "0"), ("bytes", "7")]
