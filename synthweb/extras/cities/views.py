"""Pages of synthetic cities: bring the documents, choose releases, generate, download, and let it grow."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from synth_engine.errors import InputError
from synth_engine.relational.files import SQL_FILE
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.models import User
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities import services
from synthweb.extras.cities import stages as city_stages
from synthweb.extras.cities.forms import CityArchiveForm, CityDraftForm
from synthweb.extras.cities.models import CityBuild
from synthweb.lib.errors import Refused
from synthweb.releases.downloads import attached
from synthweb.runs import screens

Refusal = (InputError, Refused)
State = CityBuild.State
MEDIA = {
    "zip": "application/zip",
    "sqlite": "application/vnd.sqlite3",
    "sql": "application/sql",
}


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def index(request: SignedInRequest) -> HttpResponse:
    """The cities of who asks, and the way to another one."""
    form = CityArchiveForm(
        request.POST if request.method == "POST" else None,
        request.FILES if request.method == "POST" else None,
    )
    if form.is_valid():
        try:
            build = services.draft(user=request.user, documents=form.cleaned_data["archive"])
            return redirect("cities:city", build.code)
        except Refusal as error:
            form.add_error(None, _words(error))
    context = {"cities": cities.cities_for(request.user), "form": form}
    status = 422 if form.errors else 200
    return render(request, "cities/index.html", context, status=status)


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def city(request: SignedInRequest, code: str) -> HttpResponse:
    """One city: its draft, how far it is, or what was generated."""
    build = cities.city_of(request.user, code)
    form = None
    if build.state in (State.DRAFT, State.FAILED):
        form = _draft_form(request, build)
        if form.is_valid():
            try:
                build = services.edit(
                    user=request.user,
                    build=build,
                    specification=form.cleaned_data["specification"],
                    releases=form.chosen,
                )
                if "generate" in request.POST:
                    services.start(user=request.user, build=build)
                return redirect("cities:city", code)
            except Refusal as error:
                form.add_error(None, _words(error))
    context: dict[str, Any] = {
        "city": build,
        "form": form,
        "stages": screens.job_lines(build, of=city_stages.CITY),
        "tables": [] if build.receipt is None else build.receipt["tables"],
        "sources": [] if build.receipt is None else build.receipt["sources"],
        "exports": cities.exports_of(build),
        "sums": [] if build.receipt is None else build.receipt["sums"],
        "crumbs": [(reverse("cities:index"), gettext("Cities")), ("", build.name)],
    }
    status = 422 if form is not None and form.errors else 200
    return render(request, "cities/city.html", context, status=status)


def _draft_form(request: SignedInRequest, build: CityBuild) -> CityDraftForm:
    posted = request.POST if request.method == "POST" else None
    return CityDraftForm(posted, user=request.user, documents=cities.documents_of(build))


@login_required
@require_POST
def grow(request: SignedInRequest, code: str) -> HttpResponse:
    """A draft of the same city, in which a release can be exchanged."""
    build = cities.city_of(request.user, code)
    try:
        return redirect("cities:city", services.grow(user=request.user, build=build).code)
    except Refusal as error:
        messages.error(request, _words(error))
        return redirect("cities:city", code)


@login_required
@require_POST
def delete(request: SignedInRequest, code: str) -> HttpResponse:
    """Remove a city with its files."""
    build = cities.city_of(request.user, code)
    try:
        services.delete(user=request.user, build=build)
        messages.success(request, _("The city is deleted."))
        return redirect("cities:index")
    except Refused as error:
        messages.error(request, str(error))
        return redirect("cities:city", code)


@login_required
@require_GET
# Tables are generated for their reader: no cache on the way may hold them.
@cache_control(private=True, no_store=True)
def file(request: SignedInRequest, code: str, kind: str) -> HttpResponse:
    """The tables as Parquet in a zip, as SQLite, their DDL, or the receipt."""
    build = cities.city_of(request.user, code)
    try:
        return answer_file(request.user, build, kind)
    except Refused as error:
        messages.error(request, str(error))
        return redirect("cities:city", code)


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def export(request: SignedInRequest, code: str, form: str) -> HttpResponseBase:
    """The files of a city that a program for simulation reads, as a zip."""
    build = cities.city_of(request.user, code)
    try:
        return answer_export(request.user, build, form)
    except Refused as error:
        messages.error(request, str(error))
        return redirect("cities:city", code)


def answer_export(user: User, build: CityBuild, form: str) -> HttpResponseBase:
    """An export of a city as a download. Errors: as `answer_file`."""
    content = cities.export_of(build, form)
    cities.require_sources(user, build)
    response = FileResponse(io.BytesIO(content), content_type=MEDIA["zip"])
    return attached(response, f"city-{build.code}-{form}.zip")


def answer_file(user: User, build: CityBuild, kind: str) -> HttpResponse:
    """A file of a city as a download. Errors: Http404 for none, Refused where a release is not shared any
    more."""
    if build.receipt is None or kind not in (*MEDIA, "json"):
        raise Http404("no such file of this city")
    cities.require_sources(user, build)
    if kind == "json":
        response: HttpResponse = JsonResponse(build.receipt, json_dumps_params={"indent": 1})
    else:
        response = HttpResponse(_content(build, kind), content_type=MEDIA[kind])
    response["Content-Disposition"] = f'attachment; filename="city-{build.code}.{kind}"'
    return response


def _content(build: CityBuild, kind: str) -> bytes:
    stored = CityBuild.objects.only("archive", "database").get(pk=build.pk)
    if kind == "sqlite":
        return bytes(stored.database or b"")
    content = bytes(stored.archive or b"")
    if kind == "zip":
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(SQL_FILE)


def _words(error: InputError | Refused) -> str:
    return error.text if isinstance(error, InputError) else str(error)
