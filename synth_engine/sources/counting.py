"""Where the codes of records are while they are counted, behind one protocol.

`MemorySource`: columns in memory. `PartsSource`: encrypted files, of which a few are in memory at a time.
Both give the same counts, and neither draws noise, charges or keeps an account: that is the session's, in the
process that opened it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.indexing.contingency import CountPlan, Table
from synth_engine.room.records_source import RecordSource as RecordSource
from synth_engine.sources import parts
from synth_engine.sources.cluster import Cluster, ClusterSource
from synth_engine.sources.part_writer import PartWriter
from synth_engine.sources.parts import EncodedParts, PartColumns, PartFolder, PartSum
from synth_engine.threads import Pool

PLACES = ("memory", "parquet", "dask", "spark")

MEMORY_BYTES = 1 << 27
"""Codes of a table that are kept in memory unless a place is stated; those of a larger one are in parts."""
_THREADS = 2
"""Parts that are counted at a time, each with a copy of the tables."""


class PartsSource(PartColumns):
    """Columns in encrypted parts that this process counts."""

    def count(self, names: Sequence[str], plan: CountPlan) -> list[Table]:
        total = PartSum(plan, self._parts.rows)
        threads = min(_THREADS, os.cpu_count() or 1)
        with Pool(threads) as pool:
            for several in parts.chunks(len(self._parts.rows), threads):
                counted = pool.map(
                    lambda part: parts.count_part(self._parts, part, names, plan), several
                )
                for part, tables in zip(several, counted, strict=True):
                    total.add([part], tables)
        return total.tables()


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Where the records of a run are counted. place: `memory`, or `parquet` for encrypted parts in the folder
    of temporary files; "" for memory up to `memory_bytes` of codes, and parts above; `dask` or `spark` for
    parts that a cluster counts. address, folder, key_file: of the cluster (`cluster.Cluster`)."""

    place: str = ""
    memory_bytes: int = MEMORY_BYTES
    address: str = ""
    folder: str = ""
    key_file: str = ""

    def __post_init__(self) -> None:
        if self.place and self.place not in PLACES:
            raise SpecError(
                "there is no such place to count in", repair=f"give one of {', '.join(PLACES)}"
            )

    def in_parts(self, held: int) -> bool:
        """Whether a table of so many bytes of codes is in parts."""
        return held > self.memory_bytes if self.place == "" else self.place != "memory"

    def require(self) -> None:
        """Find out before anything is charged whether it can be counted there. Errors: SpecError,
        ClusterError."""
        if (cluster := self._cluster()) is not None:
            cluster.require()

    def writer(self, domain: Domain) -> PartWriter:
        """What makes parts of a table."""
        cluster = self._cluster()
        folder = PartFolder(None if cluster is None else cluster.folder)
        sizes = {name: domain.sizes[name] for name in domain.names}

        def opened(encoded: EncodedParts) -> RecordSource:
            if cluster is None:
                return PartsSource(encoded, folder=folder, sizes=sizes)
            return ClusterSource(encoded, folder=folder, sizes=sizes, cluster=cluster)

        return PartWriter(domain, folder=folder, secret=os.urandom(32), opened=opened)

    def _cluster(self) -> Cluster | None:
        if self.place not in ("dask", "spark"):
            return None
        return Cluster(
            kind="dask" if self.place == "dask" else "spark",
            address=self.address,
            folder=Path(self.folder),
            key_file=Path(self.key_file),
        )


def are_countable(domain: Domain) -> bool:
    """Whether the questions of a method need nothing of the records but their codes: nothing is left open,
    and neither places nor persons are looked at as a whole."""
    return not domain.undeclared and not domain.places and domain.grouped is None
