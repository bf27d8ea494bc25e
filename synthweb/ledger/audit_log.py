"""The pages of the audit log: all of it, of one table, of one person, and who looked at real rows; each as a
file too."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from synthweb.accounts import selectors as accounts
from synthweb.accounts.permissions import Need
from synthweb.audit import chain, labels
from synthweb.ledger import audit_lines, downloads, export, filters, log_access
from synthweb.ledger.log_access import Part
from synthweb.lib import fragments

ENTRIES_A_PAGE = 50


@require_safe
@never_cache
@login_required
def page(request: HttpRequest) -> HttpResponse:
    return _page(request, log_access.whole_log(request.user))


@require_safe
@never_cache
@login_required
def real_rows(request: HttpRequest) -> HttpResponse:
    return _page(request, log_access.real_rows(request.user))


@require_safe
@never_cache
@login_required
def of_dataset(request: HttpRequest, code: str) -> HttpResponse:
    return _page(request, log_access.of_dataset(request.user, code))


@require_safe
@never_cache
@login_required
def of_person(request: HttpRequest, username: str) -> HttpResponse:
    return _page(request, log_access.of_person(request.user, username))


@require_GET
@never_cache
@login_required
def page_entries(request: HttpRequest, kind: str) -> HttpResponseBase:
    return _file(request, log_access.whole_log(request.user), kind)


@require_GET
@never_cache
@login_required
def real_rows_entries(request: HttpRequest, kind: str) -> HttpResponseBase:
    return _file(request, log_access.real_rows(request.user), kind)


@require_GET
@never_cache
@login_required
def of_dataset_entries(request: HttpRequest, code: str, kind: str) -> HttpResponseBase:
    return _file(request, log_access.of_dataset(request.user, code), kind)


@require_GET
@never_cache
@login_required
def of_person_entries(request: HttpRequest, username: str, kind: str) -> HttpResponseBase:
    return _file(request, log_access.of_person(request.user, username), kind)


@require_GET
@never_cache
@login_required
def chain_status(request: HttpRequest) -> HttpResponse:
    accounts.require(request.user, Need.LOG)
    context = {"verdict": chain.verify()}
    crumbs = [(reverse("ledger:audit"), gettext("Audit log"))]
    return fragments.render_fragment(
        request,
        "ledger/_chain.html",
        context,
        title=gettext("Chain of the audit log"),
        crumbs=crumbs,
    )


def _page(request: HttpRequest, part: Part) -> HttpResponse:
    narrow = _filter(request, part)
    shown = Paginator(narrow.narrow(part.log), ENTRIES_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "part": part,
        "narrow": narrow,
        "query": narrow.query,
        "page": shown,
        "deeds": audit_lines.lines(shown),
        "reads_all": log_access.may_read_all(request.user),
    }
    return render(request, "audit/log.html", context)


def _file(request: HttpRequest, part: Part, kind: str) -> HttpResponseBase:
    narrow = _filter(request, part)
    if not narrow.is_valid():
        return downloads.refused(narrow)
    return export.of_log(
        narrow.narrow(part.log), name=part.name, kind=kind, filters=narrow.chosen
    )


def _filter(request: HttpRequest, part: Part) -> filters.AuditFilter:
    actions = labels.choices(
        # order_by() removes the order by sequence, which would make every row distinct.
        list(part.log.order_by().values_list("action", flat=True).distinct())
    )
    return filters.AuditFilter(request.GET, actions=actions, without=part.without)
