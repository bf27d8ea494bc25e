"""The stored model of a release: tables of weights over the domain, from which any number of rows is drawn.

Weights are whole numbers, so that drawing is exact and gives the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.constraints import records
from synth_engine.constraints import tables as restricting
from synth_engine.domain import Domain
from synth_engine.domain.relations import Component
from synth_engine.errors import InputError, SpecError
from synth_engine.inference import flow, topological
from synth_engine.models import (
    alias_tables,
    blocks,
    conditional,
    group_sizes,
    network,
    refinement,
)
from synth_engine.models import binning as bins
from synth_engine.models.binning import Binning
from synth_engine.models.network import Codes as Codes
from synth_engine.models.network import Node as Node
from synth_engine.models.network import Table as Table
from synth_engine.models.places import PlaceCells
from synth_engine.models.sparse_table import SparseTable
from synth_engine.models.trees import factory
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.models.trees.spatial import SpatialTree
from synth_engine.models.trees.strings import StringTree
from synth_engine.models.trees.taxonomy import ProductTree
from synth_engine.models.triple_mixture import TripleMixture
from synth_engine.models.weights import WHOLE as WHOLE
from synth_engine.models.weights import Weights as Weights
from synth_engine.models.weights import generator as generator
from synth_engine.models.weights import round_to_total as round_to_total
from synth_engine.models.weights import whole_weights as whole_weights

SCHEMA = "synth_engine/model/1"
"""The form of the document and the one way to draw rows from it: a change of either is another schema."""
MAX_SAMPLE_ROWS = 10**9
POPULATION = 1_000_000
MAX_TARGET_COLUMNS = 8
"""Columns of a table to which rows are refined."""
MAX_TARGET_CELLS = 4_000_000
"""Cells of all targets together."""

Texts = dict[str, tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]]
Synthesis = Literal["finish", "mcf", "sts"]


def require_rows(rows: int) -> None:
    """Errors: SpecError where no table has so many rows."""
    if type(rows) is not int or not 0 <= rows <= MAX_SAMPLE_ROWS:
        raise SpecError(f"rows must be a whole number from 0 to {MAX_SAMPLE_ROWS}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """Tables that together cover the modelled attributes, and the (noisy or public) number of rows.

    Without a network the tables are independent and cover each attribute once. With one, the i-th table is of
    the parents and the attribute of the i-th node, and gives the attribute when its parents are drawn
    already.

    `targets` are tables of groups of attributes, which may overlap, that the rows drawn so far are changed to
    have, by the method `synthesis`: record by record until they are near (`finish`, tables of two to
    `MAX_TARGET_COLUMNS` attributes), by minimum-cost flow, or made anew from sorted tables.
    `merged` are the bins of large attributes: all tables count such an attribute by its bins, and its codes
    are drawn within them in the end. `mixture`: where tables of three attributes that are no targets start in
    `finish`.

    `tree`: of the columns of a hierarchy, beside the tables of others, and `notes`, what there is to say of
    it. `cells`: of two columns with too many values for a table.

    `coded`: the model of a table in which each of some `places` is one column of cells instead of two of
    degrees. It then generates all columns, and each place takes its degrees within its cell; this model has
    no tables of its own.

    `groups`, of a domain whose persons are made anew, are the weights of 1, 2, … rows a person; they add up
    to `WHOLE`.
    """

    mechanism: str
    domain: Domain
    rows: int
    tables: tuple[Table, ...]
    network: tuple[Node, ...] = ()
    groups: Weights | None = None
    targets: tuple[Table, ...] = ()
    synthesis: Synthesis = "finish"
    merged: tuple[Binning, ...] = ()
    mixture: TripleMixture | None = None
    tree: factory.ModelTree | None = None
    cells: SparseTable | None = None
    notes: TreeDiagnostics | None = None
    coded: Model | None = None
    places: tuple[PlaceCells, ...] = ()

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError("a model has no negative number of rows")
        covered = [node.attribute for node in self.network]
        if self.network:
            network.check(self.network, self.tables)
        else:
            covered = [name for table in self.tables for name in table.clique]
            covered += [] if self.tree is None else self.tree.columns
            covered += [] if self.cells is None else self.cells.clique
            covered += self._columns_of_coded()
        # Lists, not sets: a column that is covered twice would have two distributions.
        if sorted(covered) != sorted(self.domain.sizes):
            raise InputError(
                "the tables of the model do not cover the domain",
                repair="use the model of this release",
            )
        covariates = (
            self.tree.attached if isinstance(self.tree, SpatialTree | StringTree) else None
        )
        if covariates is not None and not covariates.sizes.items() <= self.domain.sizes.items():
            raise InputError(
                "the columns beside the tree are malformed",
                repair="use the model of this release",
            )
        for one in self.merged:
            one.check(self.domain, whole=WHOLE)
        for table in (*self.tables, *self.targets):
            table.check(self.domain, self._bins)
        if self.cells is not None:
            self.cells.check(self.domain)
        self._check_targets()
        self._check_groups()

    def _columns_of_coded(self) -> list[str]:
        """The columns of this model that `coded` generates. Errors: InputError where it is of other
        places."""
        coded = self.coded
        if coded is None and not self.places:
            return []
        cells = {one.place: one.size for one in self.places}
        if coded is None or self.domain.join_places(cells).sizes != coded.domain.sizes:
            raise InputError(
                "the places of the model do not fit its columns",
                repair="use the model of this release",
            )
        columns = [name for name in coded.domain.sizes if name not in cells]
        return columns + [name for one in self.places for name in one.tree.columns]

    def _located(self, codes: Codes, *, seed: str) -> Codes:
        """Codes of all columns, from those of `coded`."""
        codes = dict(codes)
        for one in self.places:
            rng = generator(seed, purpose=("place", one.place))
            codes |= one.sample(codes.pop(one.place), domain=self.domain, rng=rng)
        return {name: codes[name] for name in self.domain.sizes}

    def _check_targets(self) -> None:
        if self.synthesis not in ("finish", "mcf", "sts"):
            raise InputError(
                "the synthesis of the model is unknown", repair="use the model of this release"
            )
        if self.synthesis != "finish":
            if self.merged or self.mixture is not None:
                raise InputError(
                    "the model has bins or a mixture, which its synthesis lacks",
                    repair="use the model of this release",
                )
            return
        if self.targets and (self.tree is not None or self.cells is not None):
            raise InputError(
                "the model has targets beside a tree or cells of two columns",
                repair="use the model of this release",
            )
        cliques = [table.clique for table in self.targets]
        for clique in cliques:
            if not 2 <= len(clique) <= MAX_TARGET_COLUMNS or len(set(clique)) < len(clique):
                raise InputError(
                    f"a target of the model is not of 2 to {MAX_TARGET_COLUMNS} columns",
                    repair="take a table of as many different columns, or the model of this release",
                    column=clique[-1] if clique else None,
                )
        if self.mixture is not None:
            self.mixture.check(self.domain, self._bins, cliques)
        if sum(table.weights.size for table in self.targets) > MAX_TARGET_CELLS:
            raise InputError(
                f"the targets of the model have more than {MAX_TARGET_CELLS:,} cells",
                repair="take larger bins",
            )

    def _check_groups(self) -> None:
        weights, most = self.groups, self.domain.unit.max_records
        if weights is None:
            return
        if self.domain.grouped is None:
            raise InputError(
                "the domain of the model makes no persons anew",
                repair="use the model of this release",
            )
        if (
            weights.ndim != 1
            or weights.size > most
            or weights.min() < 0
            or weights.sum() != WHOLE
        ):
            raise InputError(
                "the group sizes of the model are malformed",
                repair="use the model of this release",
            )

    @property
    def unconstrained(self) -> Model:
        """The model without the constraints of its domain."""
        return replace(
            self,
            domain=replace(self.domain, constraints=()),
            coded=None if self.coded is None else self.coded.unconstrained,
        )

    def sample(self, rows: int, *, seed: str) -> Codes:
        """Codes of each attribute, shape (rows,): the blocks of `sample_blocks` in one piece."""
        return blocks.together(list(self.sample_blocks(rows, seed=seed)))

    def sample_blocks(self, rows: int, *, seed: str) -> Iterator[Codes]:
        """Codes of each attribute, with every declared constraint kept, in blocks. The same seed gives the
        same rows for ever: another way to draw is another `SCHEMA`.

        Models with targets draw a block when it is asked for, and all rows that were drawn so far have the
        histograms of the targets to rounding, where no cell that may not be entered is in the way. Of many
        rows those after the refined ones (`blocks.rows_refined`) are copies of these, each as often as
        another; the last ones are copies that are changed until the columns of the whole table are right.
        Models of tables alone draw `blocks.MANY` rows and more by alias tables; others draw all codes at
        once.
        """
        require_rows(rows)
        if self.coded is not None:
            for number, block in enumerate(self.coded.sample_blocks(rows, seed=seed)):
                yield self._located(block, seed=blocks.seed_of(seed, number))
        elif self._refines:
            yield from self._refined_blocks(rows, seed=seed)
        elif self._by_tables and rows >= blocks.MANY:
            yield from self._by_counter(rows, seed=seed)
        else:
            yield from blocks.split(self._at_once(rows, seed=seed), rows)

    def _at_once(self, rows: int, *, seed: str) -> Codes:
        """Codes of a model without refinement.

        Counts are the nearest whole numbers to the weights (largest remainder), in random order. A table
        smaller than the model's own number of rows is a simple random part of one of that size, so that a
        small one looks like a sample and not like the commonest values over and over.
        """
        population = max(rows, min(self.rows, POPULATION))
        # Systematic draws and targets hold for the whole population, so it is drawn first and
        # cut afterwards.
        drawn_rows = population if self.network or self.targets or self.merged else rows
        if self.network:
            codes = network.sample(self.network, self._possible, population, seed=seed)
        else:
            codes = network.sample_apart(
                self._possible, drawn_rows, population=population, seed=seed
            )
        if self.tree is not None:
            rng = generator(seed, purpose=("tree",))
            codes |= self.tree.sample(
                drawn_rows, population=population, domain=self.domain, rng=rng
            )
        if self.cells is not None:
            rng = generator(seed, purpose=("sample", *self.cells.clique))
            codes |= self.cells.sample(
                drawn_rows, population=population, domain=self.domain, rng=rng
            )
        if self.targets:
            codes = self._synthesized(codes, seed=seed)
        # Records are in random order, so the first rows are a simple random sample.
        return self._completed(codes, seed=seed, rows=rows)

    def _by_counter(self, rows: int, *, seed: str) -> Iterator[Codes]:
        """Codes of tables alone, by alias tables in blocks that any number of threads may draw."""
        columns = alias_tables.tables(self.network, self.tables, seed=seed)

        def draw(start: int) -> Codes:
            codes: Codes = {}
            for table in columns:
                table.draw(codes, start, min(start + blocks.LARGEST, rows))
            return {name: codes[name] for name in self.domain.sizes}

        yield from blocks.in_threads(draw, range(0, max(rows, 1), blocks.LARGEST))

    def _refined_blocks(self, rows: int, *, seed: str) -> Iterator[Codes]:
        base = blocks.Refined(self.domain.sizes, rows=rows)
        refined = blocks.rows_refined(rows, len(self.domain.sizes))
        for number, size in enumerate(blocks.early(refined)):
            own = blocks.seed_of(seed, number)
            # A table of few rows is a random part of one of the model's own size.
            many = max(size, min(self.rows, blocks.FIRST))
            codes = self._further_block(base, many, seed=own)
            yield self._completed(codes, seed=own, rows=size)
        for number, codes in enumerate(self._copies_with_columns(base, rows, seed=seed), 2):
            yield self._completed(codes, seed=blocks.seed_of(seed, number))

    def sample_growing(self, sizes: Iterable[int], *, seed: str, most: int) -> Iterator[Codes]:
        """Codes of a table that grows until no further size is asked for, of a model that refines in blocks.
        After each block all rows so far have the histograms of the targets to rounding and are as near to the
        targets as a whole table of so many.

        sizes: the most rows of each block, asked for when the block before is drawn. most: rows of the table
        in the end; as many as a table of so many has are refined (`blocks.rows_refined`), and those after
        them are copies."""
        if self.coded is not None:
            for number, block in enumerate(
                self.coded.sample_growing(sizes, seed=seed, most=most)
            ):
                yield self._located(block, seed=blocks.seed_of(seed, number))
            return
        refined = blocks.rows_refined(most, len(self.domain.sizes))
        base = blocks.Refined(self.domain.sizes, rows=refined)
        for number, size in enumerate(sizes):
            own = blocks.seed_of(seed, number)
            if base.lacks_rows:
                rows = min(size, refined - base.rows)
                codes = self._further_block(base, rows, seed=own)
            else:
                codes = base.copies(min(size, blocks.LARGEST), seed=seed)
            yield self._completed(codes, seed=own)

    def _copies_with_columns(
        self, base: blocks.Refined, rows: int, *, seed: str
    ) -> Iterator[Codes]:
        """The rows after those of the base: whole turns of copies, and a last part of half a base or more
        that is changed."""
        turns, last = blocks.turns(rows, base=base.rows)
        yield from blocks.copies(base, turns * base.rows, seed=seed)
        if last <= 0:
            return
        rng = generator(seed, purpose=("columns of the copies",))
        matched = self._refinement.match_columns(
            base.codes, base.copies(last, seed=seed), times=1 + turns, rng=rng
        )
        for start in range(0, last, blocks.LARGEST):
            yield {
                name: column[start : start + blocks.LARGEST] for name, column in matched.items()
            }

    @property
    def _by_tables(self) -> bool:
        """Whether the rows are draws from the tables and nothing else."""
        others = (self.tree, self.cells, self.groups)
        changed = self.targets or self.merged or self.domain.constraints
        return not changed and all(each is None for each in others)

    def _further_block(self, refined: blocks.Refined, rows: int, *, seed: str) -> Codes:
        """So many rows more, refined beside those of the blocks before."""
        if self.network:
            codes = network.sample(self.network, self._possible, rows, seed=seed)
        else:
            codes = network.sample_apart(self._possible, rows, population=rows, seed=seed)
        if self.domain.constraints:
            codes = self._repaired(
                codes,
                seed=seed,
                components=refinement.decidable_components(self.domain, self._bins),
            )
        rng = generator(seed, purpose=("targets", "finish"))
        codes = self._refinement.refine(refined.codes, codes, rng=rng)
        refined.add(codes)
        return codes

    def _completed(self, codes: Codes, *, seed: str, rows: int | None = None) -> Codes:
        """The first rows of a refined block, with codes within their bins and every constraint kept."""
        for one in self.merged:
            rng = generator(seed, purpose=("within", one.attribute))
            codes[one.attribute] = one.draw_codes(codes[one.attribute], rng=rng)
        codes = {name: codes[name][:rows] for name in self.domain.sizes}
        return self._repaired(codes, seed=seed) if self.domain.constraints else codes

    def written(self, rows: int, *, seed: str) -> Texts:
        """Generates the texts of columns whose codes do not determine them: for each, different
        texts, and the index among them for each record of `sample`."""
        if self.coded is not None:
            return self.coded.written(rows, seed=seed)
        if (
            not isinstance(self.tree, StringTree | ProductTree)
            or (texts := factory.texts(self.tree)) is None
        ):
            return {}
        population = max(rows, min(self.rows, POPULATION))
        # The same randomness as in `sample`, so each text belongs to the record whose codes it
        # fits.
        rng = generator(seed, purpose=("tree",))
        return {
            texts.hierarchy.columns[0]: self.tree.draw_strings(
                rows, population=population, rng=rng
            )
        }

    def _repaired(
        self, codes: Codes, *, seed: str, components: Sequence[Component] | None = None
    ) -> Codes:
        purpose = "repair" if components is None else "repair before the finish"
        return records.repair(
            codes,
            domain=self.domain,
            factors=self._factors,
            generator=lambda clique: generator(seed, purpose=(purpose, *clique)),
            components=components,
        )

    @cached_property
    def _refinement(self) -> refinement.Refinement:
        return refinement.Refinement(
            targets=[(table.clique, self._target_weights(table)) for table in self.targets],
            domain=self.domain,
            merged=self._bins,
            mixture=self.mixture,
        )

    @property
    def refines_in_blocks(self) -> bool:
        """Whether `sample_blocks` draws a block only when it is asked for."""
        if self.coded is not None:
            return self.coded.refines_in_blocks
        return self._refines

    @property
    def _refines(self) -> bool:
        return bool(self.targets) and self.synthesis == "finish"

    def _synthesized(self, codes: Codes, *, seed: str) -> Codes:
        """Records, the whole population, that have the targets as nearly as the method manages."""
        names, rng = (
            list(self.domain.sizes),
            generator(seed, purpose=("targets", self.synthesis)),
        )
        records = np.array([codes[name] for name in names])
        rows = records.shape[1]
        wishes: list[flow.Target] = []
        for table in self.targets:
            counts = round_to_total(table.weights.ravel(), rows).reshape(table.weights.shape)
            wishes.append((tuple(names.index(name) for name in table.clique), counts))
        if self.synthesis == "mcf":
            records = flow.meet_targets(records, wishes, rng=rng)
        else:
            records = topological.draw(wishes, rows=rows, attributes=len(names), rng=rng)
        return dict(zip(names, records, strict=True))

    def _target_weights(self, table: Table) -> npt.NDArray[np.float64]:
        weights = table.weights.astype(np.float64)
        if not self.domain.constraints:
            return weights
        allowed = bins.possible(self.domain, table.clique, self._bins)
        return restricting.restrict(
            weights, allowed, margins=[(axis,) for axis in range(weights.ndim)]
        )

    def group_ends(self, rows: int, *, seed: str) -> Weights | None:
        """Returns the row after the last row of each person; None where persons are not
        resampled. As in `sample`, the groups of a table smaller than the model's own are a
        random part of those of one of that size."""
        if self.coded is not None:
            return self.coded.group_ends(rows, seed=seed)
        if self.groups is None:
            return None
        sizes = np.arange(1, self.groups.size + 1)
        population = max(rows, min(self.rows, POPULATION), 1)
        persons = max(1, round(population * WHOLE / int(self.groups @ sizes)))
        dealt = np.repeat(sizes, round_to_total(self.groups, persons))
        return group_sizes.ends(dealt, rows, rng=generator(seed, purpose=("groups",)))

    @cached_property
    def _possible(self) -> tuple[Table, ...]:
        """The tables without the cells that the domain's constraints exclude. Sums are kept where they were
        measured; uniform values stay uniform among those that can be."""
        given: list[restricting.Weighted] = [
            (table.clique, table.weights.astype(np.float64)) for table in self.tables
        ]
        if not self.domain.constraints:
            return self.tables
        if not self.network and not self.merged:
            # Uniform tables were not measured (weights differ by rounding at most), and their
            # margins need not be preserved.
            measured = any(np.ptp(table.weights) > 1 for table in self.tables)
            given = restricting.join_tables(self.domain, given, keep=measured)
            return tuple(
                Table(clique=clique, weights=whole_weights(weights))
                for clique, weights in given
            )
        allowed_tables = []
        for table, (clique, weights) in zip(self.tables, given, strict=True):
            allowed = bins.possible(self.domain, clique, self._bins)
            if not allowed.all():
                last = len(clique) - 1
                # The distribution of the child and that of its parents are preserved, as far as
                # the constraints allow both.
                margins = [(last,), tuple(range(last))] if last else []
                weights = restricting.restrict(weights, allowed, margins=margins)
                table = Table(clique=clique, weights=whole_weights(weights))
            allowed_tables.append(table)
        return tuple(allowed_tables)

    @cached_property
    def _bins(self) -> dict[str, Binning]:
        return {one.attribute: one for one in self.merged}

    @cached_property
    def _factors(self) -> list[records.Factor]:
        """Tables whose product gives the weight of a record of codes."""
        tables = [(table.clique, table.weights.astype(np.float64)) for table in self._possible]
        if self.network:
            tables = [
                (table.clique, conditional.shares(table.weights)) for table in self._possible
            ]
        if not self.merged:
            return tables
        spread = [
            (clique, bins.over_codes(clique, table, self._bins)) for clique, table in tables
        ]
        return [(clique, table) for clique, table in spread if table is not None]

    def to_json(self) -> dict[str, object]:
        document: dict[str, object] = {
            "schema": SCHEMA,
            "mechanism": self.mechanism,
            "domain": self.domain.to_json(),
            "rows": self.rows,
            "tables": [table.to_json() for table in self.tables],
        }
        nodes = [
            {
                "attribute": node.attribute,
                "parents": list(node.parents),
                "strength": table.strength,
            }
            for node, table in zip(self.network, self.tables, strict=False)
        ]
        grouped = {} if self.groups is None else {"groups": self.groups.tolist()}
        if self.targets or self.merged:
            document["targets"] = [table.to_json() for table in self.targets]
            document["synthesis"] = self.synthesis
            document["merged"] = [one.to_json() for one in self.merged]
        if self.mixture is not None:
            document |= {"mixture": self.mixture.to_json()}
        if self.tree is not None:
            document |= {"tree": self.tree.to_json()}
            document |= {} if self.notes is None else {"notes": self.notes.to_json()}
        if self.cells is not None:
            document |= {"cells": self.cells.to_json()}
        if self.coded is not None:
            document |= {
                "coded": self.coded.to_json(),
                "places": [one.to_json() for one in self.places],
            }
        return document | ({"network": nodes} if nodes else {}) | grouped

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Model:
        """Errors: InputError if the document is not a model."""
        try:
            if obj["schema"] != SCHEMA:
                raise InputError(
                    f"this is no model of the schema {SCHEMA}",
                    repair="use the file that --model wrote, with the version that wrote it",
                )
            domain = Domain.from_json(obj["domain"])
            merged = tuple(Binning.from_json(one) for one in obj.get("merged", ()))
            of = {one.attribute: one for one in merged}
            tables, targets = (
                tuple(Table.from_json(one, domain, of) for one in obj.get(part, ()))
                for part in ("tables", "targets")
            )
            nodes = obj.get("network", ())
            network = tuple(
                Node(attribute=str(one["attribute"]), parents=tuple(one["parents"]))
                for one in nodes
            )
            sizes = obj.get("groups")
            return cls(
                mechanism=str(obj["mechanism"]),
                domain=domain,
                rows=int(obj["rows"]),
                tables=tables,
                network=network,
                groups=None if sizes is None else np.array(sizes, dtype=np.int64),
                targets=targets,
                synthesis=obj.get("synthesis", "finish"),
                merged=merged,
                mixture=TripleMixture.from_json(obj["mixture"]) if "mixture" in obj else None,
                tree=factory.read(obj["tree"], domain) if "tree" in obj else None,
                cells=SparseTable.from_json(obj["cells"]) if "cells" in obj else None,
                notes=TreeDiagnostics.from_json(obj["notes"]) if "notes" in obj else None,
                coded=_coded(obj["coded"]) if "coded" in obj else None,
                places=tuple(
                    PlaceCells.from_json(one, domain) for one in obj.get("places", ())
                ),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                "this is no model document", repair="use the file that --model wrote"
            ) from error


def _coded(document: Mapping[str, Any]) -> Model:
    """The model of a table of cells of places. Errors: InputError, KeyError."""
    if "coded" in document:  # else a document could be nested as deep as it likes
        raise KeyError("coded")
    return Model.from_json(document)
