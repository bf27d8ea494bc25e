"""Pages of runs: ask for one, watch it, cancel it; and the job that compares a release with the real data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from synth_engine.domain import Domain
from synth_engine.errors import InputError, PrivacyError
from synthweb.accounts import reauthentication
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import require
from synthweb.datasets import selectors as datasets
from synthweb.datasets import stated_records
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import Dataset, Preview
from synthweb.ledger import selectors as ledger
from synthweb.ledger import yearly_limits
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import fragments
from synthweb.lib.errors import Conflict, Refused, sentence
from synthweb.lib.previews import limited
from synthweb.releases import marginals, plausible
from synthweb.releases import screens as release_screens
from synthweb.releases import selectors as releases
from synthweb.runs import (
    choices_file,
    databases,
    errors,
    notices,
    planning,
    public_tables,
    purchases,
    purpose,
    release_plan,
    screens,
    selectors,
    services,
    silence,
)
from synthweb.runs.estimate import Estimate, estimate, takes_large_share
from synthweb.runs.extras import Extras
from synthweb.runs.forms import TABLE_FIELDS, ReleaseForm
from synthweb.runs.models import (
    CountsJob,
    ImplicatesJob,
    RangesJob,
    SynthesisRun,
    TableJob,
)

STOP_POLLING = 286  # htmx: swap this answer in and ask no more


# --- a new release ------------------------------------------------------------------------------------------
@gzip_page  # public facts; a token of a form is masked by another number in each answer
@login_required
@require_http_methods(["GET", "POST"])
@limited
def new(request: SignedInRequest, code: str) -> HttpResponse:
    """Choices on the left, what they mean on the right; nothing is spent before the button, and twice above
    half."""
    dataset = datasets.dataset_for(request.user, code, Need.SPEND)
    try:
        version, account = planning.basis(dataset)
    except errors.NotReady as missing:
        return render(
            request, "runs/not_ready.html", screens.frame(dataset) | {"missing": missing}
        )
    domain = domain_of(version)
    again = _again(request, domain)
    brought, fault = _brought(request, domain)
    usual = screens.suggested(ledger.balance(account), domain, release_plan.plan_of(account))
    usual |= stated_records.initial(dataset)
    suggested = {**usual, **again.choices, **brought}
    form = _form(request, again, domain=domain, suggested=suggested, account=account)
    estimate = _estimate(request, form, dataset)
    if form.is_pressed and estimate and form.nothing_pending():
        # Confirmed is the digest of a plan: what changed after
        # the question is asked about again.
        if estimate.dear and form.cleaned_data["confirmed"] != estimate.digest:
            return render(
                request,
                "runs/confirm.html",
                screens.frame(dataset) | {"form": form, "estimate": estimate},
            )
        if takes_large_share(estimate.bars) and (question := reauthentication.ask(request)):
            return question
        if run := _submit(request, form, dataset):
            return redirect("runs:run", run.code)
    context = screens.new_release(dataset, form, estimate, domain=domain) | again.shown
    context |= {"choices_fault": fault, "brought": bool(brought)}
    return render(request, "runs/new.html", context)


def _again(request: SignedInRequest, domain: Domain) -> screens.Again:
    """The choices of the run that the address names: of one to ask for again, or of the one before it over
    years."""
    before = request.GET.get("next", "")
    code = before or request.GET.get("like", "")
    like = selectors.run_for(request.user, code) if code else None
    return screens.again(request.user, like, domain, follows=bool(before))


def _form(
    request: SignedInRequest,
    again: screens.Again,
    *,
    domain: Domain,
    suggested: dict[str, Any],
    account: BudgetAccount,
) -> ReleaseForm:
    """The form as it was sent, or as it begins; a file of choices begins it, too."""
    is_sent = request.method == "POST" and "choices" not in request.FILES
    return ReleaseForm(
        request.POST if is_sent else None,
        domain=domain,
        tables=public_tables.offered(request.user, again.table),
        earmarks=yearly_limits.usable_earmarks(account),
        **suggested,
    )


def _brought(request: SignedInRequest, domain: Domain) -> tuple[dict[str, Any], str]:
    """The choices of a file that was sent to begin the form with, and what is wrong with it."""
    file = request.FILES.get("choices")
    if file is None:
        return {}, ""
    try:
        return choices_file.initial_of(file.read(choices_file.MAX_BYTES + 1), domain), ""
    except InputError as error:
        return {}, error.text


def _earmarks(dataset: Dataset) -> list[yearly_limits.EarmarkBalance]:
    """The parts of the budget of a dataset that its runs may name; none where it has no budget."""
    account = planning.account_of(dataset)
    return [] if account is None else yearly_limits.usable_earmarks(account)


@login_required
@require_POST
@limited
def preview(request: SignedInRequest, code: str) -> HttpResponse:
    """What the choices so far mean, for the right side as they move. Writes nothing."""
    dataset = datasets.dataset_for(request.user, code, Need.SPEND)
    form = ReleaseForm(
        request.POST,
        domain=planning.described(dataset),
        tables=public_tables.offered(request.user),
        earmarks=_earmarks(dataset),
    )
    context = {
        "form": form,
        "estimate": _estimate(request, form, dataset),
        "dataset": dataset,
        # Another method has other parameters.
        "swapped": request.POST.get("parameters_of", form.chosen) != form.chosen,
        "edited": bool(request.POST.get(purpose.EDIT)),
        "by_htmx": True,
    }
    return render(request, "runs/_estimate.html", context)


def _estimate(request: SignedInRequest, form: ReleaseForm, dataset: Dataset) -> Estimate | None:
    """The estimate of what is typed, or of the suggestions before anything is; errors go to the form."""
    page_form = form
    if not form.is_bound:
        form = form.as_suggested()
    if not form.is_valid():
        return None
    asked = form.cleaned_data
    domain = planning.described(dataset)
    if domain and planning.known_rows(dataset, domain, stated=asked["records"]) is None:
        form.add_error("records_band", stated_records.REQUIRED)
        page_form.lacks_records = True
        return None
    try:
        proposal = _asked(request, form, dataset).propose()
        return estimate(proposal)
    except InputError as error:
        form.refuse(error)
    except (PrivacyError, Refused) as error:
        field = getattr(error, "field", None)
        form.add_error(field if field in TABLE_FIELDS else None, str(error))
    return None


def _asked(
    request: SignedInRequest, form: ReleaseForm, dataset: Dataset
) -> planning.ReleaseRequest:
    asked = form.cleaned_data
    facts = planning.PublicFacts(
        rows=asked["records"],
        table=public_tables.resolve(request.user, asked["table"]),
        criteria=asked["criteria"],
        earmark=asked.get("earmark", ""),
    )
    return planning.ReleaseRequest(dataset=dataset, spec=asked["spec"], facts=facts)


def _submit(
    request: SignedInRequest, form: ReleaseForm, dataset: Dataset
) -> SynthesisRun | None:
    """The run; or nothing and the reason in the form, which keeps what was typed."""
    asked = form.cleaned_data
    try:
        return services.submit(
            _asked(request, form, dataset),
            steward=request.user,
            name=asked["name"],
            request_key=_request_key(dataset, asked),
        )
    except (InputError, PrivacyError, Refused) as error:
        field = getattr(error, "field", None)
        shown = field if field == "earmark" and field in form.fields else None
        form.add_error(shown, str(error))
        return None


def _request_key(dataset: Dataset, asked: dict[str, Any]) -> str:
    """Of this press of the button: the same form sent again is the same request, the form gone back to and
    changed is another one."""
    key = asked["request_key"]
    table = asked["table"]
    request = [key, dataset.code, asked["name"], asked["spec"].to_json()]
    request += [] if table is None else [table.value, dict(table.columns)]
    request += [criterion.to_json() for criterion in asked["criteria"]]
    request += [asked["earmark"]] if asked.get("earmark") else []
    canonical = json.dumps(request, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest() if key else ""


# --- a run --------------------------------------------------------------------------------------------------
@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """Every run of the organisation, filtered, sorted and in pages."""
    runs = selectors.filtered(selectors.runs_for(request.user), request.GET)
    if request.GET.get("seen") == "no":
        runs = selectors.unseen_of(runs, request.user)
    return render(request, "runs/index.html", screens.run_list(runs, request.GET))


@login_required
@require_GET
def notice(request: SignedInRequest) -> HttpResponse:
    """How many of one's own runs have ended since one looked; asked for by every page while one is under
    way."""
    require(request.user, Need.SPEND)
    # Opened by hand there is nothing to see but a number.
    if not fragments.asked_by_page(request):
        return redirect(f"{reverse('runs:index')}?seen=no")
    return render(request, "runs/_notice.html", {"notice": notices.notice(request.user)})


@login_required
@require_POST
def seen(request: SignedInRequest) -> HttpResponse:
    """All of one's own runs that have ended count as seen."""
    require(request.user, Need.SPEND)
    notices.see(user=request.user)
    return redirect("runs:index")


@login_required
@require_GET
def run(request: SignedInRequest, code: str) -> HttpResponse:
    """One run: the whole page, or its moving part when the page asks again."""
    run = selectors.run_for(request.user, code)
    notices.see(user=request.user, pk=run.pk)
    context = screens.run(run, may_act=datasets.may(request.user, run.dataset, Need.SPEND))
    context |= {"silence": silence.of_run(run, request.GET)}
    if not request.headers.get("HX-Request"):
        return render(request, "runs/run.html", context)
    if run.is_open:
        return render(request, "runs/_live.html", context)
    context |= {"by_htmx": True, "notice": notices.notice(request.user)}
    return render(request, "runs/_live.html", context, status=STOP_POLLING)


@login_required
@require_GET
def choices(request: SignedInRequest, code: str) -> HttpResponse:
    """The choices of a run as a file that can be kept and used again."""
    run = selectors.run_for(request.user, code)
    is_other = databases.is_of_database(run) or purchases.is_purchase(run)
    if run.checks or run.link_side or is_other:
        raise Http404("this run has no choices of one table")
    response = JsonResponse(choices_file.document_of(run), json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="{run.code}-choices.json"'
    return response


@login_required
@require_http_methods(["GET", "POST"])
def cancel(request: SignedInRequest, code: str) -> HttpResponse:
    """Says what cancelling forfeits; then does it."""
    run = selectors.run_for(request.user, code, act=True)
    if request.method == "GET" and run.is_open:
        return render(request, "runs/cancel.html", screens.run(run, may_act=True))
    try:
        services.cancel(actor=request.user, run=run)
    except errors.NotOpen as error:
        messages.warning(request, str(error))
    return redirect("runs:run", code)


@login_required
@require_POST
def resume(request: SignedInRequest, code: str) -> HttpResponse:
    """Fit again from stored noisy answers; costs nothing."""
    run = selectors.run_for(request.user, code, act=True)
    try:
        services.resume(actor=request.user, run=run)
    except errors.NotOpen as error:
        messages.warning(request, str(error))
    return redirect("runs:run", code)


# --- the comparison with real data --------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "POST"])
def report(request: SignedInRequest, code: str) -> HttpResponse:
    """Ask for a comparison, and watch it being made; the release's own page shows it."""
    release = releases.release_for(request.user, code, Need.COMPARE, tables="any")
    posted = request.POST if request.method == "POST" else None
    form = release_screens.comparison_form(release, posted)
    if request.method == "POST" and form.is_valid():
        try:
            services.request_report(
                release=release, actor=request.user, extras=Extras(**form.cleaned_data)
            )
        except Conflict as refusal:
            messages.warning(request, sentence(refusal))
        return redirect("runs:report", code)
    job = selectors.latest_job(
        kind=TableJob.Kind.REPORT, dataset=release.dataset, release=release
    )
    working = job is not None and job.is_open
    asking_again = bool(request.headers.get("HX-Request"))
    stored = datasets.preview_exists(release.dataset, Preview.Kind.REPORT, release.code)
    if not working and stored and not form.is_bound:
        return _go(reverse("releases:compare", args=[code]), by_htmx=asking_again)
    if not working and asking_again:
        return _go(request.path, by_htmx=True)
    page = "releases/_waiting.html" if asking_again else "releases/compare_ask.html"
    return render(request, page, screens.report(request.user, release, job, form))


# --- expected ranges ----------------------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def ranges(request: SignedInRequest, code: str) -> HttpResponse:
    """Have the expected ranges of a release computed, and watch it; the release's own page shows them. The
    first look asks for them: it reads released documents alone. After a failure a person asks again."""
    release = releases.release_for(request.user, code, Need.SAMPLE)
    if request.method == "POST":
        services.request_ranges(release=release)
        return redirect("runs:ranges", code)
    asking_again = bool(request.headers.get("HX-Request"))
    waits = screens.Waiting.of(request.GET) if asking_again else None
    if waits is not None and waits.has_arrived(release):
        return HttpResponseClientRefresh()  # the page is loaded again with what it lacked
    if waits is None and screens.Waiting.whole().has_arrived(release):
        return _go(reverse("releases:expected", args=[code]), by_htmx=asking_again)
    job = selectors.latest_of_release(RangesJob, release)
    if job is None or job.state == RangesJob.State.FINISHED:
        job = services.request_ranges(release=release)
    if asking_again and not job.is_open and waits is None:
        return _go(request.path, by_htmx=True)
    page = "releases/_waiting.html" if asking_again else "releases/expected_wait.html"
    page = "releases/_look_waiting.html" if waits is not None else page
    return render(request, page, screens.ranges(request.user, release, job) | {"waits": waits})


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def counts(request: SignedInRequest, code: str) -> HttpResponse:
    """Have the noisy answers of a release gathered for tables of counts and regressions, and watch it; the
    release's own page shows what the address asks for: a regression if it names an outcome, else a table.
    After a failure a person asks again."""
    release = releases.release_for(request.user, code, Need.SAMPLE)
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    if request.method == "POST":
        # The worker of sensitive tables does it: nobody may have it done over and over.
        may_gather = selectors.may_try_again(CountsJob, release)
        if may_gather and not marginals.is_ready(release):
            services.request_counts(release=release)
        return redirect(f"{reverse('runs:counts', args=[code])}{query}")
    asking_again = bool(request.headers.get("HX-Request"))
    card = "fits" if "outcome" in request.GET else "marginals"
    if marginals.is_ready(release):
        address = f"{reverse(f'releases:{card}', args=[code])}{query}"
        return _go(address, by_htmx=asking_again)
    job = selectors.latest_of_release(CountsJob, release)
    if job is None or job.state == CountsJob.State.FINISHED:
        job = services.request_counts(release=release)
    if asking_again and not job.is_open:
        return _go(request.get_full_path(), by_htmx=True)
    page = "releases/_waiting.html" if asking_again else "releases/marginals_wait.html"
    return render(request, page, screens.counts(request.user, release, job, card=card))


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def implicates(request: SignedInRequest, code: str) -> HttpResponse:
    """Have several plausible tables of a release made, and watch it; then its files have them. Somebody asks,
    each time."""
    release = releases.release_for(request.user, code, Need.SAMPLE)
    if request.method == "POST":
        # The worker of sensitive tables does it: nobody may have it done over and over.
        may_make = selectors.may_try_again(ImplicatesJob, release)
        if may_make and not plausible.is_ready(release):
            services.request_implicates(release=release)
        return redirect("runs:implicates", code)
    asking_again = bool(request.headers.get("HX-Request"))
    job = selectors.latest_of_release(ImplicatesJob, release)
    if plausible.is_ready(release) or job is None:
        return _go(reverse("releases:files", args=[code]), by_htmx=asking_again)
    if asking_again and not job.is_open:
        return _go(request.path, by_htmx=True)
    page = "releases/_waiting.html" if asking_again else "releases/implicates_wait.html"
    context = screens.implicates(request.user, release, job) | {
        "may_make_again": selectors.may_try_again(ImplicatesJob, release)
    }
    return render(request, page, context)


def _go(address: str, *, by_htmx: bool) -> HttpResponse:
    """Have the browser open another page, also from a request that would only swap a part of this one."""
    return HttpResponse(headers={"HX-Redirect": address}) if by_htmx else redirect(address)
