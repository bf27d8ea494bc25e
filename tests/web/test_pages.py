"""Home, the page of a dataset, and the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.http import Http404
from django.test import Client
from hypothesis import given
from hypothesis import strategies as some
from pytest_django import Settings

from synthweb.accounts.models import User
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.pages import docs, steps
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Browser = Callable[..., Client]
PLACES = steps.Addresses(
    upload="/u", describe="/d", budget="/b", release="/r", compare="/c", share="/s"
)
FACTS = some.builds(
    steps.StepFacts,
    status=some.sampled_from(["uploaded", "ready", "refused"]),
    described=some.booleans(),
    undeclared=some.none() | some.integers(0, 6),
    columns=some.none() | some.just(6),
    request=some.none() | some.sampled_from(["open", "granted", "refused"]),
    has_budget=some.booleans(),
    running=some.booleans(),
    released=some.booleans(),
    compared=some.booleans(),
    shared=some.booleans(),
)


# --- six steps ----------------------------------------------------------------------------------------------
@given(FACTS)
def test_there_are_six_steps_and_at_most_one_is_next_and_it_is_the_first_that_is_open(
    facts: steps.StepFacts,
) -> None:
    listed = steps.six_steps(facts, PLACES)
    assert [step.name for step in listed] == [
        "Upload",
        "Describe",
        "Ask for budget",
        "Release",
        "Share",
        "Compare",
    ]
    states = [step.state for step in listed]
    still_open = [index for index, state in enumerate(states) if state != "done"]
    assert states.count("next") == bool(still_open)
    assert not still_open or states[still_open[0]] == "next"


@given(FACTS)
def test_there_is_always_one_thing_to_do_or_to_wait_for(facts: steps.StepFacts) -> None:
    step = steps.next_step(steps.six_steps(facts, PLACES), PLACES)
    assert step.missing
    assert step.waits != bool(step.action and step.address)


def _next(dataset: Dataset, client: Client) -> str:
    """The words of the one step that is next, as its page shows them."""
    html = html_of(client.get(f"/datasets/{dataset.code}/"))
    assert html.count('aria-current="step"') <= 1
    return html.split('aria-label="Next step"')[1].split("<strong>")[1].split(".</strong>")[0]


def _address_of_next(dataset: Dataset, client: Client) -> str:
    """Where the button of the next step leads."""
    html = html_of(client.get(f"/datasets/{dataset.code}/"))
    return (
        html.split('aria-label="Next step"')[1]
        .split('<a class="btn btn-primary" href="')[1]
        .split('"')[0]
    )


def test_the_page_of_a_dataset_leads_from_upload_to_compare_and_no_step_marks_the_receipt(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.steward)
    dataset = scene.upload(steward=cast.steward, organisation=cast.organisation)
    assert _next(dataset, client) == "Upload"
    scene.read(dataset)
    assert _next(dataset, client) == "Describe"
    datasets.declare_domain(actor=cast.steward, dataset=dataset, document=scene.DOMAIN)
    assert _next(dataset, client) == "Ask for budget"
    request = scene.ask(steward=cast.steward, dataset=dataset)
    assert "A custodian has to decide" in html_of(client.get(f"/datasets/{dataset.code}/"))
    ledger.grant(custodian=cast.custodian, request=request, reason="Agreed.")
    assert _next(dataset, client) == "Release"
    run = scene.submit(steward=cast.steward, dataset=dataset)
    assert "A run is under way" in html_of(client.get(f"/datasets/{dataset.code}/"))
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None
    assert _next(dataset, client) == "Share"
    client.post(_address_of_next(dataset, client), {"analyst": cast.analyst.pk})
    assert _next(dataset, client) == "Compare"
    address = _address_of_next(dataset, client)
    client.get(address)
    worker.table_job(code=runs.request_report(release=run.release, actor=cast.steward).code)
    assert client.get(address).status_code == 200
    assert "All six steps are done" in html_of(client.get(f"/datasets/{dataset.code}/"))
    run.release.refresh_from_db()
    assert not run.release.receipt["chosen_after_looking"]
    assert "chosen after looking" not in html_of(client.get(f"/datasets/{dataset.code}/"))


def test_a_refused_upload_says_on_its_page_what_to_mend(cast: Cast, browser: Browser) -> None:
    dataset = scene.upload(
        steward=cast.steward, organisation=cast.organisation, table="a,b\n1,2\n3\n"
    )
    html = html_of(browser(cast.steward).get(f"/datasets/{scene.read(dataset).code}/"))
    assert "could not be read" in html
    assert "<dt>Line</dt><dd>3</dd>" in html


def test_the_live_part_is_quiet_until_there_is_news_and_then_has_the_page_loaded_again(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.steward)
    dataset = scene.upload(steward=cast.steward, organisation=cast.organisation)
    page = client.get(f"/datasets/{dataset.code}/")
    address = html_of(page).split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    by_page = {"HX-Request": "true"}  # as the page itself asks
    quiet = client.get(address, headers=by_page)
    assert "HX-Refresh" not in quiet
    assert b"every 2s" in quiet.content
    scene.read(dataset)
    assert client.get(address, headers=by_page)["HX-Refresh"] == "true"


def test_what_a_dataset_protects_is_said_in_words(cast: Cast, browser: Browser) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    datasets.declare_domain(actor=cast.steward, dataset=dataset, document=scene.DOMAIN)
    html = html_of(browser(cast.auditor).get(f"/datasets/{dataset.code}/"))
    assert "one record, added or removed" in html


def test_the_documentation_has_a_path_for_each_role_and_every_guide_is_listed() -> None:
    sections = docs.sections()
    assert len(docs.PATHS) == 6
    assert all(slug in docs.pages() for _title, slugs in docs.PATHS for slug in slugs)
    listed = {page.slug for section in sections for page in section.pages}
    assert listed == docs.pages().keys() - {docs.INDEX}
    parts = list(docs.passages())
    assert len(parts) == len(set(parts))


# --- home ---------------------------------------------------------------------------------------------------
def _home(user: User, browser: Browser) -> str:
    response = browser(user).get("/")
    assert response.status_code == 200
    return html_of(response)


def test_home_has_something_for_every_role_before_anything_has_happened(
    cast: Cast, browser: Browser
) -> None:
    assert "No table yet" in _home(cast.steward, browser)
    assert "No request is waiting" in _home(cast.custodian, browser)
    assert "Nothing is shared with you yet" in _home(cast.analyst, browser)
    assert "No budget account yet" in _home(cast.auditor, browser)


def test_home_shows_each_role_what_is_next_for_them_and_nothing_else(
    cast: Cast, browser: Browser
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    steward = _home(cast.steward, browser)
    assert f"/datasets/{played.dataset.code}/" in steward
    assert "A custodian has to decide" in steward
    assert f"/ledger/requests/{played.request.code}/" in _home(cast.custodian, browser)
    reader = _home(played.reader, browser)
    assert f"/releases/{played.release.code}/samples/" in reader
    assert "/datasets/" not in reader
    auditor = _home(cast.auditor, browser)
    assert f"/ledger/accounts/{played.account.code}/" in auditor
    assert f"/ledger/accounts/{played.account.code}/chain/" in auditor
    assert played.release.code not in _home(cast.analyst, browser)
    assert played.dataset.code not in _home(cast.stranger, browser)


def test_home_shows_what_runs_and_what_was_shared_with_one_loud_button_at_most(
    cast: Cast, browser: Browser
) -> None:
    for user in (cast.steward, cast.custodian, cast.analyst, cast.auditor):
        assert _home(user, browser).count("btn btn-primary") <= 1
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    for user in (cast.steward, cast.custodian, played.reader, cast.auditor):
        assert _home(user, browser).count("btn btn-primary") <= 1
    assert _home(cast.custodian, browser).count("btn btn-primary") == 1
    steward = _home(cast.steward, browser)
    assert 'id="home-runs"' in steward and f"/runs/{played.waiting.code}/" in steward
    assert 'id="home-shared"' in steward
    # Whoever has a list of releases does not have the same ones again.
    reader = _home(played.reader, browser)
    assert 'id="shared-releases"' in reader and 'id="home-shared"' not in reader
    assert 'id="home-shared"' not in _home(cast.auditor, browser)


def test_home_sends_nobody_to_the_sign_in_page(client: Client, db: None) -> None:
    assert client.get("/")["Location"] == "/account/login/?next=/"


# --- documentation ------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """A documentation of one's own."""
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    docs.pages.cache_clear()
    yield tmp_path / "docs"
    docs.pages.cache_clear()


def _rendered(folder: Path, text: str, *, name: str = "page.md") -> str:
    (folder / name).write_text(text)
    docs.pages.cache_clear()
    return docs.render(docs.page_for(name.removesuffix(".md"))).html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](data:text/html;base64,PHNjcmlwdD4=)",
        '[x](/a "<script>")',
        "<javascript:alert(1)>",
    ],
)
def test_nothing_in_a_page_becomes_a_script(folder: Path, text: str) -> None:
    html = _rendered(folder, text)
    assert "<script" not in html
    assert "<img" not in html or "src=x" not in html
    assert 'href="javascript' not in html.lower()
    assert 'src="data:' not in html


def test_links_between_pages_become_addresses_and_others_stay(folder: Path) -> None:
    (folder / "adr" / "0001-first.md").write_text("# First")
    html = _rendered(
        folder, "[a](adr/0001-first.md#why) [b](https://elsewhere.example/x) [c](gone.md)"
    )
    assert 'href="/docs/adr/0001-first/#why"' in html
    assert 'href="https://elsewhere.example/x" rel="noopener noreferrer"' in html
    assert 'href="gone.md"' in html
    back = _rendered(folder, "[up](../page.md)", name="adr/0002-second.md")
    assert 'href="/docs/page/"' in back


def test_headings_get_anchors_of_their_own(folder: Path) -> None:
    (folder / "page.md").write_text("# T\n## Why\n## Why\n### Deep\n")
    docs.pages.cache_clear()
    rendered = docs.render(docs.page_for("page"))
    assert [heading.anchor for heading in rendered.headings] == ["why", "why-2"]
    assert 'id="deep"' in rendered.html


FOLDED = (
    "# T\n## A\n\n<details>\n<summary>2 & more</summary>\n\n| what | do |\n|---|---|\n| … has … columns too "
    "many | a |\n| b | c |\n\n</details>\n"
)


def test_a_part_of_a_page_can_be_folded_and_nothing_else_of_html_gets_through(
    folder: Path,
) -> None:
    html = _rendered(
        folder,
        f"{FOLDED}\n<details onclick=x>\n<summary>s</summary>\n\n<details>\n<summary><b>s</b></summary>\n",
    )
    assert html.count("<details") == html.count("</details>") == 1
    assert "<details><summary>2 &amp; more</summary>" in html


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("b c", 1),
        ("COLUMNS many", 1),
        ("table x has 3 columns too many.", 1),
        ("nothing", 0),
        ("has", 1),
        ("", 2),
    ],
)
def test_rows_of_tables_are_searched_by_words_and_by_whole_messages(
    folder: Path, query: str, shown: int
) -> None:
    (folder / "page.md").write_text(FOLDED)
    docs.pages.cache_clear()
    rendered = docs.render(docs.page_for("page"), query=query)
    assert (rendered.rows, rendered.shown) == (2, shown)
    assert rendered.html.count("<tr>") == shown + (1 if shown else 0)
    assert ("<details open>" in rendered.html) == bool(query and shown)


def test_the_page_of_errors_is_folded_and_searched_without_a_script(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.analyst)
    assert html_of(client.get("/docs/errors/")).count("<details>") > 5
    html = html_of(client.get("/docs/errors/", {"q": "seed"}))
    assert 0 < int(html.split('data-shown="')[1].split('"')[0]) < 20
    assert "Search the tables of this page" in html
    assert "Search the tables of this page" not in html_of(client.get("/docs/ledger/"))


@pytest.mark.parametrize(
    "slug", ["../README", "..%2fREADME", "/etc/passwd", "page.md", "nothing", ""]
)
def test_an_address_never_becomes_a_path(folder: Path, slug: str) -> None:
    (folder / "page.md").write_text("# Page")
    (folder.parent / "README.md").write_text("# Readme")
    docs.pages.cache_clear()
    with pytest.raises(Http404):
        docs.page_for(slug)


@pytest.mark.slow
def test_anchors_to_which_pages_and_templates_link_exist() -> None:
    rendered = {page.address: docs.render(page).html for page in docs.pages().values()}
    anchors = {
        address: set(re.findall(r'id="([^"]+)"', html)) for address, html in rendered.items()
    }
    links = [
        (address, target or address, anchor)
        for address, html in rendered.items()
        for target, anchor in re.findall(r'href="(/docs/[^"#]*|)#([^"]+)"', html)
    ]
    links += [
        (str(path), docs.page_for(slug).address, anchor)
        for path in settings.BASE_DIR.glob("templates/**/*.html")
        for slug, anchor in re.findall(
            r"'pages:docs-page' '([^']+)' %}#([\w-]+)", path.read_text()
        )
    ]
    assert len(links) > 5
    assert [link for link in links if link[2] not in anchors[link[1]]] == []


@pytest.mark.same_on_every_database  # pages of files
@pytest.mark.slow
def test_every_page_of_the_documentation_is_shown_and_its_links_lead_somewhere(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.analyst)
    lead_somewhere: set[str] = set()
    for page in docs.pages().values():
        response = client.get(page.address)
        assert response.status_code == 200, page.slug
        lead_somewhere.add(page.address)
        html = html_of(response)
        article = html.split('<article class="docs-body">')[1].split("</article>")[0]
        for link in {part.split('"')[0] for part in article.split('href="')[1:]}:
            target = link.split("#")[0]
            if (
                link.startswith("/")
                and not link.startswith("/api/")
                and target not in lead_somewhere
            ):
                assert client.get(target).status_code == 200, (page.slug, link)
                lead_somewhere.add(target)
            assert not link.endswith(".md") or "://" in link, (page.slug, link)
