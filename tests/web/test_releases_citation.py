"""Citations, the network of a release, and what the page of a dataset says about its releases."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synth_engine.mechanisms import Model
from synth_engine.spec import Spec
from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.releases import chain, citation, network, services
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    """Of a Bayesian network, shared with nobody."""
    made = scene.funded(cast)
    spec = Spec.from_json({"mechanism": "bayesian-network", "epsilon": "1", "delta": "1e-9"})
    worker.synthesize(
        code=runs.submit(
            ReleaseRequest(dataset=made, spec=spec), steward=cast.steward, name="A network"
        ).code
    )
    return Release.objects.get()


# --- citations ----------------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_citation_says_what_by_whom_when_with_which_promise_and_which_receipt(
    release: Release, cast: Cast
) -> None:
    found = citation.of_release(release)
    for text in (found.plain, found.bibtex):
        for part in (
            "Statistics Office",
            "A network",
            release.code,
            str(release.created_at.year),
            "bayesian-network",
        ):
            assert part in text
        assert release.receipt["digest"] in text
        assert "differential privacy for one record added or removed" in text
    assert "ε 1, δ 1e-9" in found.plain
    assert "Chosen after looking" not in found.plain


@pytest.mark.django_db
def test_a_sample_is_cited_by_its_release_and_its_commitment_and_without_its_seed(
    release: Release, cast: Cast, browser: Open
) -> None:
    sample = services.draw_sample(
        user=cast.steward, release=release, rows=50, seed="tulip-of-mine"
    )
    found = citation.of_sample(sample)
    assert f"Receipt SHA-256 {release.receipt['digest']}" in found.plain
    assert f"Seed commitment {sample.commitment}" in found.plain
    assert chain.receipt_of_sample(sample)["digest"] == release.receipt["digest"]
    assert sample.code in found.bibtex
    assert "tulip" not in found.plain + found.bibtex
    page = html_of(
        browser(cast.steward).get(reverse("releases:sample", args=[release.code, sample.code]))
    )
    assert 'data-copy="#citation-plain"' in page


def cited_digest(release: Release) -> str:
    """The digest in both forms of the citation, which is that of the receipt handed out now."""
    release = Release.objects.get(pk=release.pk)
    found = citation.of_release(release)
    (digest,) = set(re.findall(r"Receipt SHA-256 ([0-9a-f]{64})", found.plain + found.bibtex))
    assert chain.receipt_of(release)["digest"] == digest
    return digest


@pytest.mark.django_db
def test_the_digest_of_a_citation_is_the_same_whatever_becomes_of_the_release(
    release: Release, cast: Cast
) -> None:
    digests = [cited_digest(release)]
    services.describe(
        actor=cast.steward, release=release, name="Another name", description="Other words"
    )
    digests.append(cited_digest(release))
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    assert datasets.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )
    digests.append(cited_digest(release))
    grant = services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    digests.append(cited_digest(release))
    services.revoke(actor=cast.steward, grant=grant)
    document = services.description_of(release) | {"rows": 9}
    edition = services.keep_edition(
        actor=cast.steward, release=release, document=document, note="Nine rows."
    )
    digests.append(cited_digest(release))
    sample = services.draw_sample(user=cast.steward, release=release, rows=5, edition=edition)
    digests.append(
        re.findall(r"Receipt SHA-256 ([0-9a-f]{64})", citation.of_sample(sample).plain)[0]
    )
    digests.append(cited_digest(release))
    assert set(digests) == {digests[0]}
    assert AuditEntry.objects.get(action="release.published").detail["receipt"] == digests[0]
    assert [mark.kind for mark in release.marks.order_by("sequence")] == [
        "chosen-after-looking",
        "edited-description",
    ]


@pytest.mark.django_db
def test_names_that_mean_something_to_tex_stay_names(release: Release) -> None:
    release.name = "50 % of {all} & more_\n\\end^2"
    found = citation.of_release(release).bibtex
    assert r"{{50 \% of \{all\} \& more\_ \textbackslash{}end\textasciicircum{}2}}" in found
    assert found.count("{") - found.count(r"\{") == found.count("}") - found.count(r"\}")


@pytest.mark.django_db
def test_a_citation_says_that_a_release_was_chosen_after_looking(
    release: Release, cast: Cast
) -> None:
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    assert datasets.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    release.refresh_from_db()
    assert citation.LOOKED in citation.of_release(release).plain


# --- the network --------------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_network_is_that_of_the_model_for_an_analyst_who_was_given_the_release(
    release: Release, cast: Cast, browser: Open
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = html_of(browser(cast.analyst).get(reverse("releases:network", args=[release.code])))
    model = Model.from_json(release.model)
    rows = re.findall(
        r'<th scope="row"[^>]*>([^<]+)</th>\s*<td[^>]*>(?:<span[^>]*>)?([^<]+)', page
    )
    assert rows == [
        (node.attribute, ", ".join(node.parents) or "nothing: by itself")
        for node in model.network
    ]
    cells = [int(text) for text in re.findall(r'number">(\d+)</td>\s*</tr>', page)]
    assert cells == [table.weights.size for table in model.tables]
    assert page.count('class="network-arc"') == sum(len(node.parents) for node in model.network)


@pytest.mark.django_db
def test_a_release_without_a_network_has_no_tab_of_it_and_says_so(
    release: Release, cast: Cast, browser: Open
) -> None:
    Release.objects.filter(pk=release.pk).update(mechanism="independent")
    client, address = browser(cast.steward), reverse("releases:network", args=[release.code])
    assert address not in html_of(
        client.get(reverse("releases:validation", args=[release.code]))
    )
    answer = client.get(address)
    assert answer.status_code == 200
    assert "No network" in html_of(answer)


def wide(number: int) -> tuple[list[dict[str, object]], Domain]:
    """A network over many columns, each drawn from the two before it."""
    attribute = {
        "kind": "boolean",
        "true": "y",
        "false": "n",
        "missing": [""],
        "provenance": "declared",
    }
    names = [f"a column with quite a long name {place}" for place in range(number)]
    domain = Domain.from_json(
        {**scene.DOMAIN, "attributes": [{"name": name, **attribute} for name in names]}
    )
    nodes = [
        {"attribute": name, "parents": names[max(0, place - 2) : place]}
        for place, name in enumerate(names)
    ]
    return nodes, domain


def test_forty_five_columns_stay_within_the_drawing_and_no_two_names_meet() -> None:
    nodes, domain = wide(45)
    found = network.lay_out(nodes, domain=domain)
    heights = [line.y for line in found.lines]
    assert all(later - earlier >= 20 for earlier, later in pairwise(heights))
    assert heights[-1] < found.height
    assert all(len(line.shown) <= network.LONGEST_NAME for line in found.lines)
    for line in found.lines:
        for arc in line.arcs:
            numbers = [float(text) for text in re.findall(r"-?[\d.]+", arc.path)]
            assert network.NAMES < min(numbers[0::2]) <= max(numbers[0::2]) <= found.width


# --- the page of the dataset --------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_dataset_says_where_each_comparison_stands_without_looking_at_one(
    release: Release, cast: Cast, browser: Open
) -> None:
    client, address = (
        browser(cast.steward),
        reverse("pages:dataset", args=[release.dataset.code]),
    )
    assert "not compared yet" in html_of(client.get(address))
    job = runs.request_report(release=release, actor=cast.steward)
    assert "comparison under way" in html_of(client.get(address))
    worker.table_job(code=job.code)
    page = html_of(client.get(address))
    assert "comparison ready until" in page
    assert "chosen before any look" in page
    assert (
        "comparison"
        not in re.sub(r"<nav.*?</nav>", "", html_of(browser(cast.auditor).get(address)))
        .split('id="releases"')[1]
        .split("</section>")[0]
    )
    assert not AuditEntry.objects.filter(action="report.opened").exists()
    Preview.objects.filter(kind=Preview.Kind.REPORT).delete()
    assert "comparison expired: make it again" in html_of(client.get(address))


# --- the receipt --------------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_calls_of_a_receipt_cost_what_they_add_up_in(
    release: Release, cast: Cast, browser: Open
) -> None:
    page = html_of(browser(cast.steward).get(reverse("releases:receipt", args=[release.code])))
    costs = re.findall(r'data-name="Cost">(.) ', page)
    assert set(costs) == {"ρ"}
    assert len(costs) == len(release.receipt["calls"])
    assert "Gumbel noise" in page
    assert re.search(r"Chose one of \d+ groups of columns", page)
