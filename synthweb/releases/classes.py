"""Classes of a column in the tree of a release: one level at a time, the one with most records first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from synth_engine.domain import Domain
from synth_engine.evaluation import tree_classes
from synth_engine.evaluation.tree_cells import TreeCells
from synth_engine.evaluation.tree_classes import Class, Part
from synth_engine.evaluation.tree_figures import number
from synth_engine.hierarchy import TaxonomyHierarchy
from synth_engine.indexing import classes as declared

DEEPEST = 50  # of what an address may ask for


@dataclass(frozen=True, kw_only=True)
class ClassLine:
    """A class below the chosen one. `address`: of its own parts, empty where it has none;
    `distinguished_share`: which share of its records the tree tells apart from its neighbours."""

    name: str
    address: str
    records: str
    share: float
    distinguished_share: float

    @property
    def width(self) -> int:
        """Of a bar, in hundredths."""
        return max(1, round(100 * self.share)) if self.share else 0


@dataclass(frozen=True, kw_only=True)
class ClassExplorer:
    """One level of one column. `columns`: with the address of each; `level`: what its lines are, `levels`:
    the names of all; `above`: wider classes with their addresses; `share`: of the chosen class, of all
    records; of a line, of the class."""

    column: str
    columns: tuple[tuple[str, str], ...]
    levels: tuple[str, ...]
    level: str
    above: tuple[tuple[str, str], ...]
    name: str
    records: str
    share: float
    distinguished_share: float
    lines: tuple[ClassLine, ...]
    file: str
    error: str


def explore(
    tree: TreeCells, query: QueryDict, *, domain: Domain, rows: int
) -> ClassExplorer | None:
    """The class that was asked for; of one that is not declared, the widest, with the reason. None for a tree
    without classes."""
    columns = tree_classes.of_classes(tree)
    if not columns:
        return None
    column = _column(query, columns)
    asked = tuple(query.getlist("class"))[:DEEPEST]
    here, error = tree_classes.explore_class(columns[column], asked), ""
    if here is None:
        here, error = (
            tree_classes.explore_class(columns[column], ()),
            "The description has no such class.",
        )
    if here is None:
        raise TypeError("the column has no classes")
    levels = named(domain, column)
    return ClassExplorer(
        column=column,
        columns=tuple((name, _address(name, ())) for name in columns),
        levels=levels,
        level=levels[min(len(here.path), len(levels) - 1)],
        above=tuple(
            (here.path[end - 1] if end else "all", _address(column, here.path[:end]))
            for end in range(len(here.path))
        ),
        name=here.whole.name,
        records=number(rows * here.whole.share),
        share=here.whole.share,
        distinguished_share=_of(here.whole),
        lines=tuple(
            _line(part, here, column, rows=rows)
            for part in sorted(here.parts, key=lambda one: -one.share)
        ),
        file=_address(column, ()),
        error=error,
    )


def _column(query: QueryDict, columns: dict[str, TreeCells]) -> str:
    asked = query.get("column")
    return str(asked) if asked in columns else next(iter(columns))


def _address(column: str, path: Sequence[str]) -> str:
    asked = QueryDict(mutable=True)
    asked["column"] = column
    asked.setlist("class", list(path))
    return asked.urlencode()


def _line(part: Part, here: Class, column: str, *, rows: int) -> ClassLine:
    return ClassLine(
        name=part.name,
        address=_address(column, (*here.path, part.name)) if part.values > 1 else "",
        records=number(rows * part.share),
        share=part.share / here.whole.share if here.whole.share else 0.0,
        distinguished_share=_of(part),
    )


def _of(part: Part) -> float:
    return min(1.0, part.resolved / part.share) if part.share else 1.0


def lines(
    tree: TreeCells, query: QueryDict, *, domain: Domain, rows: int
) -> Iterator[Sequence[object]] | None:
    """Every class of one column as a head and rows; None for a tree without classes."""
    columns = tree_classes.of_classes(tree)
    return (
        _lines(columns, _column(query, columns), domain=domain, rows=rows) if columns else None
    )


def _lines(
    columns: dict[str, TreeCells], column: str, *, domain: Domain, rows: int
) -> Iterator[Sequence[object]]:
    head = named(domain, column)
    yield (*head, "values", "records", "told apart")
    for path, part in tree_classes.all_classes(columns[column]):
        yield (
            *_padded(path, len(head)),
            part.values,
            f"{rows * part.share:.6g}",
            f"{_of(part):.4g}",
        )


def named(domain: Domain, column: str) -> tuple[str, ...]:
    """The levels of a column, the widest first; the last are its values."""
    return (*(each.name for each in declared.levels(domain, domain.attribute(column))), column)


def of_cells(side: TreeCells) -> list[list[str]]:
    """The class of every cell, level by level, empty where the tree ended before."""
    classes = side.hierarchy
    if not isinstance(classes, TaxonomyHierarchy):
        raise TypeError("the tree has no hierarchy of classes")
    return [_padded(path, classes.depth) for path in classes.decode(side.cells)]


def _padded(path: Sequence[str], depth: int) -> list[str]:
    return [*path, *("" for _ in range(depth - len(path)))]
