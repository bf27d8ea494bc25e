"""The mistakes of `mutants.py` can be planted, and the tests that notice them are there; running them is for
the program itself."""

from __future__ import annotations

import ast

import pytest

from tests.privacy.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_planted_and_has_tests(mutant: Mutant) -> None:
    planted = mutant.planted_in((ROOT / mutant.file).read_text("utf-8"))
    ast.parse(planted)
    assert mutant.tests
    assert mutant.missing_tests() == []


def test_no_two_mutants_have_one_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)


def test_a_text_that_is_gone_or_a_test_that_is_not_there_is_noticed() -> None:
    mutant = MUTANTS[0]
    with pytest.raises(ValueError, match="occurs 0 times"):
        mutant.planted_in("another text")
    with pytest.raises(ValueError, match="occurs 2 times"):
        mutant.planted_in(2 * mutant.shipped)
    gone = Mutant(
        "gone", mutant.file, "a", "b", ("privacy/test_session.py::test_gone", "no.py")
    )
    assert gone.missing_tests() == list(gone.tests)
