"""Whom an account protects: privacy unit, neighbouring relation, invariants. Fixed when the account is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.ledger.models import BudgetAccount
from synthweb.lib.letters import RELATIONS


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Two guarantees add up in one account only if they are about the same neighbours."""

    relation: Relation
    unit: PrivacyUnit
    invariants: tuple[str, ...] = ()

    @classmethod
    def of_account(cls, account: BudgetAccount) -> Protection:
        return cls(
            relation=Relation(account.relation),
            unit=PrivacyUnit(max_records=account.max_records, column=account.unit_column or None),
            invariants=tuple(account.invariants),
        )

    @classmethod
    def of_domain(cls, document: Mapping[str, Any]) -> Protection:
        """From a confirmed Domain document."""
        return cls(
            relation=Relation(document["relation"]),
            unit=PrivacyUnit.from_json(document["unit"]),
            invariants=tuple(document.get("invariants", ())),
        )

    @property
    def columns(self) -> dict[str, Any]:
        """As columns of a BudgetAccount."""
        return {
            "relation": self.relation.value,
            "max_records": self.unit.max_records,
            "unit_column": self.unit.column or "",
            "invariants": list(self.invariants),
        }

    def sentence(self) -> str:
        """`one person, at most 5 rows (column person), added or removed`."""
        column = f" (column {self.unit.column})" if self.unit.column else ""
        invariants = f", with {', '.join(self.invariants)} public" if self.invariants else ""
        return f"{self.unit.sentence()}{column}, {RELATIONS[self.relation.value]}{invariants}"
