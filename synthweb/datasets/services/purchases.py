"""What runs have learned of the columns of a dataset, in its descriptions.

The draft is what the steward typed. A version of the description is the draft with what runs of this dataset
have learned, wherever a column is still described as it was when they were asked for (ADR 184). So no browser
says what was bought, and whoever describes such a column otherwise declares it after looking. A dataset has
one account for good: what another account paid for is bought again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from django.db import transaction

from synth_engine.domain import Attribute, Domain, Purchase, parse_attribute
from synth_engine.domain.purchases import as_bought, as_declared_after_looking, rests
from synth_engine.errors import DomainError
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import selectors
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.models import Dataset, DomainBasis, DomainVersion, LearnedDescription


@dataclass(frozen=True, kw_only=True)
class Paid:
    """What a run was asked about, and what it learned of each column that it found."""

    purchase: Purchase
    asked: Domain
    learned: Mapping[str, Attribute]

    @classmethod
    def of(cls, row: LearnedDescription) -> Paid:
        claim = row.receipt["guarantee"]
        purchase = Purchase(
            receipt=row.receipt["digest"],
            epsilon=Fraction(claim["epsilon"]),
            delta=Fraction(claim["delta"]),
            columns=tuple(row.learned),
        )
        learned = {name: parse_attribute(each) for name, each in row.learned.items()}
        return cls(purchase=purchase, asked=domain_of(row.version), learned=learned)

    def bought(self, name: str) -> Attribute:
        """A column as a description has it that was made of this."""
        resolved = self.asked.resolve_some({name: self.learned[name]})
        return as_bought(resolved.attribute(name))

    def learned_of(self, typed: Attribute) -> Attribute:
        """What was learned of a column that is described like the one that was asked about. Facts that were
        not learned come from where its steward has them from."""
        learned = self.learned[typed.name]
        facts = {
            fact: origin if origin == "learned" else typed.facts.get(fact, origin)
            for fact, origin in learned.facts.items()
        }
        return replace(learned, provenance=facts)


def of_dataset(dataset: Dataset) -> list[Paid]:
    """What was learned of its columns, the newest first."""
    return [Paid.of(row) for row in selectors.learned_of(dataset)]


def with_purchases(dataset: Dataset, domain: Domain) -> Domain:
    """The description with what runs of the dataset have learned. Of several the newest counts. Errors:
    DomainError for facts that a run learned without that run."""
    for attribute in domain.attributes:
        if "learned" in attribute.facts.values():
            raise attribute.error(
                "facts that a run learned, without the run that paid for them",
                repair="have the column learned, or say where its facts are written",
            )
    columns = {attribute.name: attribute for attribute in domain.attributes}
    learned_by: dict[str, Paid] = {}
    for paid in of_dataset(dataset):
        for name in paid.learned:
            if name in columns:
                learned_by.setdefault(name, paid)
    if not learned_by:
        return domain
    learned_columns = {
        name: paid.learned_of(columns[name])
        for name, paid in learned_by.items()
        if _same(columns[name], paid.asked.attribute(name))
    }
    resolved = domain.resolve_some(learned_columns)
    attributes = tuple(
        as_bought(each)
        if each.name in learned_columns
        else as_declared_after_looking(each)
        if each.name in learned_by
        else each
        for each in resolved.attributes
    )
    bought = tuple(
        replace(
            paid.purchase,
            columns=tuple(name for name in columns if learned_by.get(name) is paid),
        )
        for paid in {id(each): each for each in learned_by.values()}.values()
    )
    return replace(resolved, attributes=attributes, bought=bought)


def without_purchases(dataset: Dataset, domain: Domain) -> Domain:
    """The description as its steward would have typed it: a column that was bought as it was described when
    it was. Errors: DomainError for facts that no run of this dataset has paid for."""
    known = of_dataset(dataset)
    attributes = tuple(
        _as_typed(each, known) if rests(each) else each for each in domain.attributes
    )
    return replace(domain, attributes=attributes, bought=())


def _as_typed(attribute: Attribute, known: list[Paid]) -> Attribute:
    of_column = [paid for paid in known if attribute.name in paid.learned]
    for paid in of_column:
        if _same(attribute, paid.bought(attribute.name)):
            return paid.asked.attribute(attribute.name)
    if not of_column or "bought" in attribute.facts.values():
        raise attribute.error(
            "facts that no run of this dataset has paid for",
            repair="describe the column as one that is to be learned, and have it learned",
        )
    facts = {
        fact: "declared" if origin == "declared-after-looking" else origin
        for fact, origin in attribute.facts.items()
    }
    return replace(attribute, provenance=facts)


def _same(attribute: Attribute, other: Attribute) -> bool:
    """Whether two columns are described alike, wherever their facts come from."""
    one, another = attribute.to_json(), other.to_json()
    return {**one, "provenance": ""} == {**another, "provenance": ""}


@transaction.atomic
def keep_learned(
    *,
    actor: User,
    version: DomainVersion,
    run_code: str,
    learned: Mapping[str, dict[str, object]],
    receipt: Mapping[str, object],
) -> LearnedDescription:
    """Keep what a run has learned, and make it part of the description in force; called once a run, under
    its fence. actor: who asked for the run. A description that takes nothing of it stays: its next
    confirmation takes what is described alike by then."""
    dataset = version.dataset
    locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
    stored = LearnedDescription.objects.create(
        dataset=dataset, version=version, run_code=run_code, learned=learned, receipt=receipt
    )
    made = _next_version(locked, actor=actor)
    audit.record(
        actor="worker",
        action="description.learned",
        target=("dataset", dataset.code),
        organisation=dataset.organisation,
        detail={
            "run": run_code,
            "columns": len(learned),
            "version": "" if made is None else made.number,
            "receipt": str(receipt["digest"]),
        },
    )
    return stored


def _next_version(dataset: Dataset, *, actor: User) -> DomainVersion | None:
    """The description in force with what was learned, as a version; None where that changes nothing."""
    in_force = newest(dataset)
    if in_force is None:
        return None
    try:
        typed = without_purchases(dataset, domain_of(in_force))
        domain = with_purchases(dataset, typed)
    except DomainError:
        return None
    if domain.digest == in_force.digest:
        return None
    version = DomainVersion.objects.create(
        dataset=dataset,
        number=in_force.number + 1,
        document=domain.to_json(),
        digest=domain.digest,
        confirmed_by=actor,
    )
    # What the steward said stays what it was; nothing of it is about what was learned.
    if (basis := selectors.basis_of(in_force)) is not None:
        fields = (field for field in DomainBasis._meta.fields if not field.primary_key)
        same = {field.name: getattr(basis, field.name) for field in fields}
        DomainBasis.objects.create(**same | {"version": version})
    return version
