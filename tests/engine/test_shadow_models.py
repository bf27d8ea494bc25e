"""Shadow models: a method that keeps every record is found out, one with a small epsilon is not, and what is
not tried is said."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.spec import Spec
from synth_engine.trials import attacks, shadow_models
from synth_engine.trials.record_samples import RecordSample
from synth_engine.trials.shadow_models import ShadowTrials
from tests.domains import domain_of

SIZES = (32, 32)


def pool(domain: Domain, rows: int = 400) -> RecordSample:
    """Most records have small values, and each twentieth one large values that nobody else has."""
    rng = np.random.default_rng(0)
    own = np.arange(rows) % 20 == 0
    codes = {
        name: np.where(own, 8 + np.arange(rows) // 20 % 24, rng.integers(0, 4, rows))
        for name in domain.names
    }
    return RecordSample(domain=domain, codes=codes)


def attacked(mechanism: str, epsilon: str, domain: Domain) -> ShadowTrials | str:
    spec = Spec(mechanism=mechanism, epsilon=Fraction(epsilon))
    return shadow_models.attack(pool(domain), spec, progress=lambda *_: None, seconds=600)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_models, "SHADOWS", 24)


@pytest.mark.parametrize("relation", list(Relation))
def test_a_method_that_hides_nothing_is_found_out(relation: Relation) -> None:
    found = attacked("contingency-table", "1000", domain_of(*SIZES, relation=relation))
    assert isinstance(found, ShadowTrials)
    assert found.tables == 24
    assert found.trials == 12 * shadow_models.TARGETS
    assert found.bound == 1.0
    # One half by chance, with a standard deviation of 0.03.
    assert found.hits / found.trials > 0.8


def test_a_method_with_a_small_epsilon_is_not() -> None:
    found = attacked("contingency-table", "1/100", domain_of(*SIZES))
    assert isinstance(found, ShadowTrials)
    assert found.bound == pytest.approx(0.5025, abs=1e-4)
    # Under this epsilon answers are as good as tosses of coins: six standard deviations.
    assert abs(found.hits / found.trials - 0.5) < 6 * 0.5 / found.trials**0.5 + 0.0025


def test_what_is_not_tried_is_said() -> None:
    several = domain_of(*SIZES, unit=PrivacyUnit(max_records=3))
    assert attacked("independent", "1", several) == "persons may have several records"
    nothing = attacked("no-such-method", "1", domain_of(*SIZES))
    assert nothing == "its method cannot be run on a small part of the table"
    late = shadow_models.attack(
        pool(domain_of(*SIZES)),
        Spec(mechanism="independent", epsilon=Fraction(1)),
        progress=lambda *_: None,
        seconds=-1.0,
    )
    assert isinstance(late, str)
    assert late.startswith("fewer than 16")


def test_a_report_has_the_attack_with_what_epsilon_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = pool(domain_of(*SIZES), rows=1_000)
    told = ShadowTrials(hits=180, trials=200, bound=0.95, tables=20)
    monkeypatch.setattr(shadow_models, "attack", lambda *_, **__: told)
    spec = Spec(mechanism="independent", epsilon=Fraction(1))
    document = attacks.attack((sample, sample), sample, progress=lambda *_: None, shadowed=spec)
    made = {each["name"]: each for each in document["attacks"]}["shadow models"]
    assert made["rates"] == {"synthetic": 0.9, "control": 0.5}
    assert made["level"] == "leak"
    assert any("at most 95% right answers" in note for note in document["notes"])
    monkeypatch.setattr(shadow_models, "attack", lambda *_, **__: "the table is too small")
    document = attacks.attack((sample, sample), sample, progress=lambda *_: None, shadowed=spec)
    assert (
        "Shadow models: the table is too small, so that they were not tried."
        in document["notes"]
    )


def test_the_domain_of_small_tables_has_their_number_of_records() -> None:
    public = dataclasses.replace(domain_of(*SIZES, relation=Relation.REPLACE_ONE), rows=400)
    found = attacked("independent", "1", public)
    assert isinstance(found, ShadowTrials)
