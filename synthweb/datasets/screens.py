"""What the pages of datasets show, gathered for their templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page
from django.http import QueryDict
from django.urls import reverse

from synth_engine.domain import Domain
from synth_engine.domain.attributes import Attribute
from synth_engine.errors import DomainError
from synth_engine.privacy.unit import Relation
from synthweb.accounts.models import User
from synthweb.datasets import draft as drafts
from synthweb.datasets import grid, selectors
from synthweb.datasets.editing import Outcome
from synthweb.datasets.forms import DocumentForm, Posted
from synthweb.datasets.models import Dataset, DomainVersion, Preview
from synthweb.datasets.selectors import Need
from synthweb.datasets.services.describing import NOT_CONFIRMED, USUAL_TABLE

Status = Dataset.Status
RELATIONS = (
    (
        Relation.ADD_REMOVE.value,
        "Add or remove one",
        "Hides whether somebody is in the table at all. The number of rows is private, so a release counts it with "
        "noise. The usual choice.",
    ),
    (
        Relation.REPLACE_ONE.value,
        "Replace one",
        "Hides what somebody's record says, not that they are in the table. For tables of which everybody knows who is "
        "in them. Counts need twice the noise.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One dataset of the list and where to go on with it."""

    dataset: Dataset
    version: DomainVersion | None
    action: str
    address: str


def crumbs(dataset: Dataset, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Where a page of a dataset stands."""
    return [
        (reverse("datasets:index"), "Datasets"),
        (reverse("pages:dataset", args=[dataset.code]), dataset.name),
        *more,
    ]


def index(user: User, page: Page[Dataset], *, query: str, status: str) -> dict[str, Any]:
    """The list of datasets."""
    kept = urlencode({key: text for key, text in {"q": query, "status": status}.items() if text})
    return {
        "rows": [_row(dataset) for dataset in page],
        "page": page,
        "q": query,
        "status": status,
        "statuses": Status.choices,
        "query": f"{kept}&" if kept else "",
        "uploads": selectors.may_upload(user),
        "crumbs": [("", "Datasets")],
    }


def _row(dataset: Dataset) -> Row:
    version = next(iter(dataset.domain_versions.all()), None)
    match dataset.status:
        case Status.UPLOADED:
            action, name = "See how far it is", "pages:upload-status"
        case Status.REFUSED:
            action, name = "See what to mend", "pages:upload-status"
        case _ if version is None:
            action, name = "Describe", "datasets:describe"
        case _:
            action, name = "Open", "pages:dataset"
    return Row(dataset=dataset, version=version, action=action, address=reverse(name, args=[dataset.code]))


# --- describe ------------------------------------------------------------------------------------------------------
def describe(user: User, dataset: Dataset, query: QueryDict, *, errors: Sequence[DomainError] = ()) -> dict[str, Any]:
    """The describe page. Opens the preview, which the audit log notes."""
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    wanted = query.get("edit", "")
    editing = None if wanted == "all" else {int(text) for text in wanted.split(",") if text.isdecimal()}
    lines = grid.lines(payload=payload, draft=dataset.draft, editing=editing)
    names = [line.name for line in lines]
    shown = _shown(lines, query)
    return {
        "dataset": dataset,
        "crumbs": crumbs(dataset, ("", "Describe")),
        "payload": payload,
        "lines": shown,
        "hidden": len(lines) - len(shown),
        "total": len(lines),
        "open": sum(line.is_open for line in lines),
        "names": names,
        "q": query.get("q", ""),
        "show": query.get("show", ""),
        "kinds": drafts.KINDS,
        "origins": drafts.ORIGINS,
        "errors": [error for error in errors if error.rule != NOT_CONFIRMED],
        "unconfirmed": [error.column for error in errors if error.rule == NOT_CONFIRMED],
        "version": selectors.current_domain(dataset),
        "fixed": selectors.fixed_terms(dataset),
        "table": _table(dataset),
        "relations": RELATIONS,
        "import_form": DocumentForm(),
    }


def _shown(lines: Sequence[grid.Line], query: QueryDict) -> list[grid.Line]:
    """Search without script; the page itself filters as one types."""
    words = query.get("q", "").lower().split()
    found = [line for line in lines if all(word in line.name.lower() for word in words)]
    match query.get("show"):
        case "open":
            return [line for line in found if line.is_open]
        case "wrong":
            return [line for line in found if line.state == "wrong"]
    return found


def _table(dataset: Dataset) -> dict[str, str]:
    """The facts about the whole table: as an account fixed them, else as typed, else the usual."""
    typed = USUAL_TABLE | (dataset.draft.get("table") or {})
    return typed | (selectors.fixed_terms(dataset) or {})


def after_a_press(dataset: Dataset, posted: Posted, outcome: Outcome) -> dict[str, Any]:
    """One line again, after one of its buttons was pressed, and the new count. Opens no preview."""
    index = posted.index if posted.index in posted.names else next(iter(posted.names), 0)
    name = posted.names.get(index, "")
    line = grid.Line(
        index=index,
        name=name,
        suggested=posted.suggested(index) or None,
        typed=drafts.columns(dataset.draft).get(name),
        editing=index in outcome.editing,
    )
    still, total = drafts.open_count(dataset.draft) or (0, 0)  # (0, 0) shows nothing
    return {
        "dataset": dataset,
        "line": line,
        "open": still,
        "total": total,
        "kinds": drafts.KINDS,
        "origins": drafts.ORIGINS,
        "again": True,
    }


def address_after(dataset: Dataset, posted: Posted, outcome: Outcome) -> str:
    """Where a press leads without script: the same page, the same lines open, at the line that was pressed."""
    address = reverse("datasets:describe", args=[dataset.code])
    if outcome.editing:
        address += "?" + urlencode({"edit": ",".join(map(str, sorted(outcome.editing)))})
    return f"{address}#line-{posted.index}" if posted.index is not None else address


# --- a confirmed description ---------------------------------------------------------------------------------------
def domain(user: User, version: DomainVersion) -> dict[str, Any]:
    """One version of a description, for reading."""
    described = Domain.from_json(version.document)
    dataset = version.dataset
    return {
        "dataset": dataset,
        "version": version,
        "crumbs": crumbs(dataset, ("", f"Description, version {version.number}")),
        "domain": described,
        "attributes": [_described(attribute) for attribute in described.attributes],
        "versions": dataset.domain_versions.defer("document").select_related("confirmed_by"),
        "describes": selectors.may(user, dataset, Need.DESCRIBE),
    }


def _described(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "kind": drafts.KINDS[attribute.kind],
        "summary": grid.summary(attribute),
        "labels": attribute.labels if attribute.kind in ("categorical", "boolean") else (),
        "size": attribute.size,
        "missing": ", ".join(marker or "empty cell" for marker in attribute.missing or ()),
        "origins": ", ".join(sorted({origin.replace("-", " ") for origin in attribute.facts.values()})),
    }
