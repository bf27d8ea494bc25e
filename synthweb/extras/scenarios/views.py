"""The pages that make test data, tables that are altered on purpose: of a release, and of a description
without any data. The first lines of each fetch and authorise."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from synth_engine.errors import InputError
from synth_engine.extras.scenarios.engine import Scenario
from synthweb.accounts import selectors as people
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.stated_records import DIGITS
from synthweb.extras.scenarios import altered, described_page, editor, sources
from synthweb.extras.scenarios.altered import BeforeAndAfter
from synthweb.extras.scenarios.editor import ColumnShares, PageState, StepForm
from synthweb.extras.scenarios.sources import Source
from synthweb.releases import screens, selectors
from synthweb.releases.downloads import attached, busy_page, name_of_file
from synthweb.releases.slots import TooManyDrawings
from synthweb.releases.table_process import TableUnfinished

USUAL_ROWS = 10_000
_PARAMETER = re.compile(r"parameter '(\w+)'|'(\w+)' names")


@login_required
@require_http_methods(["GET", "POST"])
@cache_control(private=True, no_store=True)
def test_data(request: SignedInRequest, code: str) -> HttpResponseBase:
    """Change shares, add situations and faults, and download the table that comes of it."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    page = _Page(
        template="scenarios/card.html",
        action=reverse("releases:test-data", args=[code]),
        frame=lambda: screens.frame(request.user, release, card="test-data"),
        rows=min(release.sample_rows or USUAL_ROWS, USUAL_ROWS),
    )
    return _answered(request, sources.of_release(release), page)


@login_required
@require_http_methods(["GET", "POST"])
@cache_control(private=True, no_store=True)
def described_test_data(request: SignedInRequest) -> HttpResponseBase:
    """The same from the description of a dataset, or from one that somebody brings; of a dataset nothing else
    is read."""
    # As for the test data of a release of their organisation.
    people.require(request.user, Need.SAMPLE)
    given = request.POST if request.method == "POST" else request.GET
    code, error = given.get("dataset", ""), ""
    dataset = datasets.dataset_for(request.user, code, Need.SAMPLE) if code else None
    source, text = None, ""
    try:
        if dataset is not None:
            source = sources.of_dataset(dataset)
        elif (text := described_page.brought(request)) or request.POST.get("do") == "describe":
            source = sources.of_document(
                described_page.read(text), organisation=people.organisation_of(request.user)
            )
    except InputError as refused:
        error = refused.text

    def frame() -> dict[str, Any]:
        return described_page.frame(request.user, dataset=dataset, text=text, problem=error)

    if source is None:
        status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
        return render(request, described_page.TEMPLATE, frame(), status=status)
    page = _Page(
        template=described_page.TEMPLATE,
        action=reverse("scenarios:described"),
        frame=frame,
        rows=USUAL_ROWS,
        carried={"dataset": code} if dataset else {"description": text},
    )
    return _answered(request, source, page)


@dataclass(frozen=True, kw_only=True)
class _Page:
    """Where the editor stands. frame: the context around it. rows: what its field says at first. carried:
    fields that come back with the form, and name the source."""

    template: str
    action: str
    frame: Callable[[], dict[str, Any]]
    rows: int
    carried: Mapping[str, str] = field(default_factory=dict)


def _answered(request: SignedInRequest, source: Source, page: _Page) -> HttpResponseBase:
    try:
        return _Editor(request, source, page).answer()
    except TooManyDrawings as busy:
        return busy_page(request, busy)


class _Editor:
    """One request: what the form says, what its button does, and what is wrong with it, by place."""

    def __init__(self, request: SignedInRequest, source: Source, page: _Page) -> None:
        self._request, self._source, self._around = request, source, page
        self._errors: dict[str, str] = {}
        self._share_errors: dict[str, str] = {}
        self._typed = False
        self._step_data: Any = None
        do = request.POST.get("do", "")
        self._do, _, self._which = do.partition(":")
        try:
            self._state = PageState.of(
                request.POST.dict(), bars_shown=self._do in ("apply", "normalise")
            )
        except InputError as error:
            self._state = PageState()
            self._errors["steps"] = error.text
        if request.method == "GET" or self._do == "describe":
            self._state.rows = str(page.rows)
            self._state.seed = PageState.seed

    def answer(self) -> HttpResponseBase:
        """The page, or the archive."""
        actions: dict[str, Callable[[], HttpResponseBase | None]] = {
            "apply": self._apply,
            "normalise": self._normalise,
            "add": self._add,
            "undo": self._undo,
            "remove": self._remove,
            "upload": self._upload,
            "make": self._make,
        }
        action = actions.get(self._do)
        done = None if action is None or self._errors else action()
        return done or self._page()

    def _shown(self) -> BeforeAndAfter:
        return altered.shown(
            user=self._request.user, source=self._source, scenario=self._state.scenario
        )

    def _apply(self) -> None:
        """Add the typed shares as a step."""
        self._typed = True
        shares, self._share_errors = editor.read_shares(self._state)
        if self._share_errors or not shares:
            return
        try:
            bars = editor.bars_of(self._state, self._shown(), typed=True)
            self._keep(editor.share_step(shares, bars))
            self._typed = False
        except InputError as error:
            self._errors["bars"] = error.text

    def _normalise(self) -> None:
        """Have the typed shares add up to 100 %."""
        self._typed = True
        shares, self._share_errors = editor.read_shares(self._state)
        if self._share_errors or not shares:
            return
        try:
            bars = editor.bars_of(self._state, self._shown(), typed=True)
            editor.normalised(self._state, shares, others=bars.others.value)
        except InputError as error:
            self._errors["bars"] = error.text

    def _add(self) -> None:
        """Add a situation or a fault."""
        self._state.kind = self._request.POST.get("kind_shown", self._state.kind)
        self._step_data = self._request.POST
        form = self._step_form(self._shown())
        if not form.is_valid():
            return
        try:
            self._keep(form.step())
            self._step_data = None
        except InputError as error:
            self._errors["step"] = error.text

    def _keep(self, step: dict[str, Any]) -> None:
        """Append a step, once it can be had."""
        earlier = list(self._state.steps)
        self._state.steps = [*earlier, step]
        try:
            # Checked by itself first: its number in the list says nothing to whoever adds it.
            Scenario.from_json({**self._state.document, "steps": [step]})
            self._shown()
        except InputError:
            self._state.steps = earlier
            raise

    def _undo(self) -> None:
        self._state.steps = self._state.steps[:-1]

    def _remove(self) -> None:
        # Compared as text: int() would also take signs, blanks and digits of other scripts.
        self._state.steps = [
            step
            for number, step in enumerate(self._state.steps, start=1)
            if str(number) != self._which
        ]

    def _upload(self) -> None:
        """The steps of a file in place of those of the page."""
        file = self._request.FILES.get("scenario")
        if file is None:
            self._errors["upload"] = gettext("Choose a file first.")
            return
        earlier = self._state.steps
        try:
            self._state.steps = editor.uploaded(file.read(editor.MOST_SIGNS + 1))
            self._shown()
        except InputError as error:
            self._state.steps = earlier
            self._errors["upload"] = error.text

    def _make(self) -> HttpResponseBase | None:
        """The archive."""
        if not DIGITS.fullmatch(self._state.rows):
            self._errors["rows"] = gettext("A whole number.")
            return None
        try:
            scenario = self._state.scenario
            if scenario is None:
                self._errors["make"] = gettext("Change shares or add a step first.")
                return None
            file = altered.make(
                user=self._request.user,
                source=self._source,
                scenario=scenario,
                rows=int(self._state.rows),
                seed=self._state.seed,
                request=self._request,
            )
        except InputError as error:
            self._errors["make"] = error.text
            return None
        except TableUnfinished as error:
            self._errors["make"] = str(error)
            return None
        return attached(
            FileResponse(file, content_type="application/zip"),
            name_of_file(self._source.name, what="TEST-DATA", ending="zip"),
        )

    def _step_form(self, shown: BeforeAndAfter) -> StepForm:
        return StepForm(self._step_data, kind=self._state.kind, domain=shown.domain)

    def _page(self) -> HttpResponse:
        context = self._around.frame()
        shown = None
        try:
            shown = self._shown()
        except InputError as error:
            self._errors.setdefault("steps", error.text)
        if shown is not None:
            form = self._step_form(shown)
            if "step" in self._errors:
                form.add_error(_blamed(self._errors["step"], form), self._errors["step"])
            context |= {
                "bars": self._bars(shown),
                "columns": editor.columns_of(shown.domain),
                "step_form": form,
                "kinds": editor.kinds(),
            }
        context |= {
            "action": self._around.action,
            "carried": self._around.carried,
            "state": self._state,
            "lines": editor.lines(self._state.steps),
            "problems": self._errors,
            "most": altered.most_rows(),
            "shown_rows": altered.SHOWN_ROWS,
        }
        wrong = self._errors or self._share_errors
        return render(
            self._request,
            self._around.template,
            context,
            status=HTTPStatus.UNPROCESSABLE_ENTITY if wrong else HTTPStatus.OK,
        )

    def _bars(self, shown: BeforeAndAfter) -> ColumnShares | None:
        try:
            bars = editor.bars_of(self._state, shown, typed=self._typed)
        except InputError as error:
            self._errors.setdefault("bars", error.text)
            return None
        return editor.with_errors(bars, self._share_errors)


def _blamed(text: str, form: StepForm) -> str | None:
    """The field that an error names."""
    match = _PARAMETER.search(text)
    name = (match[1] or match[2]) if match else None
    return name if name in form.fields else None
