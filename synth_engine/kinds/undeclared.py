"""Attributes whose categories or bins are not known beforehand: a run buys them first, out of its own budget.

What is declared is wide and public: a set of texts that may be too large to list, or a range far wider than
the values. Until it has been learned, a column of texts has no values but "other" and missing, and one on a
scale has the cells of a public grid.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from synth_engine.kinds.attribute import Attribute


@dataclass(frozen=True, kw_only=True)
class Undeclared(Attribute):
    """What a run has to learn before it can count."""

    @abstractmethod
    def admits(self, resolved: Attribute) -> bool:
        """Whether an attribute is one that this one can become."""
