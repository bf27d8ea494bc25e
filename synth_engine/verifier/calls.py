"""The verifier recomputes single calls: sensitivities from unit and relation, costs and losses from the
noise.

Standard library only, and nothing shared with what writes receipts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from synth_engine.errors import VerificationError
from synth_engine.verifier.candidates import with_candidates
from synth_engine.verifier.limits import (
    MAX_AMOUNT,
    MAX_AXES,
    MAX_NAME_LENGTH,
    MAX_NOISE_SPREAD,
    MAX_PUBLIC_TOTALS,
    MAX_RATIO_LENGTH,
    product_is,
)
from synth_engine.verifier.losses import GaussianLoss, PureLoss
from synth_engine.verifier.resampling import group_delta, is_prior
from synth_engine.verifier.trees import is_grown, noise_fits, tree_epsilon

_TABLES = ("discrete-laplace", "discrete-gaussian", "rounded-gaussian")
_LAWS = {
    "measure": _TABLES,
    "interaction": _TABLES,
    "select": ("permute-and-flip", "gumbel"),
    "refine": ("permute-and-flip", "gumbel"),
    "score": _TABLES,
    "group-sizes": _TABLES,
    "discover": ("discrete-laplace",),
    "grow": ("discrete-laplace", "discrete-gaussian", "rounded-gaussian", "threshold-tree"),
    "items": _TABLES,
    "resample": ("dirichlet-multinomial",),
    "leaves": _TABLES,
    "intervals": _TABLES,
    "divide": ("permute-and-flip", "gumbel"),
    "boxes": _TABLES,
}
_PARTS_OF: dict[str, set[str]] = {
    "measure": set(),
    "interaction": {"bins"},
    "group-sizes": set(),
    "select": {"candidates"},
    "refine": {"candidates"},
    "score": {"candidates"},
    "discover": {"threshold"},
    "grow": {"grown", "branching"},
    "items": set(),
    "resample": set(),
    "leaves": {"parts", "by"},
    "intervals": set(),
    "divide": {"parts", "by"},
    "boxes": {"parts", "by"},
}
"""The parts of a query besides its verb, its clique and its number of cells."""
_MONOTONIC = ("refine", "divide")
"""The verbs of which an added record raises every score by one, or leaves it."""
_NOT_CELL_COUNTS = ("interaction", "score", "grow", "items", "resample")
"""The verbs whose answers are not tables in which one record moves one cell."""
_SENSITIVITY = {
    "discrete-laplace": "l1",
    "discrete-gaussian": "l2_squared",
    "rounded-gaussian": "l2_squared",
    "permute-and-flip": "linf",
    "gumbel": "linf",
    "threshold-tree": "l1",
}
_HALF_PI = Fraction(15707963268, 10**10)
"""A little more than pi / 2: what is epsilon-differentially private is mu-GDP with mu² = epsilon² pi / 2, and
with a quarter of that where its loss has range epsilon."""
_MAX_UNIT_RECORDS, _MAX_EPSILON = 10**6, 1000
_MAX_PARTING_NAME_LENGTH = 100
TOTALS = "totals of "
"""How the name of an invariant begins that says how many records have each value of a column."""
_VOTE = 10**4
"""Parts into which the vote of a basket is cut, so that its shares are whole numbers: items are counted in
these."""
_NOISE_SPREADS = ("scale", "sigma_squared")
SHA256 = re.compile(r"[0-9a-f]{64}")
_RATIO = re.compile(r"(0|[1-9][0-9]*)/([1-9][0-9]*)")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The loss of one call or of several.

    epsilon: None where noise has no pure guarantee. rho: None where a delta comes with epsilon, of which no
    rho follows. mu_squared: None where it has no mu. variance: that of discrete Gaussian noise on a table,
    whose privacy-loss distribution is known. delta: the one that comes with epsilon.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    mu_squared: Fraction | None = None
    variance: Fraction | None = None
    delta: Fraction = Fraction(0)


def refuse(reason: str) -> NoReturn:
    raise VerificationError(reason)


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """The bounds that unit and relation set to calls.

    records: how far a table of records moves. units: how far the numbers of units by size move. sizes: how
    many sizes there are; 0 where no column names the unit of a record. max_records: the most records of a
    unit. replaced: whether the records of one unit are replaced, and not added or removed. public_totals:
    columns whose totals are public.
    """

    records: Mapping[str, int]
    units: Mapping[str, int]
    sizes: int
    max_records: int
    replaced: bool
    public_totals: tuple[str, ...] = ()


def allowed_by(receipt: Mapping[str, Any]) -> Allowed:
    """The bounds for a unit of at most m records: a table of records moves as far as m of them can, the table
    of units by size as far as one record can."""
    m, column = receipt["unit"]["max_records"], receipt["unit"]["column"]
    records = _table_sensitivities(receipt)
    one = (
        {"l1": 1, "l2_squared": 1}
        if receipt["relation"] == "add-remove"
        else {"l1": 2, "l2_squared": 2}
    )
    replaced = receipt["relation"] == "replace-one"
    public_totals = tuple(
        name.removeprefix(TOTALS) for name in receipt["invariants"] if name != "rows"
    )
    sizes = 0 if column is None else m
    return Allowed(
        records=records,
        units=one,
        sizes=sizes,
        max_records=m,
        replaced=replaced,
        public_totals=public_totals,
    )


def _table_sensitivities(receipt: Mapping[str, Any]) -> dict[str, int]:
    """The sensitivities of a table of counts, for a unit of at most m records. Errors: VerificationError."""
    m, column = receipt["unit"]["max_records"], receipt["unit"]["column"]
    if (
        type(m) is not int
        or not 1 <= m <= _MAX_UNIT_RECORDS
        or not (column is None or (isinstance(column, str) and column))
    ):
        refuse("the privacy unit is malformed")
    if not all(
        isinstance(name, str) and (name == "rows" or name.startswith(TOTALS))
        for name in receipt["invariants"]
    ):
        refuse("an invariant is unknown")
    if len(receipt["invariants"]) > MAX_PUBLIC_TOTALS or any(
        len(name) > MAX_NAME_LENGTH for name in receipt["invariants"]
    ):
        refuse("there are too many invariants, or the name of one is too long")
    if m > 1 and any(name != "rows" for name in receipt["invariants"]):
        refuse("totals are public for units of one record only")
    if receipt["relation"] == "add-remove":
        if receipt["invariants"]:
            refuse("the number of rows is no invariant when records are added or removed")
        # All m records of a unit may fall into one cell.
        return {"l1": m, "l2_squared": m * m, "linf": m}
    if receipt["relation"] == "replace-one":
        # Two changes whose inner product is not negative: |b - a|² <= |a|² + |b|² <= 2 m².
        return {"l1": 2 * m, "l2_squared": 2 * m * m, "linf": 2 * m}
    refuse("the neighbouring relation is unknown")


def amount(holder: Mapping[str, Any], name: str) -> Fraction:
    """Read an exact amount: a ratio in lowest terms, as text, not above what is computed with. Errors:
    VerificationError."""
    text = holder.get(name)
    if isinstance(text, str) and len(text) > MAX_RATIO_LENGTH:
        refuse(f"{name} has more than {MAX_RATIO_LENGTH} signs")
    match = _RATIO.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        refuse(f"{name} is no ratio of whole numbers")
    numerator, denominator = int(match[1]), int(match[2])
    # One spelling for each amount, because digests are over texts.
    if math.gcd(numerator, denominator) != 1:
        refuse(f"{name} is not in lowest terms")
    value = Fraction(numerator, denominator)
    if value > (MAX_NOISE_SPREAD if name in _NOISE_SPREADS else MAX_AMOUNT):
        refuse(f"{name} is above what the verifier computes with")
    return value


def cost_of(
    call: Any,
    number: int,
    allowed: Allowed,
    *,
    progress: Callable[[float], None] = lambda _share: None,
) -> Cost:
    """Recompute the cost of one call. progress: is given the share that is done where it takes long. Errors:
    VerificationError if the call states another one."""
    if not isinstance(call, dict) or set(call) != {"query", "noise", "sensitivity", "cost"}:
        refuse(f"call {number} has missing or unknown parts")
    if not all(isinstance(part, dict) for part in call.values()):
        refuse(f"call {number} is malformed")
    query, noise = with_candidates(call["query"], number), call["noise"]
    _check_query(query, number, allowed)
    law = noise.get("law")
    if not isinstance(law, str) or law not in _LAWS[query["verb"]]:
        refuse(f"call {number} is of an unknown law, or of one that does not fit its verb")
    if query["verb"] == "resample":
        return _cost_of_groups(call, number, allowed, progress)
    kind, sensitivities = _SENSITIVITY[law], _query_sensitivities(query, allowed)
    if set(call["sensitivity"]) != {kind} or type(call["sensitivity"][kind]) is not int:
        refuse(f"call {number} states another kind of sensitivity than its law needs")
    # A stated sensitivity that is too small would make the cost too small.
    if call["sensitivity"][kind] != sensitivities[kind]:
        refuse(f"the sensitivity of call {number} does not follow from unit and relation")
    if query["verb"] == "grow" and not noise_fits(query, noise, _tree_scale(noise)):
        refuse(f"the noise of call {number} does not fit the rule by which the tree is grown")
    # Monotonic scores halve the loss, so the claim has to follow from the verb.
    if law in _LAWS["refine"] and noise.get("monotonic") is not (query["verb"] in _MONOTONIC):
        refuse(
            f"call {number} claims monotonic scores or none: classes of groups are, distances from a "
            "reference are not"
        )
    cost = _cost(law, noise, sensitivities[kind], number)
    stated = call["cost"]
    expected = {"rho": cost.rho} | ({} if cost.epsilon is None else {"epsilon": cost.epsilon})
    if set(stated) != set(expected) or any(
        amount(stated, name) != value for name, value in expected.items()
    ):
        refuse(f"the cost of call {number} does not follow from its noise")
    return cost


def _cost_of_groups(
    call: Mapping[str, Any],
    number: int,
    allowed: Allowed,
    progress: Callable[[float], None],
) -> Cost:
    """The cost of resampled groups, whose totals have to be the same in neighbouring tables."""
    query, noise = call["query"], call["noise"]
    if call["sensitivity"] or not is_prior(noise) or query["cells"] % noise["origins"]:
        refuse(f"the prior of call {number} is malformed")
    parting = query.get("parting", "of values")
    if not isinstance(parting, str) or not 0 < len(parting) <= _MAX_PARTING_NAME_LENGTH:
        refuse(f"the parts of call {number} have no name")
    # The proof compares groups of one size, so their sizes are invariant
    # (docs/proofs/resample.md).
    if len(query["clique"]) != 2 or query["clique"][0] not in allowed.public_totals:
        refuse(f"call {number} draws groups anew whose totals are not public")
    epsilon, delta = amount(noise, "epsilon"), amount(noise, "delta")
    if not 0 < epsilon <= _MAX_EPSILON or not 0 <= delta < 1:
        refuse(f"call {number} has an epsilon or a delta out of range")
    if set(call["cost"]) != {"epsilon", "delta"} or (
        amount(call["cost"], "epsilon") != epsilon or amount(call["cost"], "delta") != delta
    ):
        refuse(f"the cost of call {number} does not follow from its noise")
    computed_delta = group_delta(noise, epsilon, progress=progress)
    if computed_delta is None or computed_delta > delta:
        refuse(f"the prior of call {number} is too small for its epsilon and delta")
    # With a delta, more than epsilon is lost now and then, and by how much is not bounded: no rho follows.
    return Cost(epsilon=epsilon, rho=None if delta else epsilon**2 / 2, delta=delta)


def _query_sensitivities(query: Mapping[str, Any], allowed: Allowed) -> Mapping[str, int]:
    """How far an answer moves between neighbours. Each of m scores moves as far as a table does in L1, all of
    them at once; weighted counts of items move as far as a table does, in parts of a vote."""
    if query["verb"] == "items":
        of_one = allowed.records
        return {"l1": _VOTE * of_one["l1"], "l2_squared": _VOTE**2 * of_one["l2_squared"]}
    if query["verb"] == "group-sizes":
        return allowed.units
    if query["verb"] == "score":
        score_count, linf = len(query["candidates"]), allowed.records["linf"]
        return {"l1": score_count * linf, "l2_squared": score_count * linf**2}
    if query["verb"] == "grow" and query["grown"]["rule"] == "basic":  # a table of every depth
        return {
            name: query["grown"]["depth"] * moving for name, moving in allowed.records.items()
        }
    if query["verb"] == "grow":  # of every record its parts
        return {
            name: query["grown"].get("parts", 1) * moving
            for name, moving in allowed.records.items()
        }
    return (
        _interaction_sensitivities(query["bins"], allowed)
        if query["verb"] == "interaction"
        else allowed.records
    )


def _interaction_sensitivities(bins: Sequence[int], allowed: Allowed) -> dict[str, int]:
    """The sensitivities of the interaction contrast of a table with these bins (docs/proofs/interaction.md).

    One record, at cell 0 of each axis, contributes the product of vectors (K - 1, -1, -1, …), one for each
    axis. Two records that differ contribute the difference of two such products, which is longest if they
    differ along one axis, the one of fewest cells.
    """
    ones = [(size - 1) ** 2 + (size - 1) for size in bins]
    sums = [2 * (size - 1) for size in bins]
    l2_squared, l1 = math.prod(ones), math.prod(sums)
    if not allowed.replaced:
        return {
            "l1": allowed.max_records * l1,
            "l2_squared": allowed.max_records**2 * l2_squared,
        }
    # Two vectors (K - 1, -1, …) of different cells have the inner product -K.
    crossed = max(math.prod(ones[:at] + ones[at + 1 :]) * size for at, size in enumerate(bins))
    return {
        "l1": 2 * allowed.max_records * l1,
        "l2_squared": 2 * allowed.max_records**2 * (l2_squared + crossed),
    }


def _tree_scale(noise: Mapping[str, object]) -> Fraction | None:
    """The scale of noise that decides which nodes are split; None where nodes are counted."""
    return amount(noise, "scale") if noise["law"] == "threshold-tree" else None


def _check_query(query: Mapping[str, object], number: int, allowed: Allowed) -> None:
    verb = query.get("verb")
    if not isinstance(verb, str) or verb not in _LAWS:
        refuse(f"call {number} has an unknown verb")
    merged = {"bins"} if verb == "measure" and "bins" in query else set()
    merged |= {"threshold"} if verb == "leaves" and "threshold" in query else set()
    merged |= {"parting"} if verb == "resample" and "parting" in query else set()
    if set(query) != {"verb", "clique", "cells"} | _PARTS_OF[verb] | merged:
        refuse(f"the query of call {number} has missing or unknown parts")
    if verb == "group-sizes":
        if (
            query["clique"] != []
            or type(query["cells"]) is not int
            or query["cells"] != (allowed.sizes or None)
        ):
            refuse(f"call {number} asks for group sizes that the privacy unit does not have")
        return
    cliques = query["candidates"] if "candidates" in _PARTS_OF[verb] else [query["clique"]]
    if (
        type(query["cells"]) is not int
        or query["cells"] < 1
        or not isinstance(cliques, list)
        or not cliques
    ):
        refuse(f"the query of call {number} is malformed")
    total = (
        verb == "measure" and query["cells"] == 1
    )  # the number of records is the table of no column
    for clique in cliques:
        _check_clique(clique, number, may_be_empty=total)
    if "bins" in query:
        _check_bins(query, number)
    if verb == "grow" and not is_grown(query):
        refuse(
            f"the tree of call {number} has no rule that is known, or other cells than it branches into"
        )
    if verb in _CHECKS_BY_VERB:
        _CHECKS_BY_VERB[verb](query, number)


def _check_column(query: Mapping[str, Any], number: int) -> None:
    """Check that values are discovered, or items or intervals counted, in one column."""
    if query["verb"] in ("items", "intervals") and len(query["clique"]) != 1:
        refuse(f"the query of call {number} counts {query['verb']} of not one column")
    if query["verb"] == "discover" and (
        len(query["clique"]) != 1 or not _is_threshold(query["threshold"])
    ):
        refuse(f"the query of call {number} has no threshold of 1 or more, or not one column")


def _check_division(query: Mapping[str, Any], number: int) -> None:
    """Check that groups of the same columns are divided by one column more, another one each time."""
    first, *others = query["candidates"]
    more = [clique[-1] for clique in query["candidates"]]
    if (
        query["clique"] != []
        or any(clique[:-1] != first[:-1] for clique in others)
        or len(set(more)) != len(more)
    ):
        refuse(
            f"the query of call {number} divides groups of different columns, or by one column twice"
        )


def _check_leaves(query: Mapping[str, Any], number: int) -> None:
    """Check that parts of a hierarchy are counted, each by every cell of further columns."""
    by, parts = query["by"], query["parts"]
    if (
        not isinstance(by, list)
        or type(parts) is not int
        or parts < 1
        or query["cells"] % parts
    ):
        refuse(f"the parts of call {number} are not as many as its cells")
    _check_clique([*query["clique"], *by], number, may_be_empty=False)
    if not by and query["cells"] != parts:
        refuse(f"the parts of call {number} are not as many as its cells")
    if "threshold" in query and not _is_threshold(query["threshold"]):
        refuse(f"the query of call {number} has no threshold of 1 or more")


def _check_boxes(query: Mapping[str, Any], number: int) -> None:
    """Check that disjoint boxes over all these columns are counted, or divided into two at least."""
    parts, cells = query["parts"], query["cells"]
    if query["by"] != [] or type(parts) is not int or parts < 1:
        refuse(f"the boxes of call {number} are not as many as its cells")
    if cells != parts if query["verb"] == "boxes" else cells < 2 * parts:
        refuse(f"the boxes of call {number} are not as many as its cells")


_CHECKS_BY_VERB = {
    "boxes": _check_boxes,
    "discover": _check_column,
    "divide": _check_boxes,
    "intervals": _check_column,
    "items": _check_column,
    "leaves": _check_leaves,
    "refine": _check_division,
}
"""Further checks of a query, by its verb."""


def _check_clique(clique: Any, number: int, *, may_be_empty: bool) -> None:
    named = isinstance(clique, list) and all(isinstance(name, str) for name in clique)
    if not named or not (clique or may_be_empty):
        refuse(f"the query of call {number} names no columns")
    if len(clique) > MAX_AXES:
        refuse(f"the query of call {number} names more columns than the verifier counts with")
    if len(set(clique)) != len(clique):
        refuse(f"the query of call {number} names a column twice")


def _check_bins(query: Mapping[str, Any], number: int) -> None:
    if not _are_bins(query["bins"], query):
        refuse(f"the bins of call {number} are not as many as its cells")
    if query["verb"] == "interaction" and min(query["bins"]) < 2:
        refuse(f"call {number} asks for an interaction along an axis of one cell")


def _are_bins(bins: Any, query: Mapping[str, Any]) -> bool:
    if not isinstance(bins, list) or not all(type(size) is int and size >= 1 for size in bins):
        return False
    return len(bins) == len(query["clique"]) and product_is(bins, query["cells"])


def _is_threshold(value: Any) -> bool:
    return type(value) is int and value >= 1


def _cost(law: str, noise: Mapping[str, Any], sensitivity: int, number: int) -> Cost:
    if law in ("discrete-gaussian", "rounded-gaussian"):
        if set(noise) != {"law", "sigma_squared"}:
            refuse(f"the noise of call {number} has missing or unknown parts")
        variance = amount(noise, "sigma_squared")
        roots = math.isqrt(variance.numerator), math.isqrt(variance.denominator)
        _check_float(Fraction(*roots), number)
        # The sampler takes sigma as a float: no other noise can have been drawn.
        if Fraction(*roots) ** 2 != variance:
            refuse(f"the noise of call {number} is not what a sampler can draw exactly")
        rho = Fraction(sensitivity) / (2 * variance)
        # Rounding is post-processing, so mu² is exact; discrete noise has no mu.
        if law == "rounded-gaussian":
            return Cost(epsilon=None, rho=rho, mu_squared=2 * rho)
        return Cost(epsilon=None, rho=rho, variance=variance)
    if law == "threshold-tree":
        if set(noise) != {"law", "scale", "threshold", "discount"}:
            refuse(f"the noise of call {number} has missing or unknown parts")
        _check_float(amount(noise, "scale"), number)
        per_record = tree_epsilon(
            amount(noise, "scale"), threshold=noise["threshold"], discount=noise["discount"]
        )
        epsilon = sensitivity * per_record
        return Cost(epsilon=epsilon, rho=epsilon**2 / 2, mu_squared=epsilon**2 * _HALF_PI)
    choosing = law in _LAWS["select"]
    if set(noise) != {"law", "scale"} | ({"monotonic"} if choosing else set()):
        refuse(f"the noise of call {number} has missing or unknown parts")
    scale = amount(noise, "scale")
    _check_float(scale, number)
    epsilon = (2 if choosing and not noise["monotonic"] else 1) * sensitivity / scale
    # A loss of bounded range epsilon costs epsilon² / 8 (Cesar and Rogers 2021), any other pure
    # loss epsilon² / 2 (Bun and Steinke 2016).
    rho = epsilon**2 / (8 if law == "gumbel" else 2)
    return Cost(epsilon=epsilon, rho=rho, mu_squared=2 * rho * _HALF_PI)


def _check_float(value: Fraction, number: int) -> None:
    if not Fraction(1, 2**60) <= value <= 2**60 or Fraction(float(value)) != value:
        refuse(f"the noise of call {number} is not what a sampler can draw exactly")


def losses(
    costs: Sequence[Cost], receipt: Mapping[str, Any]
) -> Counter[PureLoss | GaussianLoss]:
    """The losses that dominate the calls, and how often each occurs (docs/proofs/accounting.md).

    Where a unit has one record, one cell of a table moves by exactly one (two cells where a record is
    replaced), and the loss is that of noise on single counts; discrete Laplace noise has the two losses of
    randomised response there. Where a unit has more records, only pure losses are known to be dominated.
    Errors: VerificationError for other noise.
    """
    moved_cells = (
        None
        if receipt["unit"]["max_records"] > 1
        else 1
        if receipt["relation"] == "add-remove"
        else 2
    )
    dominating: Counter[PureLoss | GaussianLoss] = Counter()
    for cost, call in zip(costs, receipt["calls"], strict=True):
        if (
            call["query"]["verb"] in _NOT_CELL_COUNTS
            or call["noise"]["law"] == "rounded-gaussian"
        ):
            refuse(
                "privacy-loss distributions of interactions, scores, trees, items, groups and rounded "
                "Gaussian noise are not among those known here"
            )
        if cost.variance is not None:
            if moved_cells is None:
                refuse(
                    "privacy-loss distributions of Gaussian noise are known for units of one record only"
                )
            dominating[GaussianLoss(cost.variance)] += moved_cells
        elif moved_cells is not None and call["noise"]["law"] == "discrete-laplace":
            dominating[PureLoss(1 / amount(call["noise"], "scale"))] += moved_cells
        elif cost.epsilon is not None:
            dominating[PureLoss(cost.epsilon)] += 1
    return dominating
