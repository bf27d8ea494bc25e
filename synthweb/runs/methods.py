"""In which groups the methods are offered, and which one a form begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Family:
    """A group of cards. `folded`: shown as one line until it is opened, or one of them is chosen."""

    key: str
    title: str
    words: str
    methods: tuple[dict[str, Any], ...]
    folded: bool


OURS = ("adaptive", "auto")
SPECIAL = ("independent", "weak-domain", "random")
WHY = {
    "auto": "The first one suits most tables.",
    "adaptive": "Most of this table is places or texts: the first one divides them as finely as their records allow.",
    "on-the-map": "Public totals are declared: the first one keeps them exactly.",
}
BEYOND = {
    "adaptive": "What the {word} method is for is not in these figures: which places or texts there are, and how far "
    "apart places lie. They look at columns one by one, where other methods may seem better.",
    "on-the-map": "What the {word} method is for is not in these figures: totals that are kept, and distances.",
}
"""Said beside forecasts of columns and pairs; `word`: recommended or chosen."""
WORDS = {
    "literature": "Published methods under their own names, for comparison with other work or a taste of one’s own.",
    "special": "For tables and purposes that need less, or something else.",
}


def preferred(described: Sequence[dict[str, Any]], *, recommended: str) -> str:
    """The id of the method that a form begins with: the recommended one, if it is on offer."""
    offered = [str(one["id"]) for one in described]
    return recommended if recommended in offered else offered[0]


def families(described: Sequence[dict[str, Any]], *, first: str, chosen: str) -> list[Family]:
    """The methods on offer in groups: the one that the form begins with and others of ours, those of the literature,
    special ones. One that no group names is of the literature."""
    own = (first, *OURS)
    recommended = tuple(
        sorted(
            (one for one in described if one["id"] in own), key=lambda one: own.index(one["id"])
        )
    )
    literature = tuple(one for one in described if one["id"] not in (*own, *SPECIAL))
    special = tuple(one for one in described if one["id"] not in own and one["id"] in SPECIAL)
    return [
        Family(
            key="recommended",
            title="Recommended",
            words=WHY.get(first, ""),
            methods=recommended,
            folded=False,
        ),
        *(
            Family(
                key=key,
                title=title,
                words=WORDS[key],
                methods=methods,
                folded=chosen not in {m["id"] for m in methods},
            )
            for key, title, methods in (
                ("literature", "From the literature", literature),
                ("special", "For special purposes", special),
            )
            if methods
        ),
    ]
