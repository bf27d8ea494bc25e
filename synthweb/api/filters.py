"""Narrowing and sorting of lists: a query is validated like a body, so that a misspelt filter is an error
(400) and not the whole list."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synthweb.api.pagination import LIMIT, OFFSET
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import BudgetRequest, LedgerEntry, Rule
from synthweb.references.models import KINDS
from synthweb.runs.models import SynthesisRun

CREATED = {"since": "created_at__gte", "until": "created_at__lte"}


@extend_schema_field(OpenApiTypes.DATE)
class Day(serializers.DateField):
    """A day in UTC, as the moment at which it begins or ends."""

    def __init__(self, *, at: dt.time, **options: Any) -> None:
        self.at = at
        super().__init__(required=False, input_formats=["iso-8601"], **options)

    def to_internal_value(self, value: Any) -> Any:
        return dt.datetime.combine(super().to_internal_value(value), self.at, dt.UTC)


class Query(StrictSerializer):
    """What may stand behind the question mark of every list. `lookups` says which column each field
    narrows."""

    lookups: ClassVar[dict[str, str]] = {}
    searched: ClassVar[Sequence[str]] = ()
    # Read by the pagination, not here.
    also_allowed = frozenset({LIMIT, OFFSET})

    def narrow(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The rows that the validated query wants, in its order."""
        # A form sends empty fields as well, and they narrow nothing.
        wanted = {name: value for name, value in self.validated_data.items() if value != ""}
        rows = rows.filter(
            **{
                self.lookups[name]: value
                for name, value in wanted.items()
                if name in self.lookups
            }
        )
        for word in wanted.get("q", "").split():
            rows = rows.filter(_any_of(self.searched, word))
        sort = wanted.get("sort")
        # The second key keeps rows of equal value from moving between two pages.
        return rows.order_by(sort, "-pk" if sort.startswith("-") else "pk") if sort else rows


class DatedQuery(Query):
    """… of things that came to be at some time."""

    lookups = CREATED
    since = Day(at=dt.time.min, help_text="From the beginning of this day on, UTC.")
    until = Day(at=dt.time.max, help_text="To the end of this day, UTC.")


class Filtered:
    """A list that takes its `query`; above ListModelMixin, whose hook this is."""

    query: ClassVar[type[Query]] = Query
    request: Any

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = self.query(data=self.request.query_params.dict())
        asked.is_valid(raise_exception=True)
        return asked.narrow(queryset)


def _code(what: str) -> Text:
    return Text(
        required=False, allow_blank=True, max_length=16, help_text=f"Code of the {what}."
    )


def _words(where: str) -> Text:
    return Text(
        required=False, allow_blank=True, max_length=200, help_text=f"Words that {where} hold."
    )


def _sort(*names: str) -> Choice:
    choices = [way + name for name in names for way in ("", "-")]
    return Choice(
        choices=choices,
        required=False,
        help_text="With a minus the largest, last or newest comes first.",
    )


class DatasetQuery(DatedQuery):
    """Which datasets, in which order."""

    lookups = {**CREATED, "state": "status", "account": "coverage__account__code"}
    searched = ("name", "description", "code")
    q = _words("name, description or code")
    state = Choice(choices=Dataset.Status.choices, required=False)
    account = _code("budget account")
    sort = _sort("created_at", "name", "status")


class BudgetRequestQuery(DatedQuery):
    """Which budget requests, in which order."""

    lookups = {
        **CREATED,
        "dataset": "dataset__code",
        "account": "account__code",
        "state": "state",
        "rule": "rule",
    }
    dataset = _code("dataset")
    account = _code("budget account")
    state = Choice(choices=BudgetRequest.State.choices, required=False)
    rule = Choice(choices=Rule.choices, required=False)
    sort = _sort("created_at", "decided_at", "state")


class AccountQuery(DatedQuery):
    """Which budget accounts, in which order."""

    lookups = {**CREATED, "dataset": "coverages__dataset__code", "rule": "rule"}
    searched = ("name", "code")
    q = _words("name or code")
    dataset = _code("dataset")
    rule = Choice(choices=Rule.choices, required=False)
    sort = _sort("created_at", "name")


class EntryQuery(DatedQuery):
    """Which entries of a ledger, in which order."""

    lookups = {
        "since": "at__gte",
        "until": "at__lte",
        "kind": "kind",
        "dataset": "dataset_code",
        "run": "run_code",
    }
    kind = Choice(choices=LedgerEntry.Kind.choices, required=False)
    dataset = _code("dataset")
    run = _code("run")
    sort = _sort("sequence")


class AuditQuery(DatedQuery):
    """Which deeds, in which order."""

    lookups = {
        "since": "at__gte",
        "until": "at__lte",
        "actor": "actor",
        "action": "action",
        "object_kind": "object_kind",
        "object": "object_code",
    }
    actor = Text(required=False, max_length=150, help_text="Username; or worker, system.")
    action = Text(required=False, max_length=64, help_text="Such as run.submitted.")
    object_kind = Text(required=False, max_length=32, help_text="Such as dataset or release.")
    object = Text(required=False, max_length=32, help_text="Code of the object.")
    sort = _sort("sequence")


class RunQuery(DatedQuery):
    """Which runs, in which order."""

    lookups = {
        **CREATED,
        "dataset": "dataset__code",
        "state": "state",
        "mechanism": "spec__mechanism",
    }
    searched = ("name", "dataset__name", "code")
    q = _words("name, dataset or code")
    dataset = _code("dataset")
    mechanism = Text(
        required=False, allow_blank=True, max_length=64, help_text="An id of /mechanisms/."
    )
    state = Choice(choices=SynthesisRun.State.choices, required=False)
    sort = _sort("created_at", "finished_at", "name", "state")


class ReferenceQuery(DatedQuery):
    """Which reference tables, in which order."""

    lookups = {**CREATED, "name": "name", "kind": "kind"}
    searched = ("name", "published", "code")
    q = _words("name, place of publication or code")
    name = Text(required=False, allow_blank=True, max_length=200, help_text="The whole name.")
    kind = Choice(
        choices=tuple(KINDS.items()), required=False, help_text="Of the newest version."
    )
    sort = _sort("created_at", "name")


class EventQuery(DatedQuery):
    """Which lines of a run's log, in which order."""

    lookups = {"since": "at__gte", "until": "at__lte"}
    sort = _sort("at")


class ReleaseQuery(DatedQuery):
    """Which releases, in which order."""

    lookups = {**CREATED, "dataset": "dataset__code", "mechanism": "mechanism"}
    searched = ("name", "description", "code")
    q = _words("name, description or code")
    dataset = _code("dataset")
    mechanism = Text(
        required=False, allow_blank=True, max_length=64, help_text="An id of /mechanisms/."
    )
    sort = _sort("created_at", "name", "epsilon")


class SampleQuery(DatedQuery):
    """Which of your samples of a release, in which order."""

    sort = _sort("created_at", "rows")


class GrantQuery(DatedQuery):
    """Which shares of a release, in which order."""

    sort = _sort("created_at")


def _any_of(columns: Sequence[str], word: str) -> Q:
    condition = Q()
    for column in columns:
        condition |= Q(**{f"{column}__icontains": word})
    return condition
