"""The workload of a release: a column to predict, columns that matter more than others, tables
that will be read.

A mechanism that takes a workload has the fields `target`, `weights` and `marginals`, and
`PROPERTIES` among its parameters; `Weighted` is a base for such. All of it is public: it is
chosen before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isfinite, prod
from types import MappingProxyType
from typing import Any, Self

from synth_engine.domain import Attribute, Domain, Text, Undeclared
from synth_engine.errors import SpecError
from synth_engine.measurement import Clique
from synth_engine.plans.parameters import ParameterRule
from synth_engine.plans.plan import Mechanism, Rule
from synth_engine.spec import Spec

TARGET_FACTOR = 4.0
"""Factor by which a pair with the target matters more than another one."""
MIN_WEIGHT, MAX_WEIGHT = 0.001, 1000.0
MIN_MARGINAL_COLUMNS, MAX_MARGINAL_COLUMNS = 2, 3
MAX_MARGINALS = 1_000
_MAX_NAME_LENGTH = 200

PROPERTIES: Mapping[str, ParameterRule] = MappingProxyType(
    {
        "target": {
            "type": "string",
            "maxLength": _MAX_NAME_LENGTH,
            "default": "",
            "x-columns": "one",
            "title": "Column to predict",
            "description": "A column that models will be trained to predict: its relations with the others "
            "count four times. Left out: no column does.",
        },
        "weights": {
            "type": "object",
            "propertyNames": {"maxLength": _MAX_NAME_LENGTH},
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": MAX_WEIGHT},
            "maxProperties": 1_000,
            "default": {},
            "x-columns": "each",
            "title": "Columns that matter more",
            "description": "A column of weight 2 matters twice as much as one of weight 1, which every "
            "other column has; of a column of weight 0 only its own histogram is kept.",
        },
        "marginals": {
            "type": "array",
            "items": {
                "type": "array",
                "items": {"type": "string", "maxLength": _MAX_NAME_LENGTH},
                "minItems": MIN_MARGINAL_COLUMNS,
                "maxItems": MAX_MARGINAL_COLUMNS,
            },
            "maxItems": MAX_MARGINALS,
            "default": [],
            "x-columns": "groups",
            "title": "Tables that matter",
            "description": "Groups of two or three columns whose joint tables will be read. Left out: all "
            "pairs of columns. A column to predict still counts with all others.",
        },
    }
)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """target: the column to predict, "" for none; weights: of columns, 1 where not named; marginals: the
    groups of columns whose tables matter, none for all pairs."""

    target: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    marginals: tuple[Clique, ...] = ()

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any]) -> Self:
        """Reads the workload from the fields of a mechanism, or the parameters of a spec; other
        fields are ignored."""
        return cls(
            target=given.get("target") or "",
            weights={
                name: float(weight) for name, weight in (given.get("weights") or {}).items()
            },
            marginals=tuple(tuple(clique) for clique in given.get("marginals") or ()),
        )

    def validate(self, domain: Domain) -> Self:
        """Checks the workload against the domain, and returns it. To be called before anything
        is paid for: once an undeclared column has been learned it is too late to refuse.
        Errors: SpecError naming parameter, column and repair."""
        if self.target:
            self._check_target(domain)
        for number, (name, weight) in enumerate(self.weights.items(), start=1):
            _modelled(name, domain, where=f"weights, entry {number},")
            if not isfinite(weight) or not (weight == 0 or MIN_WEIGHT <= weight <= MAX_WEIGHT):
                raise SpecError(
                    f"weights: a weight is neither 0 nor between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}",
                    repair="1 is what a column has without one",
                    column=name,
                )
        self._check_marginals(domain)
        if len(domain.modelled) > 1 and not any(self.clique_weights(domain).values()):
            raise SpecError(
                "weights leave no pair of columns that matters",
                repair="give two columns or more a weight above 0",
            )
        return self

    def _check_target(self, domain: Domain) -> None:
        attribute = _modelled(self.target, domain, where="target")
        if isinstance(attribute, Text):
            raise SpecError(
                "target is a column of made-up texts, of which nothing can be predicted",
                repair="choose a column with values or bins",
                column=self.target,
            )
        if (
            attribute.size < 2
            and not isinstance(attribute, Undeclared)
            and "learned" not in attribute.facts.values()
        ):
            raise SpecError(
                "target has one value, so there is nothing to predict",
                repair="choose another column, or declare more values or bins",
                column=self.target,
            )
        if self.weights.get(self.target) == 0:
            raise SpecError(
                "weights gives the target 0",
                repair="leave its weight out, or choose no target",
                column=self.target,
            )

    def _check_marginals(self, domain: Domain) -> None:
        if len(self.marginals) > MAX_MARGINALS:
            raise SpecError(
                f"marginals has more than {MAX_MARGINALS} entries",
                repair="list those that will be read",
            )
        seen: dict[frozenset[str], int] = {}
        for number, marginal in enumerate(self.marginals, start=1):
            where = f"marginals, entry {number},"
            if not marginal:
                raise SpecError(f"{where} is empty", repair="name its columns, or leave it out")
            for name in marginal:
                _modelled(name, domain, where=where)
            if len(set(marginal)) != len(marginal):
                raise SpecError(f"{where} names a column twice", repair="name each column once")
            if not MIN_MARGINAL_COLUMNS <= len(marginal) <= MAX_MARGINAL_COLUMNS:
                raise SpecError(
                    f"{where} has {len(marginal)} columns",
                    repair=f"name {MIN_MARGINAL_COLUMNS} or {MAX_MARGINAL_COLUMNS}; every single column is "
                    "kept anyway",
                )
            # A marginal does not depend on the order of its columns; listed twice, it would
            # count double.
            first = seen.setdefault(frozenset(marginal), number)
            if first != number:
                raise SpecError(
                    f"{where} is entry {first} once more",
                    repair="list each group of columns once",
                )

    def clique_weights(self, domain: Domain) -> dict[Clique, float]:
        """The tables that matter, each with its columns in the domain's order, and how much: the product of
        the weights of its columns, four times it with the target. Those listed and the pairs with the target,
        or all pairs."""
        position = {name: index for index, name in enumerate(domain.names)}
        return {
            clique: self._weight(clique) for clique in self._cliques(domain.names, position)
        }

    def pair_weights(self, domain: Domain) -> dict[Clique, float]:
        """The same for pairs alone: one within a listed group has the weight of its own columns."""
        pairs = [
            pair for clique in self.clique_weights(domain) for pair in combinations(clique, 2)
        ]
        return {pair: self._weight(pair) for pair in pairs}

    def _cliques(self, names: Sequence[str], position: Mapping[str, int]) -> Iterator[Clique]:
        if not self.marginals:
            yield from combinations(names, 2)
            return
        yield from (
            tuple(sorted(marginal, key=position.__getitem__)) for marginal in self.marginals
        )
        if self.target:
            # Listed marginals do not replace the pairs with the target: a prediction needs them
            # all.
            with_target = ((name, self.target) for name in names if name != self.target)
            yield from (tuple(sorted(pair, key=position.__getitem__)) for pair in with_target)

    def _weight(self, clique: Iterable[str]) -> float:
        names = tuple(clique)
        factor = TARGET_FACTOR if self.target and self.target in names else 1.0
        return factor * prod(self.weights.get(name, 1.0) for name in names)


def _modelled(name: str, domain: Domain, *, where: str) -> Attribute:
    """Returns the attribute of a name. Errors: SpecError; it does not repeat a name that no column
    has, because it may be anything."""
    # Names of the request are checked against the public description alone, before any charge.
    attribute = next(
        (attribute for attribute in domain.attributes if attribute.name == name), None
    )
    if attribute is None:
        raise SpecError(
            f"{where} names no column of the description", repair="spell it as it is described"
        )
    if not attribute.size:
        raise SpecError(
            f"{where} names an identifier, which is generated and never measured",
            repair="choose another column",
            column=name,
        )
    return attribute


def targets(domain: Domain) -> tuple[str, ...]:
    """The columns that can be predicted."""
    return tuple(
        attribute.name
        for attribute in domain.modelled
        if not isinstance(attribute, Text)
        and (attribute.size > 1 or isinstance(attribute, Undeclared))
    )


@dataclass(frozen=True, kw_only=True)
class Weighted(Mechanism):
    """A mechanism that takes a workload, which is checked before anything is paid for. Its `parameters` hold
    `PROPERTIES`."""

    target: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    marginals: tuple[Clique, ...] = ()

    @property
    def workload(self) -> Workload:
        return Workload(target=self.target, weights=self.weights, marginals=self.marginals)

    def validate(self, domain: Domain, spec: Spec, *, rule: Rule) -> tuple[Self, Spec]:
        self.workload.validate(domain)
        return super().validate(domain, spec, rule=rule)
