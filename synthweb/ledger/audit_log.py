"""The audit log as auditors read it. It lives here because the audit app lies below people and their roles."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from synthweb.accounts import selectors as accounts
from synthweb.accounts.models import Role
from synthweb.accounts.selectors import Person
from synthweb.audit import chain
from synthweb.audit.models import AuditEntry
from synthweb.ledger import forms
from synthweb.ledger.amounts import typed
from synthweb.lib.letters import in_letters

ENTRIES_A_PAGE = 50


def log_for(user: Person) -> QuerySet[AuditEntry]:
    """The deeds of the auditor's organisation, newest first; PermissionDenied for everybody else."""
    accounts.require_role(user, Role.AUDITOR)
    return AuditEntry.objects.filter(organisation_code=accounts.organisation_of(user).code).order_by("-sequence")


def may_read(user: Person) -> bool:
    """Whether `user` is an auditor."""
    return accounts.has_role(user, Role.AUDITOR)


def narrowed(
    log: QuerySet[AuditEntry], *, action: str = "", actor: str = "", object_code: str = "", oldest_first: bool = False
) -> QuerySet[AuditEntry]:
    """The entries that fit every filter given."""
    wanted = {"action": action, "actor": actor, "object_code": object_code}
    found = log.filter(**{name: value for name, value in wanted.items() if value})
    return found.order_by("sequence") if oldest_first else found


def facts(entry: AuditEntry) -> list[tuple[str, str]]:
    """The detail of an entry as words; what is empty is left out, hashes are shortened."""
    return [_fact(name, value) for name, value in entry.detail.items() if value not in ("", [], {})]


def _fact(name: str, value: Any) -> tuple[str, str]:
    """Integers of the ledger, such as `epsilon_nano`, read as amounts."""
    currency, _, step = name.rpartition("_")
    if step in ("nano", "atto") and isinstance(value, int):
        return in_letters(currency.replace("_", " ")), typed(currency.rpartition("_")[2], value)
    return name.replace("_", " "), _words(value)


def _words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_words(item) for item in value)
        case str() if len(value) == 64 and set(value) <= set("0123456789abcdef"):
            return f"{value[:12]}…"
    return str(value)


@require_safe
@never_cache
@login_required
def page(request: HttpRequest) -> HttpResponse:
    log = log_for(request.user)
    actions = sorted(log.order_by().values_list("action", flat=True).distinct())
    form = forms.AuditFilterForm(request.GET, actions=actions)
    chosen = form.cleaned_data if form.is_valid() else {}
    found = narrowed(
        log,
        action=chosen.get("action", ""),
        actor=chosen.get("actor", ""),
        object_code=chosen.get("object", ""),
        oldest_first=chosen.get("order") == "oldest",
    )
    shown = Paginator(found, ENTRIES_A_PAGE).get_page(request.GET.get("page"))
    query = "".join(f"{urlencode({name: value})}&" for name, value in chosen.items() if value)
    return render(
        request,
        "audit/log.html",
        {"form": form, "page": shown, "lines": [(entry, facts(entry)) for entry in shown], "query": query},
    )


@require_GET
@never_cache
@login_required
def chain_status(request: HttpRequest) -> HttpResponse:
    accounts.require_role(request.user, Role.AUDITOR)
    return render(request, "ledger/_chain.html", {"verdict": chain.verify()})
