"""The model of a database: a model of each view, and how a database is generated from them.

Parents come first. Each has a number of children, which is a column of its view. Rows of a child table are
generated from the model of its view and placed among the parents (`inference/placement.py`). Keys are made
anew, so every reference resolves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from synth_engine import codec
from synth_engine.constraints import values
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Bound, Database, DatabaseTable, Siblings
from synth_engine.domain.views import POSITION, DatabaseView, column_above, count_of, earlier
from synth_engine.errors import InputError
from synth_engine.inference.placement import Pairing, Placement
from synth_engine.models.model import Model
from synth_engine.models.weights import generator
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/database-model/1"

Codes = Mapping[str, npt.NDArray[np.integer[Any]]]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratedRows:
    """The rows of a generated table: codes of its own columns and of its numbers of children, and of each row
    the index of its parent."""

    codes: Codes
    parents: Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class DatabaseModel:
    """A database as it was measured. models: of each view, by its name."""

    database: Database
    models: Mapping[str, Model]

    @property
    def units(self) -> int:
        """The noisy number of rows of the root table."""
        return self.models[self.database.root.name].rows

    def sample(self, units: int, *, seed: str) -> dict[str, GeneratedRows]:
        """Generates all tables from a seed, with so many rows of the root table; rows with one parent stand
        together, in their order."""
        views = {view.name: view for view in database_views.views(self.database)}
        generated: dict[str, GeneratedRows] = {}
        for table in self.database.tables:
            view = views[table.name]
            if table.parent is None:
                codes = self.models[view.name].sample(units, seed=_seed(seed, table.name))
                parents = np.zeros(units, dtype=np.int64)
                generated[table.name] = GeneratedRows(codes=codes, parents=parents)
            else:
                generated[table.name] = self._children(table, view, generated, seed=seed)
        return generated

    def _children(
        self,
        table: DatabaseTable,
        view: DatabaseView,
        generated: Mapping[str, GeneratedRows],
        *,
        seed: str,
    ) -> GeneratedRows:
        parent = generated[table.parent or ""]
        numbers = parent.codes[count_of(table)].astype(np.int64)
        parents = np.repeat(np.arange(numbers.size), numbers)
        if not parents.size:
            empty: Codes = {name: np.zeros(0, dtype=np.int64) for name in view.own}
            return GeneratedRows(codes=empty, parents=parents)
        rows = self.models[view.name].sample(int(parents.size), seed=_seed(seed, table.name))
        task = Placement(
            rows=rows,
            places=self._places(table, view, generated, parents),
            parents=parents,
            sizes=view.domain.sizes,
            own=view.own,
            pairing=self._pairing(table, parents, seed=seed),
            forbidden=self._forbidden(table),
        )
        assigned = task.assign(rng=generator(seed, purpose=("place", table.name)))
        codes = {name: rows[name][assigned] for name in view.own}
        if table.order is not None:
            # Siblings stand in their order, whatever row came to which place.
            ranked = codes[table.order].astype(np.int64)
            order = np.lexsort((-ranked if table.descending else ranked, parents))
            codes = {name: column[order] for name, column in codes.items()}
        return GeneratedRows(codes=codes, parents=parents)

    def _forbidden(self, table: DatabaseTable) -> dict[tuple[str, str], npt.NDArray[np.bool_]]:
        """Of each constraint of a table, the column above and the own one, and which of their codes break
        it."""
        return {
            (
                column_above(self.database.table(bound.ancestor), bound.other),
                bound.column,
            ): _broken(self.database, bound)
            for bound in self.database.bounds
            if bound.table == table.name
        }

    def _places(
        self,
        table: DatabaseTable,
        view: DatabaseView,
        generated: Mapping[str, GeneratedRows],
        parents: Indices,
    ) -> Codes:
        """Facts about each place for a row: its position, and the columns of all rows above it."""
        known: dict[str, npt.NDArray[np.integer[Any]]] = {}
        starts = np.flatnonzero(np.append(True, parents[1:] != parents[:-1]))
        numbers = np.diff(np.append(starts, parents.size))
        known[POSITION] = np.arange(parents.size) - np.repeat(starts, numbers)
        rows = parents
        for ancestor in self.database.ancestors(table):
            above = generated[ancestor.name]
            known |= {
                column_above(ancestor, name): codes[rows] for name, codes in above.codes.items()
            }
            rows = above.parents[rows]
        return {name: known[name] for name in view.context}

    def _pairing(self, table: DatabaseTable, parents: Indices, *, seed: str) -> Pairing | None:
        number = int((parents[1:] == parents[:-1]).sum())
        if not table.has_pairs or not number:
            return None
        model = self.models[f"{table.name}:pairs"]
        pairs = model.sample(number, seed=_seed(seed, f"{table.name}:pairs"))
        names = [name for name in pairs if earlier(name) in pairs]
        return Pairing(
            later={name: pairs[name] for name in names},
            earlier={name: pairs[earlier(name)] for name in names},
            first=table.siblings is Siblings.FIRST,
        )

    def tables(self, units: int, *, seed: str) -> dict[str, pd.DataFrame]:
        """Generates all tables as values, with fresh keys from 1 on; columns of keys come first."""
        generated = self.sample(units, seed=seed)
        frames: dict[str, pd.DataFrame] = {}
        for table in self.database.tables:
            rows = generated[table.name]
            frame = _values(table, rows.codes, seed=seed)
            for bound in self.database.bounds:
                if bound.table == table.name:
                    frame = self._within(bound, frame, frames, generated)
            keys = {}
            if table.key is not None:
                keys[table.key] = np.arange(1, len(frame) + 1)
            if table.reference is not None:
                keys[table.reference] = rows.parents + 1
            frames[table.name] = pd.concat(
                [pd.DataFrame(keys, index=frame.index), frame], axis=1
            )
        return frames

    def _within(
        self,
        bound: Bound,
        frame: pd.DataFrame,
        frames: Mapping[str, pd.DataFrame],
        generated: Mapping[str, GeneratedRows],
    ) -> pd.DataFrame:
        """The table with each value that breaks a constraint across tables replaced by the one that bounds
        it."""
        table = self.database.table(bound.table)
        rows = generated[table.name].parents
        for ancestor in self.database.ancestors(table):
            if ancestor.name == bound.ancestor:
                break
            rows = generated[ancestor.name].parents[rows]
        other = frames[bound.ancestor][bound.other].iloc[rows].set_axis(frame.index)
        own = table.domain.attribute(bound.column)
        limits = self.database.table(bound.ancestor).domain.attribute(bound.other)
        value, limit = own.comparable(frame[bound.column]), limits.comparable(other)
        # A missing value is NaN, and no comparison with it is true.
        broken = value > limit if bound.at_most else value < limit
        return frame.assign(**{bound.column: frame[bound.column].mask(broken, other)})

    def to_json(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "database": self.database.to_json(),
            "models": {
                name: cast(JsonObject, model.to_json()) for name, model in self.models.items()
            },
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DatabaseModel:
        """Reads what `to_json` wrote. Errors: InputError."""
        if document.get("schema") != SCHEMA or not isinstance(document.get("models"), Mapping):
            raise InputError(
                "this is no model of a database", repair="use the file as it was written"
            )
        database = Database.from_json(document["database"])
        expected = {
            view.name: view.domain.attributes for view in database_views.views(database)
        }
        models = {name: Model.from_json(one) for name, one in document["models"].items()}
        if {name: model.domain.attributes for name, model in models.items()} != expected:
            raise InputError(
                "the models do not fit the database", repair="use the file as it was written"
            )
        return cls(database=database, models=models)


def _seed(seed: str, name: str) -> str:
    return f"{seed}/{name}"


def _values(table: DatabaseTable, codes: Codes, *, seed: str) -> pd.DataFrame:
    """The described columns of a table, as values."""
    domain = table.domain
    frame = codec.decode(domain, codes, generator(seed, purpose=("decode", table.name)))
    rng = generator(seed, purpose=("order", table.name))
    frame = values.enforce(domain, frame, codes=codes, rng=rng)
    return codec.with_identifiers(
        domain,
        frame,
        start=0,
        generator=lambda name: generator(seed, purpose=("identifier", table.name, name)),
    )


def _broken(database: Database, bound: Bound) -> npt.NDArray[np.bool_]:
    """Which pairs of codes, of the column above and of the own one, break a constraint in the middle of their
    bins."""
    own = database.table(bound.table).domain.attribute(bound.column)
    other = database.table(bound.ancestor).domain.attribute(bound.other)
    # The middle is taken over many values of each bin, so that it is the same for every seed.
    middles = []
    for attribute in (other, own):
        codes = np.repeat(np.arange(attribute.size), _VALUES_A_BIN)
        sampled = attribute.comparable(
            attribute.sample(codes, generator("", purpose=("bins",)))
        )
        middles.append(
            np.asarray(sampled, dtype=np.float64).reshape(-1, _VALUES_A_BIN).mean(axis=1)
        )
    above, below = middles[0][:, None], middles[1][None, :]
    broken: npt.NDArray[np.bool_] = below > above if bound.at_most else below < above
    return broken


_VALUES_A_BIN = 32
