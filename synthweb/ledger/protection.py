"""Whom an account protects: privacy unit, neighbouring relation, invariants. Fixed when the account is
opened."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.domain import Domain
from synth_engine.privacy.unit import IDENTIFIER_RULES, PrivacyUnit, Relation, Spelling
from synthweb.datasets.models import DomainVersion
from synthweb.ledger.models import BudgetAccount
from synthweb.lib.number_format import RELATIONS


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Two guarantees add up in one account only if they are about the same neighbours."""

    relation: Relation
    unit: PrivacyUnit
    invariants: tuple[str, ...] = ()
    identifier_rules: int = IDENTIFIER_RULES

    @classmethod
    def of_account(cls, account: BudgetAccount) -> Protection:
        return cls(
            relation=Relation(account.relation),
            unit=PrivacyUnit(
                max_records=account.max_records,
                column=account.unit_column or None,
                spelling=Spelling(account.unit_spelling),
            ),
            invariants=tuple(account.invariants),
            identifier_rules=account.identifier_rules,
        )

    @classmethod
    def of_domain(cls, domain: Domain) -> Protection:
        """From the description of a plan."""
        return cls(
            relation=domain.relation, unit=domain.unit, invariants=tuple(domain.invariants)
        )

    @classmethod
    def of_version(cls, version: DomainVersion) -> Protection:
        """From a confirmed description, the rest of which stays in the database: it may be long."""
        versions = DomainVersion.objects.values_list(
            "document__relation", "document__unit", "document__invariants"
        )
        relation, unit, invariants = versions.get(pk=version.pk)
        return cls(
            relation=Relation(relation),
            unit=PrivacyUnit.from_json(unit),
            invariants=tuple(invariants or ()),
        )

    @property
    def columns(self) -> dict[str, object]:
        """As columns of a BudgetAccount."""
        return {
            "relation": self.relation.value,
            "max_records": self.unit.max_records,
            "unit_column": self.unit.column or "",
            "unit_spelling": self.unit.spelling.value,
            "invariants": list(self.invariants),
            "identifier_rules": self.identifier_rules,
        }

    def sentence(self) -> str:
        """`one person, at most 5 rows (column person), added or removed`."""
        column = f" (column {self.unit.column}{self._spelled()})" if self.unit.column else ""
        invariants = f", with {', '.join(self.invariants)} public" if self.invariants else ""
        return f"{self.unit.sentence()}{column}, {RELATIONS[self.relation.value]}{invariants}"

    def _spelled(self) -> str:
        spelling = (
            "" if self.unit.spelling is Spelling.EXACT else f", spelling {self.unit.spelling}"
        )
        # Named only where it tells two accounts apart.
        rules = (
            ""
            if self.identifier_rules == IDENTIFIER_RULES
            else f", by rules {self.identifier_rules}"
        )
        return spelling + rules


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """The run that a hold is for. plan_digest: SHA-256 of its plan, the evidence of the entry; protection:
    that of the plan's domain; purpose: for people."""

    code: str
    dataset_code: str
    plan_digest: str
    protection: Protection
    purpose: str = ""
