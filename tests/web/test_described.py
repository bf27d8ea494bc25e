"""Confirmed descriptions and models as the web process has them: each read once, and never another one's."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.services import declare_domain
from synthweb.releases import expected, receipt_facts, screens
from synthweb.releases.model_cache import holds, model_of
from synthweb.releases.selectors import release_for
from tests.cast import Cast
from tests.web import scene

pytestmark = pytest.mark.django_db


def test_a_description_is_read_once_and_a_new_version_by_itself(cast: Cast) -> None:
    dataset = scene.funded(cast)
    first = newest(dataset)
    assert first is not None
    domain = domain_of(first)
    assert (domain.digest, domain.to_json()) == (
        first.digest,
        dataset.domain_versions.get(number=1).document,
    )
    with CaptureQueriesContext(connection) as asked:
        again = newest(dataset)
        assert again is not None
        assert domain_of(again) is domain
    assert [query for query in asked if '"document"' in query["sql"]] == []
    changed = {**domain.to_json(), "attributes": domain.to_json()["attributes"][:-1]}
    second = declare_domain(actor=cast.steward, dataset=dataset, document=changed)
    assert domain_of(second).digest == second.digest != first.digest
    assert domain_of(first) is domain


def test_a_model_is_read_once_and_what_it_holds_is_remembered(cast: Cast) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon="1", name="First", table=scene.TABLE
    )
    assert model_of(release.code) is model_of(release.code)
    assert model_of(release.code).rows == release.model["rows"]
    assert holds(release.code, "rows")
    assert not holds(release.code, "tree")


def test_pages_of_a_release_read_its_receipt_without_the_calls(cast: Cast) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon="1", name="First", table=scene.TABLE
    )
    facts = receipt_facts.of(release_for(cast.steward, release.code))
    assert facts == {key: part for key, part in release.receipt.items() if key != "calls"}
    assert facts["digest"] == release.receipt["digest"]
    assert expected.shows(release)
    found = release_for(cast.steward, release.code)
    screens.frame(cast.steward, found, card="look")
    screens.look(found)
    screens.overview(found)
    assert "receipt" in found.get_deferred_fields()
    assert found.receipt == release.receipt
