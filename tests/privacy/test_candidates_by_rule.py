"""Receipts state candidates by a rule where that is shorter: the rule gives the same list, and both verifiers
refuse another."""

from __future__ import annotations

import copy
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from synth_engine import verifier
from synth_engine.errors import VerificationError
from synth_engine.mechanisms.auto.groups import SIZES
from synth_engine.privacy import candidates
from synth_engine.verifier import standalone
from synth_engine.verifier.candidates import with_candidates
from tests.engine.test_auto import answered, chain, domain_of, planned
from tests.privacy.test_verifier import resealed

COLUMNS = 9
NAMES = [f"c{place}" for place in range(COLUMNS)]


def groups(size: int, names: list[str] = NAMES) -> list[list[str]]:
    return [list(group) for group in itertools.combinations(names, size)]


def listed(stated: Any) -> list[list[str]]:
    """What the verifier writes out."""
    found: list[list[str]] = with_candidates({"candidates": stated}, 1)["candidates"]
    return found


@cache
def _document() -> str:
    sizes = (2,) * COLUMNS
    plan = planned(domain_of(*sizes), epsilon="4")
    return json.dumps(plan.receipt(answered(plan, chain(3_000, *sizes))))


def document() -> Any:
    return json.loads(_document())


def ruled(receipt: Any) -> list[Any]:
    return [
        call["query"]
        for call in receipt["calls"]
        if isinstance(call["query"].get("candidates"), dict)
    ]


@pytest.mark.parametrize(
    "cliques",
    [
        groups(2),
        groups(3),
        groups(3)[:40] + groups(3)[43:],
        groups(3)[1:],
        groups(2, list(reversed(NAMES))),
    ],
    ids=["pairs", "triples", "without three", "without the first", "another order"],
)
def test_a_rule_gives_the_same_list_in_fewer_signs(cliques: list[list[str]]) -> None:
    stated = candidates.stated(cliques)
    assert isinstance(stated, dict)
    assert len(json.dumps(stated)) < len(json.dumps(cliques))
    assert listed(stated) == cliques
    assert candidates.number_of(stated) == len(cliques)
    assert candidates.smallest_of(stated) == len(cliques[0])


@pytest.mark.parametrize(
    "cliques",
    [
        [],
        [["a"]],
        [["a", "b"], ["b", "a"]],
        list(reversed(groups(3))),
        [*groups(2), *groups(3)],
        [*groups(2), ["c0", "c1"]],
        groups(3)[:5],
    ],
    ids=["none", "one", "both ways", "backwards", "two sizes", "twice", "few"],
)
def test_what_no_rule_gives_stays_a_list(cliques: list[list[str]]) -> None:
    assert candidates.stated(cliques) is cliques
    assert candidates.number_of(cliques) == len(cliques)


def test_the_receipt_of_auto_states_pairs_triples_and_larger_groups_by_rule() -> None:
    receipt = document()
    sizes = [query["candidates"]["size"] for query in ruled(receipt)]
    assert sizes[0] == 2
    assert set(sizes) == {2, 3, *SIZES}
    first = next(query for query in ruled(receipt) if query["verb"] == "score")
    assert listed(first["candidates"]) == groups(2)
    assert verifier.verify(receipt).core == receipt["digest"]


def test_a_receipt_that_names_every_candidate_is_still_accepted() -> None:
    receipt = document()
    for query in ruled(receipt):
        query["candidates"] = listed(query["candidates"])
    assert not ruled(receipt)
    by_rule, by_list = (verifier.verify(resealed(one)) for one in (document(), receipt))
    assert (by_rule.epsilon, by_rule.rho) == (by_list.epsilon, by_list.rho)


def _set(name: str, value: Any) -> Callable[[Any], None]:
    return lambda rule: rule.update({name: value})


MUTANTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "one column fewer": (lambda rule: rule["columns"].pop(), "not those that their rule gives"),
    "another column": (_set("columns", [*NAMES[:-1], "z"]), "not those that their rule gives"),
    "other order": (lambda rule: rule["columns"].reverse(), "not those that their rule gives"),
    "pairs as triples": (_set("size", 3), "not those that their rule gives"),
    "one left out": (_set("without", [["c0", "c1"]]), "not those that their rule gives"),
    "left out twice": (_set("without", [["c0", "c1"]] * 2), "leave out what is no group"),
    "no group left out": (_set("without", [["c1", "c0"]]), "leave out what is no group"),
    "another number": (_set("number", 35), "not those that their rule gives"),
    "another digest": (_set("sha256", "0" * 64), "not those that their rule gives"),
    "unknown rule": (_set("rule", "some groups"), "unknown"),
    "one part more": (_set("more", 1), "unknown"),
    "no size": (lambda rule: rule.pop("size"), "unknown"),
    "size 0": (_set("size", 0), "malformed"),
    "true size": (_set("size", True), "malformed"),
    "large size": (_set("size", COLUMNS + 1), "malformed"),
    "true number": (_set("number", True), "malformed"),
    "columns twice": (_set("columns", ["c0", "c0"]), "malformed"),
    "no names": (_set("columns", [1, 2]), "malformed"),
    "no columns": (_set("columns", None), "malformed"),
    "no list": (_set("without", {}), "malformed"),
    "no groups": (_set("without", [[[]]]), "malformed"),
    "too many": (
        lambda rule: rule.update(columns=[f"c{n}" for n in range(900)], size=3),
        "candidates",
    ),
}


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("auditor") / standalone.NAME
    path.write_text(standalone.text(), encoding="utf-8")
    return path


@pytest.mark.parametrize("mutant", MUTANTS)
def test_both_verifiers_refuse_a_list_that_is_not_that_of_its_rule(
    one_file: Path, tmp_path: Path, mutant: str
) -> None:
    change, reason = MUTANTS[mutant]
    receipt = copy.deepcopy(document())
    change(ruled(receipt)[0]["candidates"])
    forged = resealed(receipt)
    with pytest.raises(VerificationError, match=reason):
        verifier.verify(forged)
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(forged))
    command = [sys.executable, "-I", "-S", str(one_file), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 1
    assert reason in found.stderr


def test_a_rule_and_a_digest_that_agree_cannot_hide_scores() -> None:
    """Fewer candidates, said consistently, need a smaller sensitivity than the one that was paid for."""
    receipt = document()
    query = next(query for query in ruled(receipt) if query["verb"] == "score")
    query["candidates"] = candidates.stated(groups(2)[1:])
    with pytest.raises(VerificationError, match="does not follow from unit and relation"):
        verifier.verify(resealed(receipt))
