"""Reading datasets: every function here fetches and authorises in one step.

What somebody may do to a dataset follows from their roles in the organisation that holds it. To strangers,
analysts among them (who see shared releases, never datasets), a dataset does not exist.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db.models import Prefetch, Q, QuerySet
from django.http import Http404
from django.utils import timezone

from synthweb.accounts import selectors as people
from synthweb.accounts.permissions import Need
from synthweb.audit import labels
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.datasets import files, hints, preview_store, sealed_names
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.draft import Column
from synthweb.datasets.models import (
    DatabaseTable,
    DatabaseVersion,
    Dataset,
    DescriptionTemplate,
    DomainBasis,
    DomainVersion,
    DraftFacts,
    LearnedDescription,
    PartialUpload,
    Preview,
    RunTable,
    TableVersion,
)
from synthweb.lib.errors import Gone

logger = logging.getLogger(__name__)
SITTING = datetime.timedelta(minutes=30)
"""How long one entry of the audit log stands for openings of the same first rows by the same person."""
MAX_POINTS = 8
"""Columns with public points that are looked for: no tree takes more coordinates."""


def may(user: people.Person, dataset: Dataset, need: Need) -> bool:
    """Whether `user` may do that."""
    if dataset.is_deleted and need.of_table:
        return False
    roles = people.roles_of(user) & need.roles
    return bool(roles) and people.organisation_of(user).pk == dataset.organisation_id


def dataset_for(user: people.Person, code: str, need: Need = Need.VIEW) -> Dataset:
    """The dataset, or 404 to strangers, or PermissionDenied to colleagues without the role. Of a deleted
    dataset there is nothing left to work with: 404 too."""
    datasets = Dataset.objects.select_related("organisation", "steward").filter(code=code)
    dataset = datasets.defer("draft").first()  # it may be megabytes, and most pages do without
    if dataset is None or not may(user, dataset, Need.VIEW):
        raise Http404("no such dataset")
    if not may(user, dataset, need):
        if dataset.is_deleted and need.roles & people.roles_of(user):
            raise Http404("this dataset was deleted")
        raise PermissionDenied
    return dataset


def learned_of(dataset: Dataset) -> QuerySet[LearnedDescription]:
    """What runs have learned once for all releases of a dataset, the newest first; the caller authorised."""
    return dataset.purchases.select_related("version").order_by("-pk")


def upload_for(user: people.Person, code: str) -> PartialUpload:
    """An unfinished upload of this person, or one that has become a table.

    Errors: 404 to everybody else, in the same organisation as well; PermissionDenied to who may not upload
    any more; Gone for one that has ended.
    """
    people.require(user, Need.UPLOAD)
    upload = (
        PartialUpload.objects.select_related("dataset")
        .filter(code=code, person__pk=user.pk or 0, organisation=people.organisation_of(user))
        .first()
    )
    if upload is None:
        raise Http404("no such upload")
    if not upload.is_open and upload.state != PartialUpload.State.STORED:
        raise gone()
    return upload


def gone() -> Gone:
    """The one text for an upload that is over."""
    return Gone("this upload has ended or expired", repair="begin another one")


def uploads_of(user: people.Person) -> list[PartialUpload]:
    """The uploads of this person that may go on, newest first."""
    people.require(user, Need.UPLOAD)
    return list(unfinished_uploads(user).filter(organisation=people.organisation_of(user)))


def unfinished_uploads(user: people.Person) -> QuerySet[PartialUpload]:
    """The uploads of a person that may go on, in whichever organisation they were begun."""
    return PartialUpload.objects.filter(
        person__pk=user.pk or 0,
        state=PartialUpload.State.OPEN,
        expires_at__gt=timezone.now(),
    )


def datasets_of(
    user: people.Person, *, search: str = "", status: str = "", deleted: bool = False
) -> QuerySet[Dataset]:
    """Every dataset that `user` may view, newest first, with the latest description number prefetched.
    Deleted ones are left out unless `deleted`, or their status, is asked for."""
    people.require(user, Need.VIEW)
    datasets = Dataset.objects.filter(organisation=people.organisation_of(user)).select_related(
        "organisation", "steward"
    )
    for word in search.split():
        datasets = datasets.filter(
            Q(name__icontains=word) | Q(description__icontains=word) | Q(code__startswith=word)
        )
    if status:
        datasets = datasets.filter(status=status)
    elif not deleted:
        datasets = datasets.exclude(status=Dataset.Status.DELETED)
    latest = Prefetch("domain_versions", DomainVersion.objects.defer("document"))
    return datasets.defer("draft").prefetch_related(latest).order_by("-created_at", "pk")


def current_domain(dataset: Dataset) -> DomainVersion | None:
    """The description in force: the one confirmed last."""
    return dataset.domain_versions.order_by("-number").first()


def domain_version_for(
    user: people.Person, code: str, number: int, need: Need = Need.VIEW
) -> DomainVersion:
    """One confirmed description of a dataset that `user` may view."""
    version = dataset_for(user, code, need).domain_versions.filter(number=number).first()
    if version is None:
        raise Http404("no such description")
    return version


def _is_sitting(user: people.Person, preview: Preview) -> bool:
    """Whether the log says already that this person opened this very object within `SITTING`: one sitting on
    the describe page loads it again and again. The first look is always written, and so is the first one
    after each interval."""
    now = timezone.now()
    opened = AuditEntry.objects.filter(
        actor=user.get_username(),
        action=labels.PREVIEW,
        object_kind="dataset",
        object_code=preview.dataset.code,
        at__gt=now - SITTING,
        # An entry from a clock that was ahead must not keep later openings out of the log.
        at__lte=now,
        detail__preview=preview.code,
    )
    return opened.exists()


def suggestions_were_shown(dataset: Dataset) -> bool:
    """Whether somebody has opened suggestions that were read from its data. That is no fact about the
    data."""
    opened = AuditEntry.objects.filter(
        action=labels.PREVIEW, object_kind="dataset", object_code=dataset.code
    )
    return opened.exists()


def comparison_was_opened(dataset: Dataset) -> bool:
    """Whether somebody has opened a comparison with its real table, or with another upload of the very same
    one."""
    codes = [dataset.code, *same_content(dataset).values_list("code", flat=True)]
    # The log is complete: its entry is written before a comparison is decrypted.
    opened = AuditEntry.objects.filter(
        action=labels.REPORT, object_kind="dataset", object_code__in=codes
    )
    return opened.exists()


def suggestions_to_count(dataset: Dataset) -> dict[str, Column] | None:
    """The suggestions for its columns, as its steward answered them, to count with; None when they have
    expired or cannot be opened. Callers show them to nobody, so the audit log has no entry of it."""
    stored = preview_store.latest(dataset, Preview.Kind.TABLE, "")
    if stored is None:
        return None
    try:
        return hints.suggested_columns(preview_store.read(stored), dataset.draft)
    except files.StorageError:
        return None


def reader_of(dataset: Dataset) -> int | None:
    """The version of the rules by which its suggestions were made; None where there are none."""
    stored = preview_store.latest(dataset, Preview.Kind.TABLE, "")
    try:
        reader = None if stored is None else preview_store.read(stored).get("reader")
    except files.StorageError:
        return None
    return reader if isinstance(reader, int) else None


def basis_of(version: DomainVersion) -> DomainBasis | None:
    """On what a description rests; None for one from before that was recorded."""
    return DomainBasis.objects.filter(version=version).first()


def facts_as_suggested(
    user: people.Person, version: DomainVersion
) -> tuple[int | None, int] | None:
    """How many facts of a description equal a suggestion read from the data, and of how many: for those who
    describe it and those who grant budget for it. None for others, and where it was not recorded."""
    basis = basis_of(version)
    if basis is None or not (
        may(user, version.dataset, Need.SHARE) or may(user, version.dataset, Need.GRANT)
    ):
        return None
    return basis.facts_as_suggested, basis.facts


def equal_facts(user: people.Person, version: DomainVersion) -> dict[str, list[str]]:
    """Which facts of a description equal a suggestion, inputs by column, for those who see their number; else
    nothing."""
    counted, basis = facts_as_suggested(user, version), basis_of(version)
    return {} if counted is None or basis is None else dict(basis.equal_facts)


def templates_of(user: people.Person) -> QuerySet[DescriptionTemplate]:
    """The templates of `user`'s organisation, for its stewards."""
    people.require(user, Need.DESCRIBE)
    templates = DescriptionTemplate.objects.filter(organisation=people.organisation_of(user))
    templates = templates.select_related("organisation", "version__dataset", "made_by")
    return templates.defer("version__document", "version__dataset__draft")


def template_for(user: people.Person, code: str) -> DescriptionTemplate:
    """One of them, or 404."""
    template = templates_of(user).filter(code=code).first()
    if template is None:
        raise Http404("no such template")
    return template


def fixed_terms(dataset: Dataset) -> dict[str, str] | None:
    """Whom the budget account of this dataset protects, as the draft spells it; None before one pays for
    it."""
    try:
        account = dataset.coverage.account
    except ObjectDoesNotExist:
        return None
    return {
        "max_records": str(account.max_records),
        "unit_column": account.unit_column,
        "unit_spelling": account.unit_spelling,
        "relation": account.relation,
        "invariants": ", ".join(account.invariants),
    }


def same_content(dataset: Dataset) -> QuerySet[Dataset]:
    """Other datasets of the organisation that have, or once had, the very same table inside, oldest first;
    deleted ones too, because deleting a table does not give back what was learned from it."""
    keys = {dataset.content_key, *dataset.tables.values_list("content_key", flat=True)}
    same = holding(keys, organisation_id=dataset.organisation_id).exclude(pk=dataset.pk)
    return same.order_by("created_at", "pk")


def draft_context(dataset: Dataset) -> dict[str, Any]:
    """What its draft says beside columns: points, partitions, totals. Asks the database each time: it may
    have megabytes."""
    facts = DraftFacts.objects.filter(dataset=dataset).values_list("facts", flat=True).first()
    return dict(facts or {})


def draft_points(dataset: Dataset) -> frozenset[str]:
    """Columns of its draft whose codes have public points. The points themselves stay in the database."""
    each = [f"facts__points__{place}__column" for place in range(MAX_POINTS)]
    facts = DraftFacts.objects.filter(dataset=dataset).values_list(*each).first()
    return frozenset(filter(None, facts or ()))


def holding(content_keys: Iterable[str], *, organisation_id: int) -> QuerySet[Dataset]:
    """Datasets of an organisation that have, or once had, one of these tables inside; deleted ones too."""
    # An empty key means that the content is not known, not that it is the same.
    keys = set(content_keys) - {""}
    datasets = Dataset.objects.filter(Q(content_key__in=keys) | Q(tables__content_key__in=keys))
    # The join has a row for each version, and a dataset may hold the same content twice.
    return datasets.filter(organisation_id=organisation_id).distinct()


def tables_of(dataset: Dataset) -> QuerySet[TableVersion]:
    """Every version of its table, newest first."""
    return dataset.tables.select_related("uploaded_by").order_by("-number")


def earlier_files(dataset: Dataset) -> QuerySet[TableVersion]:
    """Its earlier versions whose files are kept while the one in force is ready: of each there is a
    release."""
    files = dataset.tables.filter(erased_at=None).exclude(number=dataset.table_number)
    return files if dataset.status == Dataset.Status.READY else files.none()


def table_of_run(run_code: str) -> TableVersion | None:
    """The version of the table that a run was submitted for; None if there is no such run."""
    run_table = tables_of_run(run_code).first()
    return run_table.table if run_table else None


def file_of_run(dataset: Dataset, run_code: str) -> TableVersion:
    """The version of a dataset's table that a run was submitted for: where the file is, and how it is
    read."""
    return tables_of_run(run_code).get(table__dataset=dataset).table


def tables_of_run(run_code: str) -> QuerySet[RunTable]:
    """The versions of all tables that a run was submitted for: one, unless it is of a database."""
    return (
        RunTable.objects.select_related("table__dataset")
        .filter(run_code=run_code)
        .order_by("pk")
    )


def vouchers_of_run(run_code: str) -> str:
    """Who vouches for formulas in the tables of a run, as it was submitted; empty where nobody has to."""
    forms = (row.table.dialect or {} for row in tables_of_run(run_code))
    return ", ".join(
        dict.fromkeys(form["vouched_by"] for form in forms if form.get("vouched_by"))
    )


def database_tables(root: Dataset) -> list[DatabaseTable]:
    """The tables of the database below a dataset, itself first; none where it has no others."""
    rows = DatabaseTable.objects.filter(root=root).select_related("dataset")
    return sorted(rows, key=lambda row: (not row.is_root, row.dataset.created_at, row.pk))


def root_above(dataset: Dataset) -> Dataset | None:
    """The root of the database that a dataset is a further table of; None of a root, and of a dataset by
    itself."""
    row = DatabaseTable.objects.select_related("root").filter(dataset=dataset).first()
    return None if row is None or row.is_root else row.root


def roots_that_had(tables: Iterable[Dataset]) -> list[Dataset]:
    """The roots of all databases of which one of these was ever a further table: as it is typed, or as it was
    confirmed once."""
    wanted = {table.code: table.organisation_id for table in tables}
    typed = DatabaseTable.objects.filter(dataset__code__in=wanted).select_related("root")
    roots = {row.root_id: row.root for row in typed if not row.is_root}
    confirmed = DatabaseVersion.objects.filter(root__organisation__in=set(wanted.values()))
    for version in confirmed.select_related("root").only("root", "datasets"):
        if wanted.keys() & set(version.datasets.values()) - {version.root.code}:
            roots[version.root_id] = version.root
    return list(roots.values())


def database_rests_on_suggestions(root: Dataset) -> bool:
    """Whether suggestions that were read from the data had been opened before the description of one of its
    tables was confirmed."""
    return DomainBasis.objects.filter(
        version__dataset__database_table__root=root, suggestions_shown=True
    ).exists()


def database_has_ranges_after_looking(root: Dataset) -> bool:
    """Whether a range of the description of one of its tables was changed after a look at its real values."""
    bases = DomainBasis.objects.filter(version__dataset__database_table__root=root)
    return bases.exclude(ranges_after_looking=[]).exists()


def newest_database(root: Dataset) -> DatabaseVersion | None:
    """The description of its database that was confirmed last."""
    return DatabaseVersion.objects.filter(root=root).order_by("-number").first()


def missing_columns(dataset: Dataset) -> list[str]:
    """Columns that the description in force needs and the table in force has not: names that were
    declared."""
    version, names = newest(dataset), columns_of(dataset)
    if version is None or names is None:
        return []
    domain = domain_of(version)
    further = [domain.unit.column, domain.repeats.column if domain.repeats else None]
    described = [*(one.name for one in domain.attributes), *filter(None, further)]
    return [name for name in dict.fromkeys(described) if name not in names]


def refusal_for(user: people.Person, dataset: Dataset) -> dict[str, Any] | None:
    """Why its table was refused. Line and column are for whoever may see the table: where it is depends on
    the rows, and nobody has described the column."""
    if dataset.status != Dataset.Status.REFUSED or dataset.refusal is None:
        return None
    refusal = {key: dataset.refusal.get(key) for key in ("rule", "repair")}
    if not may(user, dataset, Need.REAL):
        return {**refusal, "line": None, "column": None}
    column = sealed_names.column_of(dataset.refusal)
    return {**refusal, "line": dataset.refusal_line, "column": column}


def dialect_for(user: people.Person, dataset: Dataset) -> dict[str, object] | None:
    """How its CSV is written. Until a description confirms it, that is a guess from rows: for whoever may see
    them."""
    # `all()`, not `exists()`: lists of datasets have prefetched it.
    if dataset.dialect is None or may(user, dataset, Need.REAL):
        return sealed_names.opened(dataset.dialect)
    if not len(dataset.domain_versions.all()):
        return None
    version = newest(dataset)
    described = (
        set() if version is None else {one.name for one in domain_of(version).attributes}
    )
    # A name that nobody described may be a cell: of a file without a header, or a key of one record.
    form = sealed_names.opened(dataset.dialect) or {}
    names = [name for name in form.get("names", []) if name in described]
    return {**form, "names": names, "sheet": ""}


def preview_exists(
    dataset: Dataset, kind: str = Preview.Kind.TABLE, subject: str = ""
) -> Preview | None:
    """Whether an unexpired steward object lies in the store that our key opens, without opening it."""
    preview = preview_store.latest(dataset, kind, subject)
    return preview if preview is not None and preview_store.opens(preview) else None


def columns_of(dataset: Dataset) -> list[str] | None:
    """The names of the table's columns, to check a description against; None when they are not known: the
    table was not read yet, or what the worker wrote can no longer be opened.

    They are form and not content, so no log entry; they are still kept out of the database, because the
    header of a table that was uploaded without one is a row. Not to be shown: callers name only columns that
    somebody declared."""
    stored = preview_store.latest(dataset, Preview.Kind.COLUMNS, "")
    if stored is None:
        return None
    try:
        return list(preview_store.read(stored)["columns"])
    except files.StorageError:
        return None


def form_evidence(user: people.Person, dataset: Dataset) -> dict[str, object] | None:
    """The context of questions about a file's form, to whoever may see the table: first lines, and words in
    the possible encodings. Its opening is in the audit log."""
    asked = (dataset.dialect or {}).get("asked")
    if (
        not asked
        or dataset.status != Dataset.Status.REFUSED
        or not may(user, dataset, Need.REAL)
    ):
        return None
    return preview_for(user, dataset, Preview.Kind.TABLE, preview_store.FORM)


def preview_for(
    user: people.Person, dataset: Dataset, kind: str, subject: str = ""
) -> dict[str, Any] | None:
    """Open a steward object. The audit log says who opened what before anything is decrypted: each opening of
    a comparison, and of first rows and suggestions one entry for a sitting.

    None when there is none, it has expired, or the key for it was lost. PermissionDenied unless `user` may
    see real data of this dataset.
    """
    if not may(user, dataset, Need.REAL):
        raise PermissionDenied
    preview = preview_store.latest(dataset, kind, subject)
    if preview is None:
        return None
    if kind == Preview.Kind.REPORT or not _is_sitting(user, preview):
        audit.record(
            actor=user,
            action="report.opened" if kind == Preview.Kind.REPORT else "preview.opened",
            target=("dataset", dataset.code),
            organisation=dataset.organisation,
            detail={
                "preview": preview.code,
                **({"release": subject} if kind == Preview.Kind.REPORT and subject else {}),
            },
        )
    try:
        return preview_store.read(preview)
    except files.StorageError as problem:  # costs the steward another reading, and nothing else
        logger.error("preview %s cannot be opened: %s", preview.code, problem)
        return None
