"""Pages of a release of several tables: its tables with synthetic rows, its files, and its comparison. Every
view's first line fetches and authorises."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from synth_engine.domain.database import DatabaseTable
from synth_engine.errors import InputError
from synth_engine.relational import files
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.releases import chain, databases, screens, selectors, signals
from synthweb.releases.downloads import attached, busy_page, file_name
from synthweb.releases.models import Release
from synthweb.releases.slots import Slot, TooManyDrawings


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """One table of a database with its first synthetic rows."""

    table: DatabaseTable
    max_records: int
    columns: list[str]
    keys: list[str]
    rows: list[list[str | None]]


@login_required
@require_GET
def database(request: SignedInRequest, code: str) -> HttpResponse:
    """The tables with a hundred synthetic rows each, and how they are connected."""
    release = _release(request, code)
    signals.opened.send(sender=type(release), release=release, user=request.user)
    described, look = databases.database_of(release), databases.look_of(release)
    context = screens.frame(request.user, release, card="database") | {
        "tables": [
            ShownTable(
                table=table,
                max_records=described.max_records(table),
                **look[table.name],  # type: ignore[arg-type]
            )
            for table in described.tables
        ],
        "database": described,
        "looked": chain.is_after_looking(release),
    }
    return render(request, "releases/cards/database.html", context)


@login_required
@require_GET
def database_files(request: SignedInRequest, code: str) -> HttpResponse:
    """All tables as files."""
    release = _release(request, code)
    context = screens.frame(request.user, release, card="database-files")
    return render(request, "releases/cards/database_files.html", context)


@login_required
@require_GET
def measured(request: SignedInRequest, code: str) -> HttpResponse:
    """Which tables were counted together, and what for."""
    release = _release(request, code)
    context = screens.frame(request.user, release, card="database-measured") | {
        "views": databases.views_of(release)
    }
    return render(request, "releases/cards/database_measured.html", context)


@login_required
@require_GET
# Tables are drawn with their reader's own seed: no cache on the way may hold them.
@cache_control(private=True, no_store=True)
def download(request: SignedInRequest, code: str, form: str) -> HttpResponseBase:
    """All tables in one file: CSV or Parquet in a ZIP archive with the SQL that creates them, or SQLite."""
    release = _release(request, code)
    if form not in databases.FORMS:
        raise Http404("no such form of a database")
    try:
        asked = request.GET.get("rows", "")
        units = databases.units_of(release, int(asked) if asked.isdecimal() else None)
        with Slot(request.user.pk):
            file = databases.write(user=request.user, release=release, units=units, form=form)
    except InputError as error:
        raise Http404(error.rule) from None
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    databases.note_download(user=request.user, release=release, units=units, form=form)
    name = file_name(release, what=f"tables-{form}", ending=databases.FORMS[form].strip("."))
    return attached(FileResponse(file), name)


@login_required
@require_GET
def schema(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The SQL that creates the tables with their keys."""
    release = _release(request, code)
    text = files.ddl(databases.database_of(release))
    response = HttpResponse(text, content_type="application/sql; charset=utf-8")
    return attached(response, file_name(release, what="schema", ending="sql"))


def compare(request: SignedInRequest, release: Release) -> HttpResponse:
    """Beside the real tables, over joins; the caller has authorised, and opening it is written to the audit
    log."""
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    if report is None:
        return redirect("runs:report", release.code)
    context = screens.frame(request.user, release, card="compare") | {
        "report": report,
        "ask_url": reverse("runs:report", args=[release.code]),
    }
    return render(request, "releases/cards/database_compare.html", context)


def _release(request: SignedInRequest, code: str) -> Release:
    release = selectors.release_for(request.user, code, Need.SAMPLE, tables="any")
    if not databases.is_database(release):
        raise Http404("this release has one table")
    return release
