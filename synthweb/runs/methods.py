"""In which groups the methods are offered, and which one a form begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PREFERRED = ("auto",)
"""What a form begins with: the first of these that is on offer, else the first on offer at all."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A group of cards. `folded`: shown as one line until it is opened, or one of them is chosen."""

    key: str
    title: str
    words: str
    methods: tuple[dict[str, Any], ...]
    folded: bool


SPECIAL = ("independent", "weak-domain", "random")
WORDS = {
    "literature": "Published methods under their own names, for comparison with other work or a taste of one’s own.",
    "special": "For tables and purposes that need less, or something else.",
}


def preferred(described: Sequence[dict[str, Any]]) -> str:
    """The id of the method that a form begins with."""
    offered = [one["id"] for one in described]
    return str(next((name for name in PREFERRED if name in offered), offered[0]))


def families(described: Sequence[dict[str, Any]], *, chosen: str) -> list[Family]:
    """The methods on offer in groups: the recommended one, those of the literature, special ones. One that no group
    names is of the literature."""
    first = preferred(described)
    literature = tuple(one for one in described if one["id"] != first and one["id"] not in SPECIAL)
    special = tuple(one for one in described if one["id"] != first and one["id"] in SPECIAL)
    recommended = tuple(one for one in described if one["id"] == first)
    return [
        Family(key="recommended", title="Recommended", words="", methods=recommended, folded=False),
        *(
            Family(
                key=key, title=title, words=WORDS[key], methods=methods, folded=chosen not in {m["id"] for m in methods}
            )
            for key, title, methods in (
                ("literature", "From the literature", literature),
                ("special", "For special purposes", special),
            )
            if methods
        ),
    ]
