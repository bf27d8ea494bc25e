"""What a comparison computes besides its figures because somebody asked: models that are trained, and attacks
that are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Extras:
    """models: whether any are trained; target, protected: columns to predict and whose groups are compared,
    empty for none; risks: whether attacks are tried; shadows: with shadow models, which take longer."""

    models: bool = False
    target: str = ""
    protected: str = ""
    risks: bool = False
    shadows: bool = False

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Extras:
        """As stored with a job."""
        return cls(**stored)

    def to_json(self) -> dict[str, Any]:
        """The form that is stored."""
        return asdict(self)
