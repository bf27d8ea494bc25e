"""Repaired tables of a release: synthetic rows that are weighted, or repeated and left out, until they meet
public totals.

Post-processing of the released model and of public numbers, so that nothing is charged. The totals are a
person's word: their receipt says where they are published, and whether somebody had looked at real data
before (ADR 15).
"""

from __future__ import annotations

import csv
import io
import json
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Literal, cast

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from synth_engine.domain import Attribute, Domain
from synth_engine.errors import SpecError
from synth_engine.mixing import raking, repair
from synth_engine.mixing.raking import COUNT, PublicTotals
from synth_engine.mixing.repair import Way
from synth_engine.strict_json import JsonObject
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.lib import codes, names
from synthweb.lib.errors import Conflict
from synthweb.releases import chain, repairing, selectors, table_process
from synthweb.releases.models import Release, RepairedTable
from synthweb.releases.slots import Slot
from synthweb.releases.table_process import MOST_CELLS

MAX_ROWS = 1_000_000
MAX_TABLES = 20
"""Repaired tables of one release: each stands in the database."""
MAX_FILE = 100_000_000
"""Bytes of both files, packed."""
MAX_TEXT = 1_000_000
"""Characters of totals."""
MAX_VALUES = 500
"""Values of a column that a page writes as lines of totals."""
PIECE = 1 << 18
Form = Literal["csv", "parquet"]
_FILES: dict[Form, str] = {"csv": repairing.CSV, "parquet": repairing.PARQUET}


@dataclass(frozen=True, kw_only=True)
class RepairOrder:
    """A requested repair. published: where the totals are published. seed: of the rows; empty for a random
    one, which the receipt states."""

    name: str
    published: str
    totals: Sequence[PublicTotals]
    way: Way
    rows: int
    seed: str = ""


# --- who sees what ------------------------------------------------------------------------------------------
def repaired_of(release: Release) -> QuerySet[RepairedTable]:
    """The repaired tables of a release, newest first, without their files; the caller authorised."""
    tables = RepairedTable.objects.filter(release=release).select_related("created_by")
    return tables.defer("content").order_by("-created_at", "-pk")


def repaired_for(release: Release, code: str) -> RepairedTable:
    """One of them; Http404 if the release has none of this code. The caller authorised."""
    table = repaired_of(release).filter(code=codes.of_text(code)).first()
    if table is None:
        raise Http404("no such repaired table")
    table.release = release
    return table


def file_of(table: RepairedTable, form: Form) -> Iterator[bytes]:
    """The table as a file, piece by piece."""
    content = RepairedTable.objects.values_list("content", flat=True).get(pk=table.pk)
    with zipfile.ZipFile(io.BytesIO(content)) as packed, packed.open(_FILES[form]) as file:
        while piece := file.read(PIECE):
            yield piece


def lines_of_csv(table: RepairedTable) -> Iterator[str]:
    """The table as lines of CSV, each with its end as it stands there."""
    content = RepairedTable.objects.values_list("content", flat=True).get(pk=table.pk)
    with zipfile.ZipFile(io.BytesIO(content)) as packed, packed.open(_FILES["csv"]) as file:
        yield from io.TextIOWrapper(file, encoding="utf-8", newline="")


# --- making one ---------------------------------------------------------------------------------------------
def make(
    *, user: User, release: Release, order: RepairOrder, request: HttpRequest | None = None
) -> RepairedTable:
    """Generate rows of a release and repair them. The caller authorised. Errors: InputError naming the totals
    that cannot be met, Refused, Conflict, TooManyDrawings, TableUnfinished."""
    name = names.one_line(order.name, field="name") or f"Repaired {release.name}"[:200]
    published = names.one_line(order.published, field="published")
    _require(release, order)
    seed = order.seed or secrets.token_hex(16)
    document = repair.document_of(order.totals)
    job = {
        "model": release.model,
        "rows": order.rows,
        "seed": seed,
        "totals": document,
        "way": order.way,
    }
    with (
        Slot(user.pk),
        table_process.made_by("synthweb.releases.repairing", job, request=request) as packed,
    ):
        report, content = _read(packed)
    made = {
        "seed": seed,
        "generated_rows": order.rows,
        "way": order.way,
        "published": published,
        "after_looking": selectors.looked_at_real(release.account),
        **report,
    }
    receipt = repair.receipt(chain.receipt_of(release), model=release.model, made=made)
    return _keep(
        RepairedTable(
            release=release,
            name=name,
            published=published,
            totals=document,
            way=order.way,
            rows=cast(int, report["rows"]),
            receipt=receipt,
            content=content,
            created_by=user,
        )
    )


def _require(release: Release, order: RepairOrder) -> None:
    """Refuses what is known before anything is generated."""
    repair.require_way(order.totals, order.way)
    raking.require_one_population(order.totals)
    columns = _columns(release)
    if not 1 <= order.rows <= MAX_ROWS or order.rows * len(columns) > MOST_CELLS:
        raise SpecError(
            f"a repaired table is made of 1 to {MAX_ROWS:,} rows and {MOST_CELLS:,} cells",
            repair="ask for fewer rows, or use the command line",
        )
    # Rows that are repeated become as many as the totals say.
    if order.way == "rows" and order.totals[0].sum * len(columns) > MOST_CELLS:
        raise SpecError(
            f"the totals {order.totals[0].name!r} make a table of more than {MOST_CELLS:,} cells",
            repair="ask for weights, or use the command line",
        )
    known = {column.name for column in columns}
    for each in order.totals:
        for column in each.columns:
            if column not in known:
                raise SpecError(
                    f"the totals {each.name!r} are by a column that the table has not",
                    repair="name the column as the table does",
                    column=column,
                )
    _require_room(release)


def _require_room(release: Release) -> None:
    if RepairedTable.objects.filter(release=release).count() >= MAX_TABLES:
        raise Conflict(
            f"A release has up to {MAX_TABLES} repaired tables",
            repair="delete one that is not needed",
        )


def _read(packed: IO[bytes]) -> tuple[JsonObject, bytes]:
    """What the process wrote: its report, and the files."""
    content = packed.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise SpecError(
            "the files of this table are larger than what is stored here",
            repair="ask for fewer rows, or use the command line",
        )
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        report: JsonObject = json.loads(files.read(repairing.REPORT))
    return report, content


@transaction.atomic
def _keep(table: RepairedTable) -> RepairedTable:
    release = (
        Release.objects.select_for_update(of=("self",))
        .select_related("dataset__organisation")
        .get(pk=table.release_id)
    )
    # It may have been withdrawn, or been repaired by others, while the rows were made.
    if release.withdrawn_at is not None:
        raise Conflict("This release was withdrawn", repair="repair another one")
    _require_room(release)
    table.save()
    audit.record(
        actor=table.created_by,
        action="release.repaired",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        detail={
            "repaired": table.code,
            "published": table.published,
            "receipt": str(table.receipt["digest"]),
        },
    )
    return table


@transaction.atomic
def delete(*, user: User, table: RepairedTable) -> None:
    """Remove a repaired table with its files; the caller authorised."""
    audit.record(
        actor=user,
        action="release.repair_deleted",
        target=("release", table.release.code),
        organisation=table.release.dataset.organisation,
        detail={"repaired": table.code, "receipt": str(table.receipt["digest"])},
    )
    table.delete()


# --- the form -----------------------------------------------------------------------------------------------
def columns_with_values(release: Release) -> list[str]:
    """The columns whose values a page can write as lines of totals."""
    return [column.name for column in _columns(release) if _values(column)]


def lines_of(release: Release, column: str) -> str:
    """A table of totals by a column, with its values and no counts yet, as CSV; empty for a column whose
    values are not listed."""
    values = next((_values(each) for each in _columns(release) if each.name == column), ())
    if not values:
        return ""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [(column, COUNT), *((v, "") for v in values)]
    )
    return text.getvalue()


def _columns(release: Release) -> tuple[Attribute, ...]:
    return Domain.from_json(release.model["domain"]).table_columns


def _values(column: Attribute) -> tuple[str, ...]:
    values = repair.labels_of(column)
    return values if len(values) <= MAX_VALUES else ()
