"""One chance that no value is invented, for all tables of an installation."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from synth_engine.domain import Domain, Weak
from synth_engine.errors import DomainError
from synthweb.datasets import inputs
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.services import terms

TYPED = {"set": "english-words", "outside": "other"}


def column(**fields: str) -> Weak:
    found = attribute_of("word", {"kind": "weak", "fields": TYPED | fields})
    assert isinstance(found, Weak)
    return found


def domain(rho: float) -> Domain:
    word: dict[str, Any] = {
        "name": "word",
        "kind": "weak",
        "values": {"set": "integers", "low": 1, "high": 9},
    }
    return Domain.from_json({"attributes": [word | {"rho": rho}]})


def test_without_it_each_column_has_its_own() -> None:
    assert (column().rho, column(rho="0.5").rho) == (0.9, 0.5)
    terms.check_rho(domain(0.5))
    assert "0.9" in inputs.of("rho", "weak", "").hint


def test_a_column_without_one_gets_that_of_all_and_another_one_is_refused(
    settings: Settings,
) -> None:
    settings.RHO = 0.99
    assert (column().rho, column(rho="0.5").rho) == (0.99, 0.5)
    terms.check_rho(domain(0.99))
    with pytest.raises(DomainError, match="all tables have one"):
        terms.check_rho(domain(0.5))
    assert "0.99" in inputs.of("rho", "weak", "").hint
