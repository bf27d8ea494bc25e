"""Pages of datasets: the list, the description, its versions."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from synth_engine import dictionaries
from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import constraining, editing, points, screens, selectors, services
from synthweb.datasets.forms import DocumentForm, Posted
from synthweb.datasets.hints import clean
from synthweb.datasets.models import Dataset, DescriptionTemplate
from synthweb.datasets.services import documents
from synthweb.lib import codes, fragments
from synthweb.lib.errors import Refused
from synthweb.lib.previews import limited
from synthweb.lib.saved_meanwhile import Difference, digest, merge

PAGE = 25


@require_safe
@login_required
def index(request: SignedInRequest) -> HttpResponse:
    """Every dataset of the organisation, with what is next for each."""
    query, status = request.GET.get("q", "")[:200], request.GET.get("status", "")
    datasets = selectors.datasets_of(request.user, search=query, status=status)
    page = Paginator(datasets, PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "datasets/index.html",
        screens.index(request.user, page, query=query, status=status),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@limited
def describe(request: SignedInRequest, code: str) -> HttpResponse:
    """Say what is public about each column: one line a column, edited in place, confirmed line by line or
    together."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    if dataset.status != Dataset.Status.READY:
        return redirect("pages:upload-status", dataset.code)
    if request.method == "POST":
        return _change(request, dataset)
    return render(
        request, "datasets/describe.html", screens.describe(request.user, dataset, request.GET)
    )


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def point(request: SignedInRequest, code: str) -> HttpResponse:
    """Describe two columns that are one point by a box on a map."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    if dataset.status != Dataset.Status.READY:
        return redirect("pages:upload-status", dataset.code)
    names, real = screens.columns_shown(request.user, dataset)
    posted = request.POST if request.method == "POST" else None
    known = points.initial(dataset.draft, request.GET.get("place", ""), names=names)
    form = points.PointForm(posted, names=names, initial=known)
    if form.is_valid():
        services.describe_point(
            actor=request.user, dataset=dataset, given=form.cleaned_data, names=names
        )
        messages.success(
            request,
            _("“%(name)s” is described, and both of its columns are confirmed.")
            % {"name": form.cleaned_data["name"]},
        )
        return redirect("datasets:describe", dataset.code)
    context = screens.point(dataset, form, names=names, real=real)
    return render(request, "datasets/point.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@limited
def lists(request: SignedInRequest, code: str) -> HttpResponse:
    """Decide about each list of values that was read from the table: found by each release, or written
    somewhere."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    if dataset.status != Dataset.Status.READY:
        return redirect("pages:upload-status", dataset.code)
    posted = Posted(request.POST) if request.method == "POST" else None
    asking: list[int] = []
    if posted is not None:
        asking = _keep(request, dataset, posted).asking
        if not asking and posted.verb == editing.LISTS[1]:
            return _finish(request, dataset)
    context = screens.lists(request.user, dataset, posted, asking)
    if not context["lists"]:
        return redirect("datasets:describe", dataset.code)
    return render(request, "datasets/lists.html", context, status=422 if asking else 200)


@require_POST
@login_required
@limited
def told_of_set(request: SignedInRequest, code: str) -> HttpResponse:
    """How large the set is that stands in an editor, and what finding its values needs; as one types. Writes
    nothing."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    line = screens.line_as_typed(
        request.user, dataset, Posted(request.POST), request.GET.get("line", "")
    )
    return HttpResponse(escape(line.set_told if line else ""))


@require_POST
@login_required
@limited
def evidence(request: SignedInRequest, code: str) -> HttpResponse:
    """What becomes of real cells by what stands in an editor, and the error to expect, as one types. Writes
    nothing."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    line = screens.line_as_typed(
        request.user, dataset, Posted(request.POST), request.GET.get("line", "")
    )
    return render(request, "datasets/_evidence.html", {"line": line, "dataset": dataset})


@require_safe
@login_required
def rule_values(request: SignedInRequest, code: str) -> HttpResponse:
    """The values of the column that an input of a rule names, to be pressed instead of typed."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    if not fragments.asked_by_page(request):
        return redirect("datasets:describe", dataset.code)
    kind, field = request.GET.get("kind", ""), request.GET.get("field", "")
    typed = constraining.typed_of(request.GET, kind)
    offered = constraining.chips(dataset.draft, kind, typed).get(field, [])
    context = {"kind": kind, "field": field, "chips": offered}
    return render(request, "datasets/_rule_chips.html", context)


def _change(request: SignedInRequest, dataset: Dataset) -> HttpResponse:
    posted = Posted(request.POST)
    # First of all: what the button does may end in a page of errors, and typing is not lost.
    outcome = _keep(request, dataset, posted)
    if getattr(request, "htmx", False):
        return render(
            request,
            "datasets/_line_and_count.html",
            screens.after_a_press(request.user, dataset, posted, outcome),
        )
    if outcome.meanwhile or outcome.differences:
        return _refuse_stale(request, dataset, posted, outcome)
    if posted.verb.startswith((constraining.ADD, constraining.DROP)):
        return _constrain(request, dataset, posted)
    if posted.verb.startswith(editing.PROPOSE):
        return _propose(request, dataset, posted)
    if outcome.lists and not outcome.problem:
        return redirect("datasets:lists", dataset.code)
    if posted.verb == "finish":
        return _finish(request, dataset)
    if posted.verb == editing.ACCEPT and not outcome.problem and screens.is_complete(dataset):
        return _finish(request, dataset)
    if outcome.problem:
        return _refuse_group(request, dataset, posted, outcome)
    if posted.verb == "save":
        messages.success(request, _("Saved."))
    return redirect(screens.address_after(dataset, posted, outcome, query=request.GET))


def _refuse_stale(
    request: SignedInRequest, dataset: Dataset, posted: Posted, outcome: editing.EditOutcome
) -> HttpResponse:
    """What was saved otherwise after this page was shown: both are shown, what was typed stays in the form,
    and the rest is kept."""
    query = request.GET.copy()
    query["edit"] = screens.ranges(outcome.editing)
    unsaved = {posted.names[index]: posted.typed(index) for index in outcome.meanwhile}
    context = screens.describe(request.user, dataset, query, unsaved=unsaved)
    context |= {
        "meanwhile": list(unsaved),
        "differences": outcome.differences,
        "verb": posted.pressed,
        "table": screens.table_facts(dataset)
        | {each.name: each.mine for each in outcome.differences},
    }
    return render(request, "datasets/describe.html", context, status=HTTPStatus.CONFLICT)


def _refuse_group(
    request: SignedInRequest, dataset: Dataset, posted: Posted, outcome: editing.EditOutcome
) -> HttpResponse:
    """An action for several columns that was not done: its panel stays open, with what was typed and what
    stood in the way."""
    query = request.GET.copy()
    query["select"] = screens.ranges(posted.selected or outcome.selected)
    context = screens.describe(request.user, dataset, query)
    if posted.verb == editing.ACCEPT:
        context |= {"statement_missing": outcome.problem}
    else:
        context |= {"group": posted.group_typed, "group_problem": outcome.problem}
    return render(request, "datasets/describe.html", context, status=422)


def _propose(request: SignedInRequest, dataset: Dataset, posted: Posted) -> HttpResponse:
    """Fill in the form of a rule that holds in the table: a constraint, or the editor of a computed column.
    Neither is taken by this press; the columns of an editor are kept as typed."""
    here = reverse("datasets:describe", args=[dataset.code])
    rule = screens.held_rule(request.user, dataset, posted.verb.removeprefix(editing.PROPOSE))
    if rule is None:
        return redirect(here)
    places = {name: index for index, name in posted.names.items()}
    if rule["kind"] == editing.COMPUTED and rule["column"] in places:
        place = places[rule["column"]]
        column = editing.computed(rule["facts"], place=place)
        changes = services.DraftChanges(columns={rule["column"]: column})
        services.keep(actor=request.user, dataset=dataset, changes=changes)
        return redirect(f"{here}?edit={place}#line-{place}")
    context = screens.describe(request.user, dataset, request.GET)
    fields = constraining.proposed(rule["kind"], rule["facts"])
    if fields is not None:
        context |= screens.rule_form(dataset, rule["kind"], fields)
    return render(request, "datasets/describe.html", context)


def _constrain(request: SignedInRequest, dataset: Dataset, posted: Posted) -> HttpResponse:
    """Add a constraint to the draft, or take one away: the one that the page showed in that place."""
    verb, here = posted.verb, f"{reverse('datasets:describe', args=[dataset.code])}#constraints"
    now = digest(dataset.draft.get("constraints"))
    if verb.startswith(constraining.DROP) and posted.rules_version not in ("", now):
        messages.warning(
            request,
            _("The rules were changed meanwhile; nothing was taken away. They stand as below."),
        )
        return redirect(here)
    kind = verb.removeprefix(constraining.ADD)
    typed = constraining.typed_of(request.POST, kind)
    file = request.FILES.get(f"rule-{kind}-file") if kind in constraining.WITH_TABLE else None
    try:
        services.constrain(
            actor=request.user,
            dataset=dataset,
            verb=verb,
            typed=typed,
            table=file.read() if file else None,
        )
    except DomainError as error:
        context = screens.describe(request.user, dataset, request.GET)
        context |= screens.rule_form(dataset, kind, typed, error=error)
        return render(request, "datasets/describe.html", context, status=422)
    return redirect(here)


def _keep(request: SignedInRequest, dataset: Dataset, posted: Posted) -> editing.EditOutcome:
    """What a press of any button does: everything typed is kept, and what came of it is told."""
    records = posted.records
    if records is not None and records != dataset.stated_records:
        services.state_records(actor=request.user, dataset=dataset, records=records)
    with services.draft_locked(dataset):
        outcome = editing.apply(posted, dataset.draft)
        table, outcome.differences = _merged_table(posted, dataset)
        services.keep(
            actor=request.user,
            dataset=dataset,
            changes=services.DraftChanges(
                columns=outcome.columns,
                table=table,
                total=posted.total,
                answers=outcome.answers,
                looked=outcome.looked,
            ),
        )
    if outcome.done:
        messages.success(request, outcome.done)
    for remark in outcome.remarks:
        messages.warning(request, remark)
    return outcome


def _merged_table(
    posted: Posted, dataset: Dataset
) -> tuple[dict[str, str] | None, list[Difference]]:
    """The facts about the whole table to keep, and those that were saved otherwise after they were shown."""
    typed, stored = posted.table, screens.table_facts(dataset)
    if typed is None:
        return None, []
    merged = merge(typed, shown=posted.table_shown, stored=stored)
    differences = [
        Difference(
            name=name,
            label=str(screens.TABLE_LABELS.get(name, name)),
            mine=typed[name],
            theirs=stored[name],
        )
        for name in merged.conflicts
    ]
    return merged.values | {each.name: each.theirs for each in differences}, differences


def _finish(request: SignedInRequest, dataset: Dataset) -> HttpResponse:
    try:
        version = services.confirm_domain(actor=request.user, dataset=dataset)
    except services.Incomplete as incomplete:
        context = screens.describe(request.user, dataset, request.GET, errors=incomplete.errors)
        return render(request, "datasets/describe.html", context, status=422)
    except DomainError as error:
        context = screens.describe(request.user, dataset, request.GET, errors=[error])
        return render(request, "datasets/describe.html", context, status=422)
    messages.success(
        request,
        _("Version %(number)s of the description is in force.") % {"number": version.number},
    )
    return redirect("pages:dataset", dataset.code)


@require_POST
@login_required
def import_document(request: SignedInRequest, code: str) -> HttpResponse:
    """Take a description made elsewhere, of any kind, into the draft, after keeping everything typed on the
    page it came from."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    posted = Posted(request.POST)
    outcome = _keep(request, dataset, posted)
    if outcome.meanwhile or outcome.differences:
        return _refuse_stale(request, dataset, posted, outcome)
    brought = False
    form = DocumentForm(request.POST, request.FILES)
    if form.is_valid():
        brought = _bring(
            request, dataset, form.cleaned_data["document"], replaces=posted.replaces
        )
    else:
        messages.error(request, " ".join(map(str, form.errors["document"])))
    return redirect(
        screens.address_after(dataset, posted, outcome, query=request.GET, brought=brought)
    )


def _bring(
    request: SignedInRequest, dataset: Dataset, document: dict[str, object], *, replaces: bool
) -> bool:
    try:
        brought = services.import_document(
            actor=request.user, dataset=dataset, document=document, replaces=replaces
        )
    except DomainError as error:
        messages.error(
            request,
            _("This description cannot be used; nothing was changed. %(text)s.")
            % {"text": error.text},
        )
        return False
    return _tell(request, brought, source=f"The file was read as a {brought.title}")


def _tell(request: SignedInRequest, brought: services.Imported, *, source: str) -> bool:
    """What came of a description from elsewhere; whether anything was taken."""
    count = len(brought.columns)
    if count:
        summary = f"{count} column{'s were' if count > 1 else ' was'} taken into the draft"
        messages.success(
            request,
            _("%(source)s: %(summary)s. Nothing of it is confirmed yet.")
            % {"source": source, "summary": summary},
        )
    else:
        messages.info(
            request, _("%(source)s: no column was taken from it.") % {"source": source}
        )
    for remark in brought.remarks:
        messages.warning(request, remark)
    return bool(count)


@require_POST
@login_required
def apply_template(request: SignedInRequest, code: str) -> HttpResponse:
    """Take a template into the draft, after keeping everything typed on the page."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    posted = Posted(request.POST)
    outcome = _keep(request, dataset, posted)
    if outcome.meanwhile or outcome.differences:
        return _refuse_stale(request, dataset, posted, outcome)
    template = (
        selectors.templates_of(request.user)
        .filter(code=codes.of_text(request.POST.get("template", "")))
        .first()
    )
    brought = False
    if template is None:
        messages.error(request, _("No template is chosen: choose one of the list."))
    else:
        brought = _apply(request, dataset, template, replaces=posted.replaces)
    return redirect(
        screens.address_after(dataset, posted, outcome, query=request.GET, brought=brought)
    )


def _apply(
    request: SignedInRequest, dataset: Dataset, template: DescriptionTemplate, *, replaces: bool
) -> bool:
    try:
        imported = services.apply_template(
            actor=request.user, dataset=dataset, template=template, replaces=replaces
        )
    except DomainError as error:
        messages.error(
            request,
            _("“%(name)s” cannot be used here; nothing was changed. %(text)s.")
            % {"name": template.name, "text": error.text},
        )
        return False
    return _tell(request, imported, source=f"Template “{template.name}”")


@require_POST
@login_required
def save_template(request: SignedInRequest, code: str, number: int) -> HttpResponse:
    """Keep a confirmed description under a name, for other tables."""
    version = selectors.domain_version_for(request.user, code, number, Need.DESCRIBE)
    try:
        made = services.save_template(
            actor=request.user, version=version, name=clean(request.POST.get("name", ""))
        )
    except Refused as refused:
        messages.error(request, _("No template was made: %(refused)s.") % {"refused": refused})
        return redirect("datasets:domain", code, number)
    messages.success(
        request,
        _("Template “%(name)s” can be applied on the describe page of any table.")
        % {"name": made.name},
    )
    return redirect("datasets:templates")


@require_safe
@login_required
def templates(request: SignedInRequest) -> HttpResponse:
    """The templates of the organisation."""
    page = Paginator(selectors.templates_of(request.user), PAGE).get_page(
        request.GET.get("page")
    )
    crumbs = [(reverse("datasets:index"), gettext("Datasets")), ("", gettext("Templates"))]
    return render(request, "datasets/templates.html", {"page": page, "crumbs": crumbs})


@require_POST
@login_required
def delete_template(request: SignedInRequest, code: str) -> HttpResponse:
    """Forget a template."""
    template = selectors.template_for(request.user, code)
    services.delete_template(actor=request.user, template=template)
    messages.success(
        request,
        _("Template “%(name)s” is deleted; descriptions made with it stay.")
        % {"name": template.name},
    )
    return redirect("datasets:templates")


@require_safe
@login_required
def draft_file(request: SignedInRequest, code: str) -> HttpResponse:
    """The draft of all that is typed and confirmed so far, as a DOMAIN.json; nothing that was only
    suggested."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    try:
        document = documents.draft_document(dataset)
    except DomainError as error:
        messages.error(
            request, _("There is no DOMAIN.json of the draft: %(text)s.") % {"text": error.text}
        )
        return redirect("datasets:describe", dataset.code)
    return _as_file(document, name=f"domain-{dataset.code}-draft.json")


@require_safe
@login_required
def domain(request: SignedInRequest, code: str, number: int) -> HttpResponse:
    """One confirmed version of a description, as everybody of the organisation may read it."""
    version = selectors.domain_version_for(request.user, code, number)
    return render(request, "datasets/domain.html", screens.domain(request.user, version))


@require_safe
@login_required
def domain_file(request: SignedInRequest, code: str, number: int) -> HttpResponse:
    """The same as a DOMAIN.json for the command line."""
    version = selectors.domain_version_for(request.user, code, number)
    return _as_file(
        version.document, name=f"domain-{version.dataset.code}-v{version.number}.json"
    )


@require_safe
@login_required
def table_schema_file(request: SignedInRequest, code: str, number: int) -> HttpResponse:
    """The same as a Frictionless Table Schema of the tables that releases give."""
    version = selectors.domain_version_for(request.user, code, number)
    schema = dictionaries.to_schema(Domain.from_json(version.document))
    return _as_file(schema, name=f"table-schema-{version.dataset.code}-v{version.number}.json")


def _as_file(document: dict[str, object], *, name: str) -> HttpResponse:
    response = JsonResponse(document, json_dumps_params={"indent": 2, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
