"""What kinds whose values lie on a lattice share: the kind of the same values reads, writes and compares
them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.lattice import Lattice


@dataclass(frozen=True, kw_only=True)
class OnLattice(Attribute):
    """Numbers, days or moments on a lattice, whose bins are learned or to be learned."""

    @property
    def lattice(self) -> Lattice:
        """Where its values lie."""
        raise NotImplementedError

    @cached_property
    def reader(self) -> Attribute:
        return self.lattice.reader(self)

    @property
    def value_step(self) -> float:
        return 0.0 if self.lattice.of == "number" else float(self.lattice.step)

    @property
    def holds_numbers(self) -> bool:
        return self.lattice.of in ("integer", "number")

    @property
    def day_format(self) -> str | None:
        return self.lattice.day_format
