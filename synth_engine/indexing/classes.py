"""Columns of a domain as public classifications: the partitions of their values, the widest parts first, then
the values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain, Integer, Number
from synth_engine.domain.partitions import Partition
from synth_engine.hierarchy import ClassTree, TaxonomyHierarchy
from synth_engine.hierarchy.base import MAX_SYMBOLS
from synth_engine.hierarchy.boxes import MAX_CLASS_CODES
from synth_engine.kinds.attribute import Attribute


def taxonomy(domain: Domain, name: str) -> TaxonomyHierarchy:
    """Return the classes of one column as a tree. "Other" and missing are classes of their own at the widest
    level: every record is then in the tree, and the counts of the classes add up to all records. Errors:
    DomainError where partitions do not nest, or a class has too many parts."""
    attribute = domain.attribute(name)
    nested = levels(domain, attribute)
    paths = [
        (*above, label)
        for *above, label in zip(
            *(each.of for each in nested), attribute.value_labels, strict=True
        )
    ]
    taken = {path[0] for path in paths}
    for label in attribute.labels[attribute.value_count :]:
        while label in taken:  # by a class or a value of that name
            label = f"({label})"
        taken.add(label)
        paths.append((label,) * (len(nested) + 1))
    return TaxonomyHierarchy(columns=(name,), paths=tuple(paths))


def class_trees(domain: Domain) -> tuple[ClassTree, ...]:
    """The classes of each column that has more than one value and no more than `MAX_CLASS_CODES`: its
    partitions, the widest first; else halves of its range, where neighbours are alike. "Other" and missing
    are classes beside the widest ones. Errors: DomainError where partitions do not nest."""
    return tuple(
        ClassTree.of_levels(attribute.name, _levels_of_codes(domain, attribute))
        for attribute in domain.modelled
        if 1 < attribute.size <= MAX_CLASS_CODES
    )


def in_order(attribute: Attribute) -> bool:
    """Whether neighbouring values of a column belong together: those of numbers, days and times, and of lists
    that are declared to have an order."""
    return attribute.ordered or not attribute.lists_values


def _levels_of_codes(domain: Domain, attribute: Attribute) -> list[npt.NDArray[np.int64]]:
    nested = levels(domain, attribute)
    if nested:
        return [np.array(partition.codes(attribute)) for partition in nested]
    if not in_order(attribute):
        return [np.arange(attribute.size)]
    values = attribute.value_count
    # Half-way points of half-way points: a level within the one before, whatever the number of values.
    halves = [np.arange(values) * 2**depth // values for depth in range(values.bit_length())]
    beyond = np.arange(attribute.size - values)
    return [np.append(level, level.max() + 1 + beyond) for level in halves]


def levels(domain: Domain, attribute: Attribute) -> tuple[Partition, ...]:
    """The partitions of a column that divide something, the one with the fewest parts first; one of two that
    are the same. Errors: DomainError where a part of a finer one lies in two parts of a wider one."""
    mine = [partition for partition in domain.partitions if partition.column == attribute.name]
    nested: list[Partition] = []
    for partition in sorted(mine, key=lambda one: len(one.parts)):
        if not 1 < len(partition.parts) < attribute.value_count:
            continue
        if nested and not _inside(partition, nested[-1]):
            raise attribute.error(
                f"the partitions {nested[-1].name!r} and {partition.name!r} do not nest",
                repair="let each part of the finer one lie in one part of the wider one, or leave one of "
                "them out",
            )
        if not nested or len(partition.parts) > len(nested[-1].parts):
            nested.append(partition)
    return tuple(nested)


def _inside(finer: Partition, wider: Partition) -> bool:
    # Parts nest if each finer part occurs together with one wider part only.
    return len(set(zip(finer.of, wider.of, strict=True))) == len(finer.parts)


def suits(domain: Domain, *, placed: Sequence[str]) -> bool:
    """Whether a domain is one of classes, with other columns that can be divided beside them: a column that
    is not among those placed otherwise has partitions, and of all others the values are few."""
    declared = {each.column for each in domain.partitions} - set(placed)
    if domain.undeclared or not declared:
        return False
    return all(divisible(domain, name) for name in domain.names if name not in placed)


def divisible(domain: Domain, name: str) -> bool:
    """Whether a column is a coordinate that every record has, has partitions, or only few values."""
    attribute = domain.attribute(name)
    if any(each.column == name for each in domain.partitions):
        return True
    if isinstance(attribute, Integer | Number):
        return attribute.missing is None and attribute.value_count > 1
    return attribute.size <= MAX_SYMBOLS
