"""What the pages of datasets show, gathered for their templates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain, ScaleBins
from synth_engine.domain.file_form import QUOTING
from synth_engine.errors import DomainError
from synth_engine.formats import DELIMITED, WITH_SCHEMA
from synth_engine.kinds.attribute import Attribute
from synth_engine.plans import domain_learning
from synth_engine.privacy.unit import Relation
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import can
from synthweb.datasets import (
    basis,
    bulk_edit,
    constraining,
    grid,
    hints,
    inputs,
    points,
    selectors,
    stated_records,
)
from synthweb.datasets import draft as drafts
from synthweb.datasets.domain_cache import cited, domain_of, newest
from synthweb.datasets.editing import CHOOSE, EditOutcome
from synthweb.datasets.forms import Posted
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.learned import not_found
from synthweb.datasets.models import Dataset, DomainVersion, Preview
from synthweb.datasets.services.describing import NOT_CONFIRMED
from synthweb.datasets.services.terms import USUAL_TABLE
from synthweb.lib.saved_meanwhile import digest, shown_text

Status = Dataset.Status
LINE_END_LABELS = {
    "lf": _("a line feed, as on Linux and macOS"),
    "crlf": _("carriage return and line feed, as on Windows"),
}
RELATIONS = (
    (
        Relation.ADD_REMOVE.value,
        _("Add or remove one"),
        _(
            "Hides whether somebody is in the table at all. The number of rows is private, so a release "
            "counts it with noise. The usual choice."
        ),
    ),
    (
        Relation.REPLACE_ONE.value,
        _("Replace one"),
        _(
            "Hides what somebody's record says, not that they are in the table. For tables of which "
            "everybody knows who is in them. Counts need twice the noise."
        ),
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
        (reverse("datasets:index"), gettext("Datasets")),
        (reverse("pages:dataset", args=[dataset.code]), dataset.name),
        *more,
    ]


def index(user: User, page: Page[Dataset], *, query: str, status: str) -> dict[str, object]:
    """The list of datasets."""
    filters = urlencode(
        {key: text for key, text in {"q": query, "status": status}.items() if text}
    )
    return {
        "rows": [_row(dataset) for dataset in page],
        "page": page,
        "q": query,
        "status": status,
        "statuses": Status.choices,
        "query": f"{filters}&" if filters else "",
        "uploads": can(user, Need.UPLOAD),
        "crumbs": [("", gettext("Datasets"))],
    }


def _row(dataset: Dataset) -> Row:
    version = next(iter(dataset.domain_versions.all()), None)
    match dataset.status:
        case Status.UPLOADED:
            action, name = gettext("See how far it is"), "pages:upload-status"
        case Status.REFUSED:
            action, name = gettext("See what to mend"), "pages:upload-status"
        case Status.DELETED:
            action, name = "Open", "pages:dataset"
        case _ if version is None:
            action, name = "Describe", "datasets:describe"
        case _:
            action, name = "Open", "pages:dataset"
    return Row(
        dataset=dataset,
        version=version,
        action=action,
        address=reverse(name, args=[dataset.code]),
    )


def _public_rows(dataset: Dataset) -> int | None:
    """About how many records a table has, as far as that is public; never what the file has."""
    return drafts.public_rows(dataset.draft) or dataset.stated_records


NOTHING_UNSAVED: Mapping[str, drafts.Column | None] = {}


# --- describe -----------------------------------------------------------------------------------------------
SHOWN = {
    "open": _("Still open"),
    "asked": _("With a question"),
    "wrong": _("To mend"),
    "typed": _("Typed, not confirmed"),
    "confirmed": _("Confirmed"),
}


def describe(
    user: User,
    dataset: Dataset,
    query: QueryDict,
    *,
    errors: Sequence[DomainError] = (),
    unsaved: Mapping[str, drafts.Column | None] = NOTHING_UNSAVED,
) -> dict[str, object]:
    """The describe page. Opens the preview, which the audit log notes. unsaved: columns that were saved
    otherwise meanwhile, as they were typed here; None of one that was not in its editor."""
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    context_facts = selectors.draft_context(dataset)
    points = context_facts.get("points") or ()
    placed = [each["column"] for each in points if each.get("column")]
    of_fields = [each for each in errors if each.field]
    lines = [
        replace(line, **_as_typed(line, unsaved))
        for line in _lines(dataset, payload, query, placed=placed, errors=of_fields)
    ]
    latest, table = newest(dataset), table_facts(dataset)
    unique = payload.get("unique", ()) if payload else ()
    return {
        "dataset": dataset,
        "crumbs": crumbs(dataset, ("", gettext("Describe"))),
        "payload": payload,
        "first_rows": grid.first_rows(payload) if payload else [],
        "lines": lines,
        "visible": {line.index for line in lines if _is_shown(line, query)},
        **_counts(lines),
        "filters": {key: query.get(key, "")[:200] for key in FILTERS},
        "shown": SHOWN,
        **choices(dataset),
        "said_before": said_before(dataset),
        "form_questions": _form_questions(dataset, payload),
        "held_in_data": _held_in_data(payload),
        "errors": [error for error in errors if error.rule != NOT_CONFIRMED],
        "unconfirmed": [error.column for error in errors if error.rule == NOT_CONFIRMED],
        "undescribed": _undescribed(lines) if query.get("brought") else [],
        "version": latest,
        "versions": dataset.domain_versions.values_list("number", flat=True) if latest else [],
        "templates": selectors.templates_of(user),
        "bands": stated_records.BANDS,
        "fixed": selectors.fixed_terms(dataset),
        "table": table,
        "table_shown": shown_text(table),
        "rules_version": digest(dataset.draft.get("constraints")),
        "tells_nobody_apart": table["unit_column"] in unique,
        "relations": RELATIONS,
        "line_ends": LINE_END_LABELS,
        "quotings": QUOTING,
        "says_form": dataset.file_kind in DELIMITED and "file" not in context_facts,
        "constraints": constraining.lines(dataset.draft),
        "beside": drafts.context_summary(context_facts),
    }


def _lines(
    dataset: Dataset,
    payload: Mapping[str, Any] | None,
    query: QueryDict,
    *,
    placed: Sequence[str],
    errors: Sequence[DomainError],
) -> list[grid.ColumnLine]:
    """The lines of the page, as its address opens and chooses them. placed: columns with public points;
    errors: of fields, whose columns are open to be mended."""
    wanted = query.get("edit", "")
    names = payload["columns"] if payload else list(drafts.columns(dataset.draft))
    to_mend = [names.index(each.column) for each in errors if each.column in names]
    lines = grid.lines(
        payload=payload,
        draft=dataset.draft,
        editing=None if wanted == "all" else numbers(wanted),
        selected=numbers(query.get("select", "")),
        asking=numbers(query.get("ask", "")),
        placed=placed,
    )
    rows = _public_rows(dataset)
    current = to_mend[0] if to_mend else _current(query, lines)
    return [
        replace(
            line,
            current=line.index == current,
            rows=rows,
            editing=line.editing or line.index in to_mend,
            refused=tuple(error for error in errors if error.column == line.name),
        )
        for line in lines
    ]


def _undescribed(lines: Sequence[grid.ColumnLine]) -> list[str]:
    return [line.name for line in lines if line.typed is None]


def _counts(lines: Sequence[grid.ColumnLine]) -> dict[str, object]:
    """What the page says of all columns together."""
    return {
        "selecting": any(line.selected for line in lines),
        "total": len(lines),
        "open": sum(line.is_open for line in lines),
        "count": grid.ColumnCount.of(lines),
        "read_lists": sum(bool(line.read_list) and not line.question for line in lines),
        "needs_statement": any(line.needs_statement for line in lines),
        "names": [line.name for line in lines],
        "bench": sum(line.editing for line in lines) <= 1,
        "lights": [
            (light, f"{LIGHT_SIGNS[light]} {label}", sum(line.light == light for line in lines))
            for light, label in grid.LIGHTS.items()
        ],
    }


FILTERS = ("q", "kind", "show", "light")
LIGHT_SIGNS: dict[str, str] = {
    "fits": "✓",
    "question": "?",
    "kept": "!",
    "unfit": "✖",
}


def _current(query: QueryDict, lines: Sequence[grid.ColumnLine]) -> int | None:
    """The line that is shown whole: the one that was asked for, the only one that is edited or asks, the
    first with a question, or the first open one."""
    for key in ("column", "edit", "ask"):
        chosen = numbers(query.get(key, ""))
        if len(chosen) == 1:
            return min(chosen)
        if chosen:
            return None
    still = [line for line in lines if not line.confirmed]
    asked = [line for line in still if line.question]
    return next((line.index for line in (*asked, *still)), 0)


def is_complete(dataset: Dataset) -> bool:
    """Whether all columns of the table are confirmed."""
    still, total = drafts.open_count(dataset.draft) or (0, 0)
    return total > 0 and still == 0


def choices(dataset: Dataset) -> dict[str, object]:
    """What the inputs of a line, and of several at once, offer, and where they are posted to."""
    return {
        "here": reverse("datasets:describe", args=[dataset.code]),
        "kinds": drafts.KINDS,
        "origins": drafts.ORIGINS,
        "all_missing": bulk_edit.MISSING,
        "all_outside": bulk_edit.OUTSIDES,
        "statement": basis.STATEMENT,
        "longest_statement": basis.MAX_STATEMENT_LENGTH,
    }


def said_before(dataset: Dataset) -> list[str]:
    """What was said of other columns already, to be chosen again."""
    return [each["because"] for each in basis.statements(drafts.columns(dataset.draft))]


def _is_shown(line: grid.ColumnLine, query: QueryDict) -> bool:
    """Search without script; the page itself filters as one types."""
    named = all(word in line.name.lower() for word in query.get("q", "").lower().split())
    show, kind = query.get("show", ""), query.get("kind", "")
    matching = {"open": line.is_open, "asked": bool(line.question)}.get(
        show, line.state == show
    )
    light = query.get("light", "")
    wanted = (show not in SHOWN or matching) and light in ("", line.light)
    return named and wanted and (kind not in drafts.KINDS or line.kind == kind)


def numbers(text: str) -> set[int]:
    """Numbers and runs of them, as `ranges` writes them: "0-3,7"."""
    chosen: set[int] = set()
    for part in text.split(",")[:MAX_LINES]:
        first, _, last = part.partition("-")
        if all(
            end.isascii() and end.isdigit() and len(end) < 7 for end in (first, last or first)
        ):
            chosen.update(
                # From an address that anybody can write: “0-999999” would be a million lines.
                range(int(first), min(int(last or first), int(first) + MAX_LINES) + 1)
            )
    return chosen


MAX_LINES = 2_000
MAX_REMARKS = 50


def ranges(indices: Iterable[int]) -> str:
    """The shortest way to write which lines are meant, for an address."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indices):
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _held_in_data(payload: Mapping[str, Any] | None) -> list[tuple[str, int | None]]:
    """Rules between columns that hold in the table, for the steward who may know where they are written: the
    sentence, and the number of the rule where there is a form for it."""
    hints_by_name = (payload or {}).get("hints") or {}
    remarks = (remark for hint in hints_by_name.values() for remark in hint.get("remarks", ()))
    numbers = {
        rule["sentence"]: number
        for number, rule in enumerate((payload or {}).get("rules") or ())
        if rule["kind"]
    }
    sentences = list(dict.fromkeys(str(remark) for remark in remarks))[:MAX_REMARKS]
    return [(sentence, numbers.get(sentence)) for sentence in sentences]


def held_rule(user: User, dataset: Dataset, number: str) -> Mapping[str, Any] | None:
    """One of those rules, for a form of it that is filled in; None where there is no rule of this number."""
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    rules = (payload or {}).get("rules") or ()
    return next((rule for place, rule in enumerate(rules) if str(place) == number), None)


def rule_form(
    dataset: Dataset,
    kind: str,
    fields: constraining.Typed,
    *,
    error: DomainError | None = None,
) -> dict[str, object]:
    """The form of a rule that was refused, or else is proposed, with what stands in it."""
    chips = constraining.chips(dataset.draft, kind, fields)
    form = {"kind": kind, "fields": fields, "chips": chips, "error": error}
    return {"rule": form | {"proposed": error is None}}


def _form_questions(
    dataset: Dataset, payload: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """What the table's cells leave open about the form of its file, with answers to be sent as they stand."""
    if payload is None or dataset.file_kind in WITH_SCHEMA:
        return []
    return [
        {
            "text": question["text"],
            "columns": question["columns"],
            "choices": [
                (choice["label"], json.dumps(choice["form"], ensure_ascii=False))
                for choice in question["choices"]
            ],
        }
        for question in payload.get("questions") or ()
    ]


def _as_typed(
    line: grid.ColumnLine, unsaved: Mapping[str, drafts.Column | None]
) -> dict[str, Any]:
    """What to show of a line that was saved otherwise meanwhile: what was typed here, beside what is kept."""
    if line.name not in unsaved:
        return {}
    typed = unsaved[line.name]
    shown = line.typed if typed is None else {**typed, "confirmed": False, "whole": True}
    return {"typed": shown, "stored": line.typed, "meanwhile": True}


TABLE_LABELS = {
    "max_records": _("Rows per person, at most"),
    "unit_column": _("Column that identifies people"),
    "relation": _("What an outsider must not learn"),
    "rows": _("Public number of rows"),
    "places": _("Places: two columns with the latitude and longitude of one point"),
    "repeats_column": _("Column that says how many records a row stands for"),
    "repeats_most": _("At most"),
    "quoting": _("Quotation marks around"),
    "line_end": _("A line ends with"),
}


def table_facts(dataset: Dataset) -> dict[str, str]:
    """The facts about the whole table: as an account fixed them, else as typed, else the usual."""
    typed = USUAL_TABLE | (dataset.draft.get("table") or {})
    return typed | (selectors.fixed_terms(dataset) or {})


def after_a_press(
    user: User, dataset: Dataset, posted: Posted, outcome: EditOutcome
) -> dict[str, object]:
    """One line again, after one of its buttons was pressed, and the new counts. The cells beside it are those
    of the preview, whose opening the audit log notes once a sitting."""
    index = posted.index if posted.index in posted.names else next(iter(posted.names), 0)
    name = posted.names.get(index, "")
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    lines = grid.lines(payload=payload, draft=dataset.draft)
    line = replace(
        _line_of(name, index, lines, dataset.draft),
        suggested=_after_answer(posted.suggested(index), outcome.answers.get(name)),
        editing=index in outcome.editing,
        asking=index in outcome.asking,
        current=posted.verb != "shut",
        rows=_public_rows(dataset),
    )
    if index in outcome.meanwhile:
        unsaved = {name: posted.typed(index)}
        line = replace(line, **_as_typed(line, unsaved))
    # In this order: points cost a query, and only a line with very many codes mentions them.
    if line.many and name in selectors.draft_points(dataset):
        line = replace(line, placed=True)
    still, total = drafts.open_count(dataset.draft) or (0, 0)  # (0, 0) shows nothing
    return {
        "dataset": dataset,
        "line": line,
        "open": still,
        "total": total,
        "count": grid.ColumnCount.of(lines),
        **choices(dataset),
        "again": True,
    }


def _line_of(
    name: str, index: int, lines: Sequence[grid.ColumnLine], draft: drafts.Draft
) -> grid.ColumnLine:
    """The line of a column; a bare one where nothing is known of it any more."""
    known = next((line for line in lines if line.name == name), None)
    bare = grid.ColumnLine(
        index=index, name=name, suggested=None, typed=drafts.columns(draft).get(name)
    )
    return replace(known or bare, index=index)


def _after_answer(suggested: drafts.Column | None, answer: str | None) -> drafts.Column | None:
    """A suggestion that the page sent, after this very press answered its question."""
    return (
        suggested if suggested is None or answer is None else hints.answered(suggested, answer)
    )


def line_as_typed(
    user: User, dataset: Dataset, posted: Posted, text: str
) -> grid.ColumnLine | None:
    """A line with what stands in its open editor, kept nowhere, beside real cells."""
    index = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
    typed = None if index is None else posted.typed(index)
    if index is None or typed is None:
        return None
    name = posted.names.get(index, "")
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    lines = grid.lines(payload=payload, draft=dataset.draft)
    return replace(
        _line_of(name, index, lines, dataset.draft),
        suggested=None,
        typed={**typed, "whole": True},
        current=True,
        rows=_public_rows(dataset),
    )


def address_after(
    dataset: Dataset,
    posted: Posted,
    outcome: EditOutcome,
    *,
    query: QueryDict,
    brought: bool = False,
) -> str:
    """Where a press leads without script: the same page, the same lines open, selected and shown, at the line
    that was pressed."""
    address = reverse("datasets:describe", args=[dataset.code])
    parameters = {key: query.get(key, "")[:200] for key in FILTERS}
    parameters |= {"edit": ranges(outcome.editing), "select": ranges(outcome.selected)}
    if posted.verb in ("show", "look") and posted.index is not None:
        parameters["column"] = str(posted.index)
    parameters |= {"ask": ranges(outcome.asking), "brought": "1" if brought else ""}
    if any(parameters.values()):
        address += "?" + urlencode({key: text for key, text in parameters.items() if text})
    # After an answer, the next question is shown.
    if posted.index is None or posted.verb.startswith(CHOOSE):
        return address
    return f"{address}#line-{posted.index}"


def columns_shown(user: User, dataset: Dataset) -> tuple[list[str], bool]:
    """The names of the table's columns, and whether they were read from it, which the audit log notes:
    without a header they are a row. When the preview has expired, the names that somebody declared."""
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    return list(
        payload["columns"] if payload else drafts.columns(dataset.draft)
    ), payload is not None


def point(
    dataset: Dataset, form: points.PointForm, *, names: Sequence[str], real: bool
) -> dict[str, object]:
    """The page of a point: its form, and public points to draw on the map. names: of columns, as
    `columns_shown` has them."""
    return {
        "dataset": dataset,
        "names": names,
        "real": real,
        "crumbs": crumbs(
            dataset,
            (reverse("datasets:describe", args=[dataset.code]), "Describe"),
            ("", "A point"),
        ),
        "form": form,
        "points": points.public_points(selectors.draft_context(dataset)),
    }


def lists(
    user: User, dataset: Dataset, posted: Posted | None, asking: Sequence[int]
) -> dict[str, object]:
    """The page of lists that were read from the table, each with its two answers. posted: what was answered
    so far; asking: lines whose list is said to be public, and not where it is written. Opens the preview,
    which the audit log notes."""
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    every = grid.lines(payload=payload, draft=dataset.draft, asking=asking)
    lines = [line for line in every if line.read_list and not line.question]
    columns = len(lines) + max((line.finding for line in lines), default=0)
    return {
        "dataset": dataset,
        "crumbs": crumbs(
            dataset,
            (reverse("datasets:describe", args=[dataset.code]), gettext("Describe")),
            ("", gettext("Lists")),
        ),
        "lists": [
            (
                line,
                posted is not None and posted.says_public(line.index),
                len(not_found(line.read_list)),
            )
            for line in lines
        ],
        "finishes": sum(not line.confirmed for line in every) == len(lines),
        "finding_percent": f"{100 * float(domain_learning.text_share(max(1, columns))):.2g}",
        "statement": basis.STATEMENT,
        "longest_statement": basis.MAX_STATEMENT_LENGTH,
        "said_before": said_before(dataset),
    }


# --- a confirmed description --------------------------------------------------------------------------------
def domain(user: User, version: DomainVersion) -> dict[str, object]:
    """One version of a description, for reading."""
    described = domain_of(version)
    dataset = version.dataset
    return {
        "dataset": dataset,
        "version": version,
        "crumbs": crumbs(
            dataset,
            ("", gettext("Description, version %(number)s") % {"number": version.number}),
        ),
        "domain": described,
        "beside": drafts.context_summary(version.document),
        "cited": cited(described),
        "attributes": [_described(attribute) for attribute in described.attributes],
        "versions": dataset.domain_versions.defer("document").select_related("confirmed_by"),
        "describes": selectors.may(user, dataset, Need.DESCRIBE),
        # Test data are made from the description in force.
        "draws": newest(dataset) == version and selectors.may(user, dataset, Need.SAMPLE),
        "basis": selectors.basis_of(version),
        "as_suggested": selectors.facts_as_suggested(user, version),
        "equal_facts": _labelled(selectors.equal_facts(user, version), described),
    }


def _labelled(
    facts: Mapping[str, Sequence[str]], described: Domain
) -> list[tuple[str, list[str]]]:
    """Facts of columns by the labels of their inputs."""
    # Of a column that a run learned nobody stated anything.
    kinds = {
        attribute.name: attribute.kind
        for attribute in described.attributes
        if attribute.kind in FORMS
    }
    return [
        (
            name,
            [
                "Kind" if key == "kind" else inputs.of(key, kinds[name], "").label
                for key in keys
            ],
        )
        for name, keys in facts.items()
        if name in kinds
    ]


def _learned_bins(attribute: Attribute) -> str:
    """Where the values of a column on a lattice lie, as a run learned it; empty for any other one."""
    if not isinstance(attribute, ScaleBins):
        return ""
    label, cuts = attribute.lattice.label, attribute.cuts
    return gettext("%(low)s to %(high)s, %(number)s bins") % {
        "low": label(cuts[0]),
        "high": label(cuts[-1] - 1),
        "number": attribute.value_count,
    }


def _described(attribute: Attribute) -> dict[str, object]:
    return {
        "name": attribute.name,
        "kind": drafts.KINDS.get(attribute.kind, drafts.KINDS["scale"]),
        "summary": _learned_bins(attribute) or grid.summary(attribute),
        "labels": attribute.labels if attribute.lists_values else (),
        "size": attribute.size,
        "missing": ", ".join(marker or "empty cell" for marker in attribute.missing or ()),
        "origins": ", ".join(
            sorted({origin.replace("-", " ") for origin in attribute.facts.values()})
        ),
    }
