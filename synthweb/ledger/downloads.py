"""What auditors take away with them: signed checkpoints, the public key, and the program that checks
everything elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from synth_engine.privacy.signing import SignedDocument
from synthweb.accounts import selectors as accounts
from synthweb.accounts.permissions import Need
from synthweb.ledger import checkpoints, export, selectors, verify_ledger
from synthweb.ledger.errors import ChainBroken
from synthweb.lib.signatures import NoSigningKey

CHECKER = Path(verify_ledger.__file__)


@require_GET
@never_cache
@login_required
def head(request: HttpRequest, code: str) -> HttpResponse:
    account = selectors.account_for(request.user, code)
    try:
        return _file(checkpoints.of_account(account), name=f"head-{account.code}")
    except (ChainBroken, NoSigningKey) as problem:
        return _unsigned(request, problem)


@require_GET
@never_cache
@login_required
def audit_head(request: HttpRequest) -> HttpResponse:
    accounts.require(request.user, Need.LOG)
    try:
        return _file(checkpoints.of_audit_log(), name="head-audit")
    except (ChainBroken, NoSigningKey) as problem:
        return _unsigned(request, problem)


@require_GET
@never_cache
@login_required
def everything(request: HttpRequest) -> HttpResponseBase:
    try:
        return export.of_everything(request.user)
    except (ChainBroken, NoSigningKey) as problem:
        return _unsigned(request, problem)


@require_GET
@login_required
def public_key(request: HttpRequest) -> HttpResponse:
    # Refuses people without an organisation; everybody else may have the key.
    accounts.organisation_of(request.user)
    try:
        answer = HttpResponse(checkpoints.public_key(), content_type="application/x-pem-file")
    except NoSigningKey as problem:
        return _unsigned(request, problem)
    answer["Content-Disposition"] = 'attachment; filename="signing.pub"'
    return answer


@require_GET
@login_required
def checker(_request: HttpRequest) -> HttpResponse:
    # The module's own file, so that auditors take away the very text that is tested.
    answer = HttpResponse(CHECKER.read_bytes(), content_type="text/x-python; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{CHECKER.name}"'
    return answer


def refused(form: forms.Form) -> HttpResponse:
    """A download whose filters are wrong: better none than a wider one than somebody thinks."""
    lines = [
        f"{form.fields[name].label if name in form.fields else name}: {' '.join(map(str, errors))}"
        for name, errors in form.errors.items()
    ]
    return HttpResponse(
        "\n".join(lines) + "\n", status=400, content_type="text/plain; charset=utf-8"
    )


def _file(document: SignedDocument, *, name: str) -> HttpResponse:
    answer = HttpResponse(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        content_type="application/json",
    )
    answer["Content-Disposition"] = (
        f'attachment; filename="{name}-{document["statement"]["length"]}.json"'
    )
    return answer


def _unsigned(request: HttpRequest, problem: Exception) -> HttpResponse:
    status = 409 if isinstance(problem, ChainBroken) else 503
    return render(
        request,
        "ledger/unsigned.html",
        {"problem": problem, "broken": status == 409},
        status=status,
    )
