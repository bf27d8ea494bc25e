"""The columns of a domain from which trees are made: places, and strings over an alphabet."""

from __future__ import annotations

from typing import TypeGuard

from synth_engine.domain import Domain, Undeclared, Weak
from synth_engine.models.trees import factory, strings
from synth_engine.values.strings import Strings


def over_alphabet(attribute: Undeclared) -> TypeGuard[Weak]:
    """Whether it is a column of unknown texts over an alphabet."""
    return isinstance(attribute, Weak) and isinstance(attribute.values, Strings)


def texts_of(domain: Domain) -> Weak | None:
    """The column of unknown texts over an alphabet of a table where nothing else is unknown."""
    (only,) = domain.undeclared if len(domain.undeclared) == 1 else (None,)
    return only if only is not None and over_alphabet(only) else None


def text_column(domain: Domain) -> Weak | None:
    """The same of a table that has it alone."""
    return texts_of(domain) if len(domain.names) == 1 else None


def placed(domain: Domain) -> tuple[str, ...]:
    """The columns that say where a record lies, in the order of the domain."""
    columns = {column for place in domain.places for column in place.columns}
    columns |= {points.column for points in domain.points}
    return tuple(name for name in domain.names if name in columns)


def resolve_domain(domain: Domain) -> Domain:
    """The domain of a release: its column of unknown texts is one of texts without meaning."""
    attribute = texts_of(domain)
    return (
        domain if attribute is None else factory.in_release(domain, strings.column(attribute))
    )
