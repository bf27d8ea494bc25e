"""Which constraints the samples of a release keep: all that are declared, but for those that no record can
keep with what its run learned.

A constraint may be about a column that a run learns. Before that, all is checked that public facts decide:
names, kinds, values and ranges, orders that go round, and whether the whole of what may be learned leaves a
record possible. Afterwards nothing is refused, because the run is paid for: a constraint for which what was
learned has no room is left out of this release, and the reason is stated. Both are functions of the
description and of what was learned, so of answers that were paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth_engine.domain import conditions, satisfiable
from synth_engine.domain.constraints import Constraint
from synth_engine.domain.relations import Component, components, connected, relation
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import OTHER, Attribute
from synth_engine.kinds.range import Range
from synth_engine.kinds.scale import Scale
from synth_engine.kinds.scale_bins import ScaleBins
from synth_engine.kinds.undeclared import Undeclared
from synth_engine.kinds.weak import Weak


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A constraint that a release does not keep, and why."""

    constraint: Constraint
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.constraint.sentence} ({self.reason})"


@dataclass(frozen=True, kw_only=True, eq=False)
class FineComponent:
    """A component over bins that end wherever its constraints distinguish values, so that codes decide them.
    `attributes`: its columns with these bins."""

    component: Component
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, kw_only=True, eq=False)
class Enforcement:
    """The constraints of a domain that its samples keep, and what they tie. fine: of each component, the same
    over finer bins; None where its codes decide all."""

    enforced: tuple[Constraint, ...]
    left_out: tuple[LeftOut, ...]
    components: tuple[Component, ...]
    fine: tuple[FineComponent | None, ...]


def judge(constraints: Sequence[Constraint], attributes: Sequence[Attribute]) -> Enforcement:
    """Decide which constraints are enforced. Before anything is learned, only those that are about known
    columns are. Errors: DomainError for constraints that contradict what is declared."""
    known = {attribute.name: attribute for attribute in attributes}
    undeclared = {a.name for a in attributes if isinstance(a, Undeclared)}
    if undeclared:
        _check_expected(constraints, known)
        now = [each for each in constraints if not undeclared & set(each.columns)]
        # As after learning, so that nothing that was paid for is refused then: a part of the constraints may
        # take more steps to judge than all of them.
        satisfiable.check(now, attributes)
        return _enforcement(now, (), attributes)
    satisfiable.check_columns(constraints, known)
    learned = {name for name in known if conditions.is_learned(known[name])}
    declared = [each for each in constraints if not learned & set(each.columns)]
    parts = satisfiable.check(declared, attributes)
    if len(declared) == len(constraints):
        return Enforcement(
            enforced=tuple(constraints),
            left_out=(),
            components=parts,
            fine=(None,) * len(parts),
        )
    waiting = [each for each in constraints if learned & set(each.columns)]
    left_out = _left_out(declared, waiting, known)
    reasons = {id(each.constraint) for each in left_out}
    enforced = [each for each in constraints if id(each) not in reasons]
    return _enforcement(enforced, left_out, attributes)


def _enforcement(
    enforced: Sequence[Constraint], left_out: Sequence[LeftOut], attributes: Sequence[Attribute]
) -> Enforcement:
    cut = _cut(enforced, {attribute.name: attribute for attribute in attributes})
    parts = components(enforced, attributes)
    # The same constraints connect the same columns, so that both lists have the same order.
    fine_parts = components(enforced, tuple(cut.values()))
    fine = [
        FineComponent(component=part, attributes={name: cut[name] for name in part.columns})
        if any(cut[a.name] is not a for a in attributes if a.name in part.columns)
        else None
        for part in fine_parts
    ]
    return Enforcement(
        enforced=tuple(enforced),
        left_out=tuple(left_out),
        components=parts,
        fine=tuple(fine),
    )


def _check_expected(constraints: Sequence[Constraint], known: Mapping[str, Attribute]) -> None:
    """Refuse what nothing that can be learned would keep. Errors: DomainError."""
    expected = {name: _expected(known[name], constraints) for name in known}
    satisfiable.check_columns(constraints, expected)
    satisfiable.check(constraints, tuple(_cut(constraints, expected).values()))


def _left_out(
    declared: Sequence[Constraint],
    waiting: Sequence[Constraint],
    known: Mapping[str, Attribute],
) -> list[LeftOut]:
    """Of constraints about learned columns, those that cannot be kept, with the reason: each is tried in turn
    with those before it."""
    left_out = []
    retained = list(declared)
    possible = [each for each in waiting if _unusable(each, known) is None]
    all_at_once = _problem([*declared, *possible], known) is None
    for constraint in waiting:
        reason = _unusable(constraint, known)
        if reason is None and not all_at_once:
            together = next(
                group for group in connected([*retained, constraint]) if constraint in group
            )
            reason = _problem(together, known)
        if reason is None:
            retained.append(constraint)
        else:
            left_out.append(LeftOut(constraint=constraint, reason=reason))
    return left_out


def _unusable(constraint: Constraint, known: Mapping[str, Attribute]) -> str | None:
    """Why nothing in a release could keep a constraint by itself, from the columns that it names; None where
    something could."""
    lost = [name for name in constraint.columns if not known[name].is_found]
    if lost:
        return f"nothing was found of {', '.join(lost)}"
    try:
        cut = _cut([constraint], known)
        constraint.check(cut)
        void = relation(constraint, cut).is_void
    except DomainError as error:
        return error.rule
    return "none of the values that it names was found" if void else None


def _problem(constraints: Sequence[Constraint], known: Mapping[str, Attribute]) -> str | None:
    try:
        satisfiable.check(constraints, tuple(_cut(constraints, known).values()))
    except DomainError as error:
        return error.rule
    return None


def _cut(
    constraints: Sequence[Constraint], known: Mapping[str, Attribute]
) -> dict[str, Attribute]:
    """The columns with bins that end where constraints name values. Errors: DomainError where these are too
    many."""
    positions: dict[str, set[int]] = {}
    for constraint in constraints:
        for name, values in constraint.named.items():
            attribute = known[name]
            if isinstance(attribute, ScaleBins):
                cuts = conditions.cuts_named(attribute, values)
                positions[name] = positions.get(name, set()) | cuts
    return {
        name: attribute.with_cuts(positions[name])
        if isinstance(attribute, ScaleBins) and name in positions
        else attribute
        for name, attribute in known.items()
    }


def _expected(attribute: Attribute, constraints: Sequence[Constraint]) -> Attribute:
    """A column with all that a run may learn of it, as far as constraints can tell: one bin of all values, or
    the texts that they name. Errors: DomainError for a text that is not in its set."""
    if isinstance(attribute, Scale):
        ends = (0, attribute.lattice.count)
        return attribute.resolved(cuts=ends, pieces=ends, weights=(1,))
    if isinstance(attribute, Range):
        return attribute.grid
    if not isinstance(attribute, Weak):
        return attribute
    named = [each.named.get(attribute.name, ()) for each in constraints]
    texts = [
        value
        for values in named
        for value in values
        if isinstance(value, str) and not (value == OTHER and attribute.has_other)
    ]
    ranks = attribute.values.ranks(texts)
    if None in ranks:
        raise attribute.error(
            "a constraint names a text that is not in the set of the column",
            repair="write it as the set has it, or take it out of the constraint",
        )
    # One text at least, and one that no constraint names, as of a set that is large.
    others = range(min(attribute.values.size, len(texts) + 1))
    return attribute.from_ranks(
        sorted({*(rank for rank in ranks if rank is not None), *others})
    )
