"""The verifier checks the receipt of a database: that each view has its receipt, that none is missing, and
that they add up.

Standard library only, and nothing shared with what writes receipts. A database is measured by views, of which
each has a receipt of its own. The privacy unit of all of them is a row of the root table with all rows that
lead to it; how many rows of it a view holds at most follows from the tables that the receipt states.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synth_engine.verifier.bounds import epsilon_bound
from synth_engine.verifier.calls import SHA256, amount, refuse
from synth_engine.verifier.gaussian import epsilon_of_mu
from synth_engine.verifier.limits import MAX_AMOUNT, MAX_NAME_LENGTH, check_limits
from synth_engine.verifier.marks import MarksReport, check_marks_and_seal
from synth_engine.verifier.receipt import Verified, verify
from synth_engine.verifier.statement import (
    LOOKED_CAVEAT,
    OUTSIDE_CAVEAT,
    RANGES_SENTENCE,
    SUGGESTIONS_SENTENCE,
    amounts_sentence,
    check_voucher,
    formulas_sentence,
)

DATABASE_SCHEMA = "synthweb/database-receipt/1"
_DATABASE_FIELDS = {
    "schema": str, "tables": list, "relation": str, "target": dict, "cap": dict, "guarantee": dict,
    "views": list,
    "post_processing": dict, "sample": (dict, type(None)), "digest": str,
}  # fmt: skip
# What an installation adds; a receipt of the command line has neither.
_OUTSIDE_DATABASE_CORE = {"marks": list, "seal": (dict, type(None))}
_ROOT_FIELDS = {"name", "key", "domain_sha256"}
_CHILD_FIELDS = _ROOT_FIELDS | {"parent", "reference", "most", "order", "siblings"}
_SIBLINGS = ("none", "consecutive", "first")
_DATABASE_MECHANISM = "relational"
_UNITS = "#units"
_CERTIFICATE_OF_CAP = {"epsilon": "basic", "rho": "zcdp", "mu_squared": "gdp"}
_MOST_TABLES = 20
_MOST_ROWS = 10**6
_RHO_GRID, _EPSILON_GRID = 10**9, 10**12


def is_database(receipt: Mapping[str, object]) -> bool:
    """Whether a document says that it is the receipt of a database."""
    return receipt.get("schema") == DATABASE_SCHEMA


def verify_any(
    receipt: Mapping[str, Any],
    *,
    head: Mapping[str, object] | None = None,
    key: bytes | None = None,
    core: str | None = None,
) -> Verified:
    """Verify a receipt of one table or of a database, whichever it says that it is. Errors:
    VerificationError."""
    if not is_database(receipt):
        return verify(receipt, head=head, key=key, core=core)
    return verify_database(receipt, head=head, key=key, core=core)


def verify_database(
    receipt: Mapping[str, Any],
    *,
    tables: str | None = None,
    head: Mapping[str, object] | None = None,
    key: bytes | None = None,
    core: str | None = None,
) -> Verified:
    """Recompute the guarantee of a release of several tables, and refuse it unless it is proved.

    tables: the SHA-256 of the tables that the receipt has to be of, None for any. head, key, core: as of
    `verify`. Errors: VerificationError with the first reason found.
    """
    if not is_database(receipt):
        refuse(
            "this is no receipt of a database: a receipt of one table, or of one view, proves nothing "
            "about the others"
        )
    check_limits(receipt)
    _check_database_shape(receipt)
    marks = _check_marks(receipt, head=head, key=key)
    if core is not None and core != receipt["digest"]:
        refuse("the core of the receipt is not the one of the digest that was given")
    digest = _database_digest(receipt["tables"])
    if tables is not None and tables != digest:
        refuse("the receipt is of other tables than the description")
    expected = _expected_views(receipt["tables"])
    learned = _has_view_of_units(receipt)
    if learned:
        expected = [(_UNITS, False, 1), *expected]
    if len(receipt["views"]) != len(expected):
        refuse(
            f"the database has {len(expected)} views, and the receipt has {len(receipt['views'])} receipts "
            "of views"
        )
    first, *_ = [
        _check_view(given, view, receipt=receipt, tables=digest, learned=learned)
        for given, view in zip(receipt["views"], expected, strict=True)
    ]
    epsilon, rho = _check_database_claim(receipt)
    claim = receipt["guarantee"]
    if claim["sentence"] != _database_sentence(receipt):
        refuse("the sentence says something else than the numbers")
    caveats = _caveats(receipt, marks)
    return Verified(
        epsilon=Fraction(math.ceil(epsilon * _EPSILON_GRID), _EPSILON_GRID),
        delta=amount(claim, "delta"),
        rho=rho,
        certificate=claim["certificate"],
        plan=_plan_digest(receipt),
        sentences=[
            *_sentences(receipt, epsilon, premise=first.sentences[4]),
            *caveats,
            *marks.sentences,
        ],
        caveats=caveats,
        signed_by=marks.signed_by,
        core=receipt["digest"],
    )


def _caveats(receipt: Mapping[str, Any], marks: MarksReport) -> list[str]:
    """What the guarantee does not cover."""
    stated = receipt["post_processing"]
    caveats = [OUTSIDE_CAVEAT] if marks.outside or "outside_guarantee" in stated else []
    if marks.looked or "chosen_after_looking" in stated:
        caveats.append(LOOKED_CAVEAT)
    return caveats


def _sentences(receipt: Mapping[str, Any], epsilon: Fraction, *, premise: str) -> list[str]:
    """What a receipt of a database proves, in words. premise: of its first view. Errors: VerificationError
    for a voucher that is malformed."""
    stated = receipt["post_processing"]
    calls = sum(len(view["calls"]) for view in receipt["views"])
    formulas = []
    if "formulas_vouched_by" in stated:
        check_voucher(stated["formulas_vouched_by"])
        formulas.append(formulas_sentence(stated["formulas_vouched_by"]))
    return [
        _database_sentence(receipt),
        (
            f"{calls} calls about {len(receipt['views'])} views recomputed; they add up to epsilon = "
            f"{float(epsilon):.9g}."
        ),
        "Each view has a receipt of its own, and their caps add up under the cap of the database.",
        (
            "Rows that refer to no row of their parent belong to no unit and are left out; keys are "
            "presupposed to be unique."
        ),
        premise,
        *formulas,
        *([SUGGESTIONS_SENTENCE] if "suggestions_shown" in stated else []),
        *([RANGES_SENTENCE] if "ranges_after_looking" in stated else []),
    ]


def _check_marks(
    receipt: Mapping[str, Any], *, head: Mapping[str, object] | None, key: bytes | None
) -> MarksReport:
    """The findings about the chain of marks and the signature, which stand beside the core as they do at a
    receipt of one table."""
    if "marks" in receipt:
        return check_marks_and_seal(receipt, head=head, key=key)
    if head is not None or key is not None:
        refuse("this receipt of a database has no marks and no signature")
    return MarksReport()


def _has_view_of_units(receipt: Mapping[str, Any]) -> bool:
    """Whether the first view is that of units. No table has its name."""
    first = receipt["views"][0] if receipt["views"] else None
    parameters = first.get("mechanism") if isinstance(first, dict) else None
    if isinstance(parameters, dict):
        parameters = parameters.get("parameters")
    return isinstance(parameters, dict) and parameters.get("view") == _UNITS


def _database_digest(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plan_digest(receipt: Mapping[str, Any]) -> str:
    """The digest that a ledger has as evidence of the hold that paid for the run."""
    plans = [view["plan"]["sha256"] for view in receipt["views"]]
    stated = {"tables": receipt["tables"], "plans": plans}
    if not _has_view_of_units(receipt):
        return _database_digest({"schema": "synth_engine/database-plan/1", **stated})
    # All other plans follow from this one, from its answers, and from the target.
    stated |= {"plans": plans[:1], "target": receipt["target"]}
    return _database_digest({"schema": "synth_engine/database-plan/2", **stated})


def _check_database_shape(receipt: Mapping[str, Any]) -> None:
    fields = _DATABASE_FIELDS | (_OUTSIDE_DATABASE_CORE if "marks" in receipt else {})
    if set(receipt) != set(fields):
        refuse("the receipt has missing or unknown fields")
    for name, kind in fields.items():
        if not isinstance(receipt[name], kind):  # type: ignore[arg-type]
            refuse(f"the field {name} is of the wrong type")
    outside_core = {"digest", *_OUTSIDE_DATABASE_CORE}
    rest = {name: value for name, value in receipt.items() if name not in outside_core}
    if _database_digest(rest) != receipt["digest"]:
        refuse("the digest does not match the receipt")
    if receipt["relation"] != "add-remove":
        refuse("a database is measured under the add-remove relation only")
    if set(receipt["target"]) != {"epsilon", "delta"} or set(receipt["guarantee"]) != {
        "epsilon", "delta", "rho", "certificate", "sentence",
    }:  # fmt: skip
        refuse("the target or the guarantee has missing or unknown parts")
    if len(receipt["cap"]) != 1 or not set(receipt["cap"]) <= set(_CERTIFICATE_OF_CAP):
        refuse("the cap is malformed")


def _expected_views(tables: list[Any]) -> list[tuple[str, bool, int]]:
    """The views that a database of these tables has: name, whether it is of pairs, and the most rows of a
    unit."""
    if not 1 <= len(tables) <= _MOST_TABLES:
        refuse("the receipt has no table, or too many")
    most: dict[str, int] = {}
    views = []
    for number, table in enumerate(tables):
        if not isinstance(table, dict) or set(table) != (
            _CHILD_FIELDS if number else _ROOT_FIELDS
        ):
            refuse("a table of the receipt is malformed")
        name, above = _check_name(table, known=most), 1
        if number:
            above = _rows_above(table, most)
        most[name] = above * table.get("most", 1)
        if most[name] > _MOST_ROWS:
            refuse("a unit of the receipt has too many rows")
        views.append((name, False, most[name]))
        if number and table["most"] > 1 and table["siblings"] != "none":
            views.append((f"{name}:pairs", True, above * (table["most"] - 1)))
    return views


def _check_name(table: Mapping[str, Any], *, known: Mapping[str, int]) -> str:
    name, digest = table["name"], table["domain_sha256"]
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_LENGTH or name in known:
        refuse("a table of the receipt has no name of its own")
    if not isinstance(digest, str) or not SHA256.fullmatch(digest):
        refuse("a table of the receipt has no digest of its description")
    return name


def _rows_above(table: Mapping[str, Any], most: Mapping[str, int]) -> int:
    """How many rows a unit has in the parent of a table, at most."""
    # A parent comes first, so that keys cannot run in a loop.
    if table["parent"] not in most or table["siblings"] not in _SIBLINGS:
        refuse("a table of the receipt has no parent before it, or unknown siblings")
    if type(table["most"]) is not int or not 1 <= table["most"] <= _MOST_ROWS:
        refuse("a table of the receipt has no maximum of rows")
    return most[table["parent"]]


def _check_view(
    given: Any,
    view: tuple[str, bool, int],
    *,
    receipt: Mapping[str, Any],
    tables: str,
    learned: bool,
) -> Verified:
    """Verify the receipt of a view, and that it is the one that stands here. learned: whether its bound on
    the rows of a unit may be smaller than what the tables allow, because units were counted before."""
    name, pairs, most = view
    verified = verify(given)
    parameters = given["mechanism"]["parameters"]
    if (
        given["mechanism"]["id"] != _DATABASE_MECHANISM
        or parameters.get("view") != name
        or parameters.get("pairs") is not pairs
        or parameters.get("database") != tables
    ):
        refuse("a receipt of a view is of another view, or of another database")
    bound = given["unit"].get("max_records")
    # A smaller bound is enforced: of a unit with more rows, so many are selected by chance.
    is_allowed = type(bound) is int and (1 <= bound <= most if learned else bound == most)
    unit = {"max_records": bound, "column": receipt["tables"][0]["key"]}
    if not is_allowed or given["unit"] != unit or given["relation"] != "add-remove":
        refuse("the privacy unit of a view does not follow from the tables")
    if set(given["plan"]["cap"] or {}) != set(receipt["cap"]):
        refuse("the views are not measured under caps of one kind")
    if amount(given["target"], "delta") != amount(receipt["target"], "delta"):
        refuse("the views are not measured for one delta")
    return verified


def _check_database_claim(receipt: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """The epsilon that follows from the cap of the database, under which the caps of its views have to add
    up; and the rho."""
    (unit,) = receipt["cap"]
    cap = amount(receipt["cap"], unit)
    if sum((amount(view["plan"]["cap"], unit) for view in receipt["views"]), Fraction(0)) > cap:
        refuse("the caps of the views add up to more than the cap of the database")
    claim, target = receipt["guarantee"], receipt["target"]
    delta, claimed = amount(claim, "delta"), amount(claim, "epsilon")
    if claim["certificate"] != _CERTIFICATE_OF_CAP[unit]:
        refuse("the certificate does not fit the cap")
    if unit == "epsilon":
        epsilon, rho = cap, cap**2 / 2
    else:
        if not 0 < delta < 1:
            refuse("this certificate needs a delta between 0 and 1")
        rho = cap if unit == "rho" else cap / 2
        epsilon = (
            epsilon_bound(cap, delta)
            if unit == "rho"
            else epsilon_of_mu(cap, delta, near=claimed)
        )
    if max(epsilon, rho) > MAX_AMOUNT:
        refuse("the views add up to more than the verifier computes with")
    if epsilon > claimed:
        refuse("the claimed epsilon is below what the views add up to")
    rounded = Fraction(math.ceil(rho * _RHO_GRID), _RHO_GRID)
    if amount(claim, "rho") != rounded:
        refuse("the claimed rho is not what the views add up to")
    if amount(target, "epsilon") < claimed or amount(target, "delta") < delta:
        refuse("the claim is weaker than the target")
    return epsilon, rounded


def _database_sentence(receipt: Mapping[str, Any]) -> str:
    """Who is protected, and how strongly, from the tables and the claim."""
    root, *others = receipt["tables"]
    most = {name: rows for name, pairs, rows in _expected_views(receipt["tables"]) if not pairs}
    parts = [f"at most {most[table['name']]} of {table['name']}" for table in others]
    below = f", and all rows that lead to it ({', '.join(parts)})," if parts else ""
    return (
        f"{amounts_sentence(receipt['guarantee'])} differential privacy for one row of {root['name']}"
        f"{below} added or removed."
    )
