"""In which groups the methods are offered, and which one a form begins with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine import mechanisms
from synth_engine.plans.plan import MechanismFacts


@dataclass(frozen=True, kw_only=True)
class Family:
    """A group of cards. `folded`: shown as one line until it is opened, or one of them is chosen."""

    key: str
    title: str
    words: str
    methods: tuple[MechanismFacts, ...]
    folded: bool


WHY = {
    "auto": _("The first one suits most tables."),
    "adaptive": _(
        "Most of this table is places or texts: the first one divides them as finely as their records allow."
    ),
    "on-the-map": _("Public totals are declared: the first one keeps them exactly."),
}
BEYOND = {
    "adaptive": "What the {word} method is for is not in these figures: which places or texts there are, "
    "and how far apart places lie. They look at columns one by one, where other methods may seem better.",
    "on-the-map": "What the {word} method is for is not in these figures: totals that are kept, and "
    "distances.",
}
"""Said beside forecasts of columns and pairs; `word`: recommended or chosen."""
WORDS = {
    "literature": _(
        "Published methods under their own names, for comparison with other work or a taste of one’s own."
    ),
    "special": _("For tables and purposes that need less, or something else."),
}


def preferred(described: Sequence[MechanismFacts], *, recommended: str) -> str:
    """The id of the method that a form begins with: the recommended one, if it is on offer."""
    offered = [str(one["id"]) for one in described]
    return recommended if recommended in offered else offered[0]


def families(described: Sequence[MechanismFacts], *, first: str, chosen: str) -> list[Family]:
    """The methods on offer in groups: the one that the form begins with and others of ours, those of the
    literature, special ones."""
    groups: dict[str, list[MechanismFacts]] = defaultdict(list)
    for method in described:
        family = mechanisms.traits(method["id"]).family
        groups["recommended" if method["id"] == first else family].append(method)
    recommended = sorted(
        groups["recommended"], key=lambda method: (method["id"] != first, method["id"])
    )
    return [
        Family(
            key="recommended",
            title=gettext("Recommended"),
            words=str(WHY.get(first, "")),
            methods=tuple(recommended),
            folded=False,
        ),
        *(
            Family(
                key=key,
                title=title,
                words=str(WORDS[key]),
                methods=tuple(groups[key]),
                folded=chosen not in {method["id"] for method in groups[key]},
            )
            for key, title in (
                ("literature", gettext("From the literature")),
                ("special", gettext("For special purposes")),
            )
            if groups[key]
        ),
    ]
