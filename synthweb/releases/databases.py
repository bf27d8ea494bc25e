"""Releases of databases: several tables that keys connect. How one is published, and how its tables are
drawn.

It is a `Release` as that of one table is, so that it is shared, licensed, listed and paid for alike: its
dataset is the root, its `rows` are those of the root, its receipt and model are those of a database. Pages
that read the model of one table do not open it (`selectors.release_for`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any, BinaryIO

import pandas as pd
from django.db import transaction

from synth_engine import codec, verifier
from synth_engine.domain.database import Database, DatabaseTable
from synth_engine.domain.views import views
from synth_engine.errors import SpecError
from synth_engine.evaluation.expected import expected_distance
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import atto, nano
from synth_engine.relational import files
from synth_engine.relational import plan as plans
from synth_engine.relational import receipt as database_receipts
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.model import DatabaseModel
from synth_engine.relational.plan import MECHANISM, DatabasePlan
from synth_engine.strict_json import JsonObject
from synth_engine.verifier import Verified
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import selectors as datasets
from synthweb.ledger import selectors as budget
from synthweb.releases import chain, services
from synthweb.releases.models import Release
from synthweb.releases.services import Origin

SHOWN_ROWS = 100
MAX_UNITS = 1_000_000
"""Rows of the root that a download may have."""
FORMS = {"csv": ".zip", "parquet": ".zip", "sqlite": ".sqlite"}
"""What a database can be downloaded as, and how the name of the file ends."""
_LOOK, _EXPECTED = "look", "expected_errors"


@transaction.atomic
def publish(
    *,
    origin: Origin,
    plan: DatabasePlan,
    answers: DatabaseAnswers,
    model: DatabaseModel,
    shown: Mapping[str, JsonObject],
) -> Release:
    """Make the release of a run from its noisy answers; called once a run, under the run's fence. shown: its
    first rows."""
    document = model.to_json()
    stated = {"model_sha256": receipts.digest(document)}
    if origin.chosen_after_looking:
        stated["chosen_after_looking"] = "true"
    if datasets.database_rests_on_suggestions(origin.dataset):
        stated["suggestions_shown"] = "true"
    if datasets.database_has_ranges_after_looking(origin.dataset):
        stated["ranges_after_looking"] = "true"
    if vouchers := datasets.vouchers_of_run(origin.run_code):
        stated["formulas_vouched_by"] = vouchers
    if budget.outside_of(origin.account).exists():
        stated["outside_guarantee"] = "true"
    receipt = database_receipts.build(plan, answers, post_processing=stated)
    release = Release.objects.create(
        dataset=origin.dataset,
        account=origin.account,
        domain_version=origin.domain_version,
        run_code=origin.run_code,
        name=origin.name,
        mechanism=MECHANISM,
        epsilon=nano(plan.epsilon),
        delta=atto(plan.delta),
        rows=model.units,
        sample_rows=model.units,
        receipt=receipt,
        model=document | {_LOOK: dict(shown), _EXPECTED: _expected_errors(model, receipt)},
        created_by=origin.created_by,
    )
    services.record_publication(release)
    return release


def _expected_errors(model: DatabaseModel, receipt: Mapping[str, Any]) -> JsonObject:
    """Of the views of tables, the mean expected error of their columns: from model and receipt alone, and so
    safe to show."""
    of_views: JsonObject = {}
    receipts_of_views = {
        each["mechanism"]["parameters"]["view"]: each for each in receipt["views"]
    }
    for view in views(model.database):
        if view.kind != "table":
            continue
        measured = receipts_of_views[view.name]
        columns = model.database.table(view.table).domain.names
        errors = [
            expected_distance(model.models[view.name], measured["calls"], column)
            for column in columns
        ]
        known = [error for error in errors if error is not None]
        if known:
            of_views[view.name] = round(fmean(known), 6)
    return of_views


def is_database(release: Release) -> bool:
    """Whether a release is of several tables."""
    return release.mechanism == MECHANISM


def first_rows(model: DatabaseModel) -> dict[str, JsonObject]:
    """The first rows of each table as texts, the same for everybody."""
    frames = model.tables(min(SHOWN_ROWS, model.units), seed="look")
    return {table.name: _texts(table, frames[table.name]) for table in model.database.tables}


def _texts(table: DatabaseTable, frame: pd.DataFrame) -> JsonObject:
    keys = list(table.key_columns)
    head = frame.head(SHOWN_ROWS)
    texts = pd.concat([head[keys].astype(str), codec.as_text(table.domain, head)], axis=1)
    return {"columns": list(texts.columns), "keys": keys, "rows": texts.values.tolist()}


def look_of(release: Release) -> dict[str, JsonObject]:
    """The first rows of each table, as they were generated with the release."""
    look: dict[str, JsonObject] = release.model[_LOOK]
    return look


def model_of(release: Release) -> DatabaseModel:
    """The model of a release of a database."""
    return DatabaseModel.from_json(release.model)


def database_of(release: Release) -> Database:
    """The tables of a release and how they are connected."""
    return Database.from_json(release.model["database"])


def units_of(release: Release, asked: int | None) -> int:
    """How many rows of the root are generated: as many as asked for, or as the release has. Errors:
    SpecError."""
    units = min(release.sample_rows, MAX_UNITS) if asked is None else asked
    if not 1 <= units <= MAX_UNITS:
        raise SpecError(
            f"a database has from 1 to {MAX_UNITS:,} rows of its root table",
            repair="ask for a number in between",
        )
    return units


def write(*, user: User, release: Release, units: int, form: str) -> BinaryIO:
    """The tables as one file, drawn with this person's own seed of the release: the same each time. It is
    gone once it is closed."""
    model = model_of(release)
    frames = model.tables(units, seed=services.own_seed(user=user, release=release))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"database{FORMS[form]}"
        files.write(
            model.database, frames, path, form="parquet" if form == "parquet" else "csv"
        )
        return path.open("rb")


def note_download(*, user: User, release: Release, units: int, form: str) -> None:
    """Write to the audit log that tables are drawn."""
    audit.record(
        actor=user,
        action="sample.requested",
        target=("release", release.code),
        organisation=release.dataset.organisation,
        detail={"rows": units, "form": form},
    )


def verify(release: Release) -> Verified:
    """Recompute the guarantee from the calls about all views; the receipt has to be of the tables of the
    model. Errors: VerificationError."""
    receipt = chain.receipt_of(release)
    return verifier.verify_database(
        receipt, tables=database_of(release).digest, head=chain.head_of(release)
    )


def plan_digest(receipt: Mapping[str, Any]) -> str:
    """The digest of the plan of a database, as the ledger has it, from what the receipt says."""
    return plans.digest_of_receipt(receipt)


@dataclass(frozen=True, kw_only=True)
class MeasuredView:
    """What was counted of a database, from its receipt. max_records: of one privacy unit; calls: how many;
    share: of the budget; expected_error: the mean of the columns of a table, as a total variation distance;
    None where it is not known."""

    name: str
    max_records: int
    calls: int
    share: float
    expected_error: float | None


def views_of(release: Release) -> list[MeasuredView]:
    """The views that a release measured, with their parts of the budget."""
    receipt, expected = release.receipt, release.model.get(_EXPECTED, {})
    caps = [Fraction(next(iter(each["plan"]["cap"].values()))) for each in receipt["views"]]
    return [
        MeasuredView(
            name=each["mechanism"]["parameters"]["view"],
            max_records=each["unit"]["max_records"],
            calls=len(each["calls"]),
            share=float(cap / sum(caps)),
            expected_error=expected.get(each["mechanism"]["parameters"]["view"]),
        )
        for each, cap in zip(receipt["views"], caps, strict=True)
    ]
