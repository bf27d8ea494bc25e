"""Descriptions of tables, as the tests make them up."""

from __future__ import annotations

from typing import Any

from synth_engine.domain import Domain, Integer


def domain_of(*sizes: int, **facts: Any) -> Domain:
    """Columns c0, c1 … of whole numbers, each with so many codes. facts: further ones of the domain."""
    attributes = tuple(
        Integer(name=f"c{index}", low=0, high=size - 1, width=1)
        for index, size in enumerate(sizes)
    )
    return Domain(attributes=attributes, **facts)
