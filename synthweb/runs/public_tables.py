"""The public table beside which a run's noisy answers are read: who may choose which, what a run stores of
the choice, and how the table is loaded again. All of it is public; it changes no question and no loss."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Self

from django.http import Http404
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import SpecError
from synth_engine.mechanisms import Plan
from synth_engine.references import (
    OwnRelease,
    PublicTable,
    ReferenceSheet,
    ReferenceSource,
    read_sheet,
)
from synth_engine.tables import Drawing
from synthweb.accounts.models import Organisation, User
from synthweb.accounts.permissions import Need
from synthweb.lib.errors import Refused
from synthweb.references import records
from synthweb.references import selectors as references
from synthweb.references.models import RECORDS, ReferenceVersion
from synthweb.references.services import NOT_PUBLIC, require_no_table
from synthweb.releases import model_cache, table_writers
from synthweb.releases import selectors as releases
from synthweb.releases.models import Release

MAX_SAMPLE_ROWS = 50_000
"""Of a table drawn from an earlier release: more records change what it says by less than the noise of most
runs."""
# Of a version: a longer one might not fit into an integer of the database.
NUMBER = re.compile("[0-9]{1,6}")
OFFERED_RELEASES = 50
MAX_RENAMED = 1_000
SAMPLED_TABLES = 2  # in the memory of a process


@dataclass(frozen=True, kw_only=True)
class TableChoice:
    """What somebody asks for: a reference table of records by its code (version: None for the newest), or an
    earlier release by its code. columns: for columns of the description, what the table calls them."""

    reference: str = ""
    version: int | None = None
    release: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, *, columns: Mapping[str, str]) -> Self:
        """From the value of a form's list: `reference:CODE:VERSION` or `release:CODE`. Errors: ValueError."""
        source, code, *version = text.split(":")
        if source == "release" and code and not version:
            return cls(release=code, columns=columns)
        if (
            source == "reference"
            and code
            and len(version) == 1
            and NUMBER.fullmatch(version[0])
        ):
            return cls(reference=code, version=int(version[0]), columns=columns)
        raise ValueError("neither a reference table nor a release")

    @classmethod
    def parse_or_none(
        cls, text: str, *, columns: Mapping[str, str] | None = None
    ) -> Self | None:
        """The same; None for any other text."""
        try:
            return cls.parse(text, columns=columns or {})
        except ValueError:
            return None

    @property
    def label(self) -> str:
        """What a list shows that does not offer it."""
        return self.release or f"{self.reference}, version {self.version}"

    @property
    def value(self) -> str:
        """The same as a value of the list."""
        if self.release:
            return f"release:{self.release}"
        return f"reference:{self.reference}:{self.version}"


@dataclass(frozen=True, kw_only=True)
class StatedTable:
    """A public table as a run stores it: enough to load the same bytes again, and to state them if they are
    deleted.

    reference, version: of a reference table of records. release, rows, seed: of a table that is drawn from
    the model of an earlier release. columns: for columns of the description, what the table calls them.
    sha256: of the CSV."""

    name: str
    published: str
    sha256: str
    reference: str = ""
    version: int = 0
    release: str = ""
    rows: int = 0
    seed: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"columns": dict(self.columns)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Self | None:
        """None for a run without one."""
        return None if document is None else cls(**document)

    @property
    def choice(self) -> TableChoice:
        """What to ask for to get the same again."""
        version = None if self.release else self.version
        return TableChoice(
            reference=self.reference,
            version=version,
            release=self.release,
            columns=self.columns,
        )

    @property
    def label(self) -> str:
        """Its name in a list."""
        if self.release:
            return f"{self.name} ({self.release})"
        return f"{self.name}, version {self.version}"


@dataclass(frozen=True, kw_only=True)
class OfferedTables:
    """The lists of a form: (value, label)."""

    references: tuple[tuple[str, str], ...] = ()
    releases: tuple[tuple[str, str], ...] = ()

    @property
    def choices(self) -> list[tuple[Any, Any]]:
        """As a select takes them."""
        groups = ((_("Reference tables"), self.references), (_("Releases"), self.releases))
        return [
            ("", _("None")),
            *((title, [*options]) for title, options in groups if options),
        ]


NOTHING = OfferedTables()


def offered(user: User, chosen: StatedTable | None = None) -> OfferedTables:
    """The newest versions of tables of records, and the newest releases, of `user`'s organisation; and what
    was chosen before."""
    tables = [
        (
            TableChoice(reference=each.reference.code, version=each.number).value,
            f"{each.reference.name}, version {each.number}",
        )
        for each in references.of_records(user)
    ]
    newest = releases.to_draw_from(user).values_list("code", "name", "created_at")
    sampled = [
        (TableChoice(release=code).value, f"{name} ({code}, {at:%Y-%m-%d})")
        for code, name, at in newest[:OFFERED_RELEASES]
    ]
    if chosen is not None and chosen.choice.value not in dict([*tables, *sampled]):
        (sampled if chosen.release else tables).append((chosen.choice.value, chosen.label))
    return OfferedTables(references=tuple(tables), releases=tuple(sampled))


def is_there(user: User, stated: StatedTable) -> bool:
    """Whether `user` can choose it again."""
    if stated.release:
        return releases.releases_for(user).filter(code=stated.release).exists()
    tables = references.references_of(user).filter(code=stated.reference)
    return tables.filter(versions__number=stated.version).exists()


def parse_columns(text: str) -> dict[str, str]:
    """Renamed columns from lines of a column of the description, an equals sign, and what the table calls it.
    Errors: ValueError."""
    columns = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _equals, called = (part.strip() for part in line.partition("="))
        if not name or not called or name in columns:
            raise ValueError("a line is not two names")
        columns[name] = called
    return columns


def columns_text(columns: Mapping[str, str]) -> str:
    """The same as text."""
    return "\n".join(f"{name} = {called}" for name, called in columns.items())


def resolve(user: User, choice: TableChoice | None) -> StatedTable | None:
    """The table that `user` chooses, with the SHA-256 of its bytes. Errors: Refused where they see none of
    that code; SpecError for a reference table of another kind."""
    if choice is None:
        return None
    if len(choice.columns) > MAX_RENAMED:
        raise SpecError(
            f"a public table has {len(choice.columns):,} renamed columns, and at most {MAX_RENAMED:,} are "
            "read",
            repair="leave out those that are called the same",
        )
    if bool(choice.reference) == bool(choice.release):
        raise Refused(
            "a public table is either a reference table or an earlier release",
            repair="give the code of one of the two",
            field="prior",
        )
    try:
        if choice.release:
            release = releases.release_for(user, choice.release, Need.SAMPLE)
            return _of_release(release, columns=choice.columns)
        version = references.version_for(user, choice.reference, choice.version)
    except Http404:
        raise Refused(
            "there is no such public table in your organisation",
            repair="take one of the list of reference tables, with a number of one of its versions, or one "
            "of the releases",
            field="prior",
        ) from None
    if not version.has_records:
        raise SpecError(
            "the public table is a reference table of codes, not of records",
            repair="choose one of the kind “records”, or add the file again as one",
        )
    return StatedTable(
        name=version.reference.name,
        published=version.reference.published,
        sha256=version.sha256,
        reference=version.reference.code,
        version=version.number,
        columns=dict(choice.columns),
    )


def load(stated: StatedTable | None, *, organisation: Organisation) -> PublicTable | None:
    """The table of a run. Errors: SpecError if it was deleted, differs by now, or is a table that is to be
    protected."""
    if stated is None:
        return None
    sheet, release = (
        _sampled_again(stated, organisation=organisation)
        if stated.release
        else (_stored(stated, organisation=organisation), None)
    )
    # Names and numbers are those of the request, so that a file that was deleted and imported
    # again is the same public table.
    return PublicTable(
        sheet=sheet,
        source=ReferenceSource(
            name=stated.name,
            version=str(stated.version or stated.release),
            sha256=stated.sha256,
        ),
        published=stated.published,
        renamed=stated.columns,
        release=release,
    )


@dataclass(frozen=True, kw_only=True)
class SharedColumns:
    """What a plan shares with its public table: columns by name, those that it does not share, and the number
    of records."""

    label: str
    records: int
    shared: tuple[str, ...]
    missing: tuple[str, ...]
    other_values: tuple[str, ...]
    is_release: bool

    @property
    def columns(self) -> int:
        """How many columns the description has."""
        return len(self.shared) + len(self.missing) + len(self.other_values)


def shared_columns(stated: StatedTable | None, plan: Plan) -> SharedColumns | None:
    """None without a public table. Columns that it lacks are told apart from those of which fewer than half
    of the cells fit."""
    table = plan.prior
    if stated is None or table is None:
        return None
    shared = tuple(plan.spec.parameters[plan.config.prior_key]["columns"])
    others = [name for name in plan.domain.names if name not in shared]
    return SharedColumns(
        label=stated.label,
        records=table.records,
        shared=shared,
        missing=tuple(name for name in others if table.cells_of(name) is None),
        other_values=tuple(name for name in others if table.cells_of(name) is not None),
        is_release=bool(stated.release),
    )


def _stored(stated: StatedTable, *, organisation: Organisation) -> ReferenceSheet:
    version = (
        ReferenceVersion.objects.filter(
            reference__organisation=organisation, kind=RECORDS, sha256=stated.sha256
        )
        .defer("content")
        .order_by("pk")
        .first()
    )
    if version is None:
        raise SpecError(
            f"the public table “{stated.name}”, version {stated.version}, was deleted",
            repair=f"add the file with the SHA-256 {stated.sha256} again as a table of records, or choose "
            "another one",
        )
    try:
        # As when it was imported: a table that arrived later may be the same file.
        require_no_table(version.content_key, organisation=organisation)
    except Refused:
        raise SpecError(
            f"the public table cannot be used: {NOT_PUBLIC}",
            repair="take a table from where anybody can get it, or leave it out",
        ) from None
    return records.sheet_of(version)


def _of_release(release: Release, *, columns: Mapping[str, str]) -> StatedTable:
    """A table drawn from a release: with a public seed, so that anybody who has the release gets the same."""
    columns_of_table = len(model_cache.model_of(release.code).domain.table_columns)
    most = min(MAX_SAMPLE_ROWS, records.MOST_CELLS // columns_of_table)
    rows = max(1, min(release.sample_rows, most))
    seed = f"prior/{release.code}"
    sheet, sha256 = _sampled(release.code, rows, seed)
    return StatedTable(
        name=release.name,
        published=f"{len(sheet):,} rows of the release {release.code}, drawn with the seed {seed}",
        sha256=sha256,
        release=release.code,
        rows=rows,
        seed=seed,
        columns=dict(columns),
    )


def _sampled_again(
    stated: StatedTable, *, organisation: Organisation
) -> tuple[ReferenceSheet, OwnRelease]:
    release = (
        Release.objects.filter(code=stated.release, dataset__organisation=organisation)
        .only("code", "receipt")
        .first()
    )
    if release is None:
        raise SpecError(
            f"the public table was drawn from the release {stated.release}, which is gone",
            repair="choose another one, or leave it out",
        )
    sheet, sha256 = _sampled(stated.release, stated.rows, stated.seed)
    if sha256 != stated.sha256:
        raise SpecError(
            f"the public table was drawn from the release {stated.release}, which now gives another one",
            repair="submit the run again",
        )
    receipt = release.receipt
    return sheet, OwnRelease(core=receipt["digest"], guarantee=receipt["guarantee"]["sentence"])


@lru_cache(maxsize=SAMPLED_TABLES)
def _sampled(code: str, rows: int, seed: str) -> tuple[ReferenceSheet, str]:
    """A table drawn from the model of a release, as the CSV of a sample with this seed has it; and its
    SHA-256."""
    model = model_cache.model_of(code)
    drawing = Drawing(model=model, rows=rows, seed=seed)
    pieces = [
        table_writers.first_line(model.domain, "csv"),
        *table_writers.pieces(drawing, "csv"),
    ]
    text = b"".join(pieces)
    return read_sheet(text, wanted=read_sheet(text).names), hashlib.sha256(text).hexdigest()
