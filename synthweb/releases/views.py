"""Pages of releases. Every view's first line fetches and authorises."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from synth_engine.codec.workbook import MAX_ROWS
from synth_engine.errors import InputError, SpecError
from synth_engine.evaluation import style, view
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.lib import fragments
from synthweb.lib.errors import Refused
from synthweb.lib.previews import limited
from synthweb.releases import (
    beside,
    chain,
    citation,
    criteria_page,
    database_views,
    databases,
    evidence,
    exact_criteria,
    expected,
    findings,
    look_page,
    maps,
    measurements,
    model_cache,
    paid,
    screens,
    selectors,
    services,
    signals,
    tables,
    trees,
)
from synthweb.releases import groups as published
from synthweb.releases import marginals as counts
from synthweb.releases import network as networks
from synthweb.releases import workload_report as purposes
from synthweb.releases.downloads import busy_page
from synthweb.releases.forms import (
    DescribeForm,
    EditionForm,
    LicenceForm,
    SampleForm,
    ShareForm,
)
from synthweb.releases.licences import LicenceChoice
from synthweb.releases.slots import TooManyDrawings

PAGE = 25


@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """Every release that this person may see, filtered, sorted and in pages."""
    asked = {name: request.GET.get(key, "") for name, key in screens.FILTERS}
    releases = selectors.releases_for(request.user, **asked)
    context = screens.release_list(request.user, releases, request.GET)
    return render(request, "releases/index.html", context)


@login_required
@require_GET
@gzip_page  # as of a look
def side_by_side(request: SignedInRequest) -> HttpResponse:
    """Two to four releases that this person may draw from, one line a column, from stored documents of models alone."""
    page = beside.page_of(request.user, request.GET)
    return render(request, "releases/side_by_side.html", {"page": page, "most": beside.MOST})


@login_required
@require_http_methods(["GET", "POST"])
def release(request: SignedInRequest, code: str) -> HttpResponse:
    """Overview: the promise in words, what it is made of; stewards give it a name and a description."""
    need = Need.SHARE if request.method == "POST" else Need.VIEW
    release = selectors.release_for(request.user, code, need, tables="any")
    if databases.is_database(release):
        may_draw = selectors.may(request.user, release, Need.SAMPLE)
        return redirect(f"releases:{'database' if may_draw else 'receipt'}", code)
    # `runs` marks the end of the run as seen; releases do not import the apps above them.
    signals.opened.send(sender=type(release), release=release, user=request.user)
    form = DescribeForm(
        request.POST or None, stored={"name": release.name, "description": release.description}
    )
    if request.method == "POST" and form.is_valid():
        services.describe(actor=request.user, release=release, **form.cleaned_data)
        return redirect("releases:release", code)
    context = (
        screens.frame(request.user, release, tab="release")
        | screens.overview(release)
        | {"form": form}
    )
    return render(request, "releases/release.html", context)


@login_required
@require_GET
@gzip_page  # thousands of synthetic cells; a token of a form is masked by another number in each answer
def look(request: SignedInRequest, code: str) -> HttpResponse:
    """A hundred synthetic rows and what is in each column: the first page for everybody who may draw samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE, tables="any")
    if databases.is_database(release):
        return redirect("releases:database", code)
    signals.opened.send(sender=type(release), release=release, user=request.user)
    context = (
        screens.frame(request.user, release, tab="look")
        | screens.look(release)
        | {"page": look_page.page_of(release, request.GET)}
    )
    return render(request, "releases/look.html", context)


@login_required
@require_GET
def criteria(request: SignedInRequest, code: str) -> HttpResponse:
    """What had to hold, as it was stated before the run, and what private and paid figures say of it."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, tab="criteria") | {
        "page": criteria_page.page_of(release),
        "may_spend": datasets.may(request.user, release.dataset, Need.SPEND),
    }
    return render(request, "releases/criteria.html", context)


@login_required
@require_POST
def void_check(request: SignedInRequest, code: str, check_code: str) -> HttpResponse:
    """State that the figures of a check or of a validation are not to be used, for stewards."""
    release = selectors.release_for(request.user, code, Need.SHARE)
    check = paid.any_check_of(release, check_code)
    try:
        services.void_check(
            actor=request.user, check=check, reason=request.POST.get("reason", "")
        )
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("The figures are void. What they cost stays spent."))
    return redirect("runs:validation" if check.is_validation else "releases:paid", code)


@login_required
@require_GET
def paid_figures(request: SignedInRequest, code: str) -> HttpResponse:
    """Figures that were measured with budget, for whoever may draw samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, tab="paid") | {
        "page": paid.page_of(release),
        "may_spend": datasets.may(request.user, release.dataset, Need.SPEND),
        "may_void": selectors.may(request.user, release, Need.SHARE),
    }
    return render(request, "releases/paid.html", context)


@login_required
@require_GET
def network(request: SignedInRequest, code: str) -> HttpResponse:
    """Which columns are drawn from which, for whoever may see the release."""
    release = selectors.release_for(request.user, code)
    context = screens.frame(request.user, release, tab="network") | {
        "network": networks.network_of(release)
    }
    return render(request, "releases/network.html", context)


@login_required
@require_GET
def measured(request: SignedInRequest, code: str) -> HttpResponse:
    """Which columns were counted together, how finely and with how much noise, for whoever may see the release."""
    release = selectors.release_for(request.user, code)
    shown = measurements.measured(release) if measurements.shows(release) else None
    context = screens.frame(request.user, release, tab="measured") | {
        "measured": shown,
        "triples": findings.triples(release),
        "larger_groups": findings.larger_groups(release),
    }
    return render(request, "releases/measured.html", context)


@login_required
@require_GET
def expected_ranges(request: SignedInRequest, code: str) -> HttpResponse:
    """Figures of single columns with the bands that the noise leaves, from model and receipt alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    page = expected.page(release)
    if page is None:
        return redirect("runs:ranges", code)
    context = screens.frame(request.user, release, tab="expected") | {"expected": page}
    return render(request, "releases/expected.html", context)


@login_required
@require_GET
def marginals(request: SignedInRequest, code: str) -> HttpResponse:
    """Any table of counts of up to eight columns with intervals, from noisy answers and the model alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    try:
        page = counts.page_of(release, request.GET, person=request.user.pk)
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    except counts.NotGathered:
        making = reverse("runs:counts", args=[code])
        return redirect(f"{making}?{request.GET.urlencode()}")
    context = screens.frame(request.user, release, tab="marginals") | {"page": page}
    return render(request, "releases/marginals.html", context)


@login_required
@require_GET
def tree(request: SignedInRequest, code: str) -> HttpResponse:
    """The tree of the model: its depths, maps of its places, beginnings of its texts, its classes."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, tab="tree") | {
        "page": trees.page(release, request.GET),
        "at": request.GET.get("at", ""),
    }
    return render(request, "releases/tree.html", context | {"query": request.GET.urlencode()})


@login_required
@require_GET
def groups(request: SignedInRequest, code: str) -> HttpResponse:
    """The published table of groups with noisy counts, the largest first."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, tab="groups") | {
        "page": published.page(release)
    }
    return render(request, "releases/groups.html", context)


@login_required
@require_GET
def map_of(request: SignedInRequest, code: str) -> HttpResponse:
    """How far records go, on maps, from the model alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, tab="map") | {
        "page": maps.page(release, request.GET)
    }
    return render(request, "releases/map.html", context)


@login_required
@require_GET
@never_cache
@limited
def compare_map(request: SignedInRequest, code: str) -> HttpResponse:
    """The same beside the real data, for stewards alone; opening it is written to the audit log."""
    release = selectors.release_for(request.user, code, Need.COMPARE)
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    page = None if report is None else maps.comparison(release, report, request.GET)
    if page is None:  # none, or without commutes
        return redirect("releases:compare", code)
    context = screens.frame(request.user, release, tab="compare", leaf="Map") | {
        "page": page,
        "red": style.RED_WORDS,
    }
    return render(request, "releases/map.html", context)


@login_required
@require_GET
@never_cache
@gzip_page  # megabytes of numbers and tables; nothing of an address is repeated in them
@limited
def compare(request: SignedInRequest, code: str) -> HttpResponse:
    """Beside the real data, for stewards alone; opening it is written to the audit log."""
    release = selectors.release_for(request.user, code, Need.COMPARE, tables="any")
    if databases.is_database(release):
        return database_views.compare(request, release)
    context = screens.frame(request.user, release, tab="compare") | screens.compare(release)
    # Authorises again and writes the audit log before anything is decrypted.
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    if report is None:
        return redirect("runs:report", code)
    context |= {
        "comparison": view.lay_out(report),
        "asked": purposes.asked(release, report),
        "exact": exact_criteria.lines_of(release, report),
    }
    context["extras"] = screens.comparison_form(release, report=report)
    context["commutes"] = any(each["cells"] for each in report.get("commutes", ()))
    return render(request, "releases/compare.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def samples(request: SignedInRequest, code: str) -> HttpResponse:
    """Draw any number of rows, for free; list one's own samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    asked = (request.POST if request.method == "POST" else request.GET).get("edition")
    edition = selectors.edition_for(release, asked) if asked else None
    form = SampleForm(
        request.POST or None,
        initial={"rows": release.sample_rows, "edition": asked},
        columns=screens.column_names(release),
    )
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data | {"edition": edition}
        selection = given.pop("selection")
        try:
            sample = (
                services.draw_sample(user=request.user, release=release, **given)
                if selection is None
                else services.draw_selected(
                    user=request.user, release=release, selection=selection, **given
                )
            )
            return redirect("releases:sample", code, sample.code)
        except TooManyDrawings as busy:
            return busy_page(request, busy)
        except SpecError as error:
            form.add_error("seed" if selection is None else None, error.text)
    page = Paginator(selectors.samples_of(request.user, release), PAGE).get_page(
        request.GET.get("page")
    )
    context = screens.frame(request.user, release, tab="samples") | {
        "form": form,
        "repeats_from": model_cache.repeats_rows_from(code),
        "page": page,
        "edition": edition,
    }
    return render(request, "releases/samples.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def description(request: SignedInRequest, code: str) -> HttpResponse:
    """The model as a document to be read and kept; stewards bring one back that they edited."""
    posted = request.method == "POST"
    release = selectors.release_for(request.user, code, Need.SHARE if posted else Need.SAMPLE)
    form = EditionForm(request.POST, request.FILES) if posted else EditionForm()
    if posted and form.is_valid():
        try:
            edition = services.keep_edition(
                actor=request.user, release=release, **form.cleaned_data
            )
            messages.success(
                request, _("Kept. Samples of it say that it was edited, and by whom.")
            )
            return redirect(
                f"{reverse('releases:samples', args=[code])}?edition={edition.code}"
            )
        except (InputError, Refused) as error:
            form.add_error("document", getattr(error, "text", str(error)))
    context = screens.frame(request.user, release, tab="description") | {"form": form}
    context |= {"editions": selectors.editions_of(release)}
    return render(
        request, "releases/description.html", context, status=422 if form.errors else 200
    )


@login_required
@require_GET
def sample(request: SignedInRequest, code: str, sample_code: str) -> HttpResponse:
    """One sample of one's own: its seed, its commitment, its files."""
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    context = screens.frame(request.user, sample.release, tab="samples", leaf=sample.code)
    context |= {
        "sample": sample,
        "selection": tables.selection_of(sample),
        "edition": sample.edition,
        "citation": citation.of_sample(sample),
        "has_form": tables.has_form(sample),
        "one_marker": tables.columns_of_one_marker(sample),
        "fits_workbook": sample.rows < MAX_ROWS,
    }
    return render(request, "releases/sample.html", context)


@login_required
@require_GET
@never_cache
def sample_progress(request: SignedInRequest, code: str, sample_code: str) -> HttpResponse:
    """How many rows of a sample are drawn by now: the part of its page that is polled during a download."""
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    crumbs = [
        (reverse("releases:index"), gettext("Releases")),
        (reverse("releases:sample", args=[code, sample_code]), sample.release.name),
    ]
    return fragments.render_fragment(
        request,
        "releases/_draw_progress.html",
        screens.draw_progress(sample, tries=request.GET.get("tries", "")),
        title=_("Rows drawn"),
        crumbs=crumbs,
    )


@login_required
@require_http_methods(["GET", "POST"])
def share(request: SignedInRequest, code: str) -> HttpResponse:
    """With whom a release is shared; hand it to another analyst."""
    release = selectors.release_for(request.user, code, Need.SHARE, tables="any")
    form = ShareForm(request.POST or None, release=release)
    if request.method == "POST" and form.is_valid():
        try:
            grant = services.share(
                actor=request.user, release=release, analyst=form.cleaned_data["analyst"]
            )
            messages.success(
                request, _("Shared with %(analyst)s.") % {"analyst": grant.analyst}
            )
            return redirect("releases:share", code)
        except Refused as error:
            form.add_error("analyst", str(error))
    context = screens.share(request.user, release) | {"form": form}
    return render(request, "releases/share.html", context)


@login_required
@require_POST
def licence(request: SignedInRequest, code: str) -> HttpResponse:
    """State under which licence a release may be passed on."""
    release = selectors.release_for(request.user, code, Need.SHARE, tables="any")
    form = LicenceForm(request.POST, release=release)
    if form.is_valid():
        words = form.cleaned_data
        try:
            services.license_release(
                actor=request.user,
                release=release,
                licence=LicenceChoice(words["licence"]),
                text=words["text"],
                address=words["address"],
            )
            messages.success(request, _("The licence is stated from now on."))
            return redirect("releases:share", code)
        except Refused as error:
            form.add_error(error.field or None, str(error))
    context = screens.share(request.user, release) | {"licence_form": form}
    return render(request, "releases/share.html", context, status=422)


@login_required
@require_POST
def revoke(request: SignedInRequest, code: str, grant: int) -> HttpResponse:
    """Take a release back from an analyst."""
    release = selectors.release_for(request.user, code, Need.SHARE, tables="any")
    # Among the grants of this release: the number of another one's is a 404.
    taken = services.revoke(
        actor=request.user, grant=get_object_or_404(selectors.grants_of(release), pk=grant)
    )
    messages.success(
        request,
        _("%(analyst)s can no longer open it. What was downloaded stays with them.")
        % {"analyst": taken.analyst},
    )
    return redirect("releases:share", code)


@login_required
@require_GET
def receipt(request: SignedInRequest, code: str) -> HttpResponse:
    """The receipt in words and numbers."""
    release = selectors.release_for(request.user, code, tables="any")
    if databases.is_database(release):
        signals.opened.send(sender=type(release), release=release, user=request.user)
        context = screens.frame(request.user, release, tab="receipt") | {
            "receipt": release.receipt,
            "verdict": screens.check(release),
            "evidence": evidence.of(request.user, release),
            "looked": chain.is_after_looking(release),
        }
        return render(request, "releases/database_receipt.html", context)
    context = screens.frame(request.user, release, tab="receipt") | screens.receipt(
        request.user, release, request.GET
    )
    return render(request, "releases/receipt.html", context)


@login_required
@require_GET
def verification(request: SignedInRequest, code: str) -> HttpResponse:
    """Recompute the guarantee here and now from the receipt's calls."""
    release = selectors.release_for(request.user, code)
    context = {
        "verdict": screens.check(release),
        "release": release,
        "evidence": evidence.of(request.user, release),
    }
    if request.headers.get("HX-Request"):
        return render(request, "releases/_verdict.html", context)
    context |= screens.frame(request.user, release, tab="receipt") | screens.receipt(
        request.user, release, request.GET
    )
    return render(request, "releases/receipt.html", context)
