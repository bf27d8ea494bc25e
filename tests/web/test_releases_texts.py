"""A release of texts: every page of it, and files of its tables."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.mechanisms import Model
from synth_engine.models.trees import factory
from synth_engine.models.weights import WHOLE
from synthweb.releases import services, tables
from synthweb.releases.tabs import registered
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

COUNTS = {"cafe": 500, "abba": 300, "a": 200}
TABLE = (
    "word\n" + "".join(f"{text}\n" * count for text, count in COUNTS.items()) + "zebra\n" * 40
)
SIGNS = {"set": "strings", "alphabet": "abcdef", "min_length": 1, "max_length": 5}
DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "attributes": [{"name": "word", "kind": "weak", "values": SIGNS}],
}


@pytest.mark.django_db
def test_texts_are_released_shown_and_sampled(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    release = scene.released(
        cast, mechanism="adaptive", epsilon="4", name="Words", table=TABLE, document=DOMAIN
    )
    client = browser(cast.steward)
    shown = {}
    for card in registered():
        answer = client.get(card.address(release), follow=True)
        shown[card.key] = html_of(answer)
        assert answer.status_code in (200, 404), card.key
    assert (
        "Counted the ends of a tree over word" in shown["receipt"]
        and "Grew a tree over word" in shown["receipt"]
    )
    assert "cafe" in shown["tree"] or "ca" in shown["tree"]
    sample = services.draw_sample(user=cast.steward, release=release, rows=900, seed="tulip")
    text = "".join(tables.stream_csv(sample))
    drawn = Counter(row["word"] for row in csv.DictReader(io.StringIO(text)))
    assert sum((drawn & Counter(COUNTS)).values()) > 800 and "zebra" not in drawn


POINTS: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "attributes": [
        {
            "name": name,
            "kind": "number",
            "low": 0,
            "high": 1,
            "edges": [i / 16 for i in range(17)],
            "outside": "clamp",
        }
        for name in ("north", "east")
    ],
    "places": [{"name": "home", "latitude": "north", "longitude": "east"}],
}


ROOTS: dict[str, dict[str, Any]] = {
    "the texts they hold": {"texts": [""], "partial": [0]},
    "where they lie": {"levels": [0], "cells": [0]},
}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("table", "document", "words"),
    [
        (TABLE, DOMAIN, "the texts they hold"),
        ("north,east\n" + "0.1,0.2\n" * 500, POINTS, "where they lie"),
    ],
)
def test_a_tree_of_its_root_alone_is_told_with_what_helps(
    cast: Cast, browser: Callable[..., Client], table: str, document: dict[str, Any], words: str
) -> None:
    release = scene.released(
        cast, mechanism="adaptive", epsilon="4", name="Few", table=table, document=document
    )
    client, address = browser(cast.steward), reverse("releases:about", args=[release.code])

    def read_notes() -> Any:
        return Caller(cast.steward, "read").get(f"/releases/{release.code}/").json()["notes"]

    assert not read_notes()["noise"] and not read_notes()["root_alone"]
    assert "Nothing stood out" not in client.get(address).text
    noise = {"notes": {"noise": True, "opened_from": 1_234}}
    release.model |= noise
    release.save(update_fields=["model"])
    for name in ("about", "look", "tree"):
        page = client.get(reverse(f"releases:{name}", args=[release.code])).text
        assert (
            "stood out of the noise: of a table without records" in page
            and "from about 1,234 records on" in page
        )
        assert (
            f"says of {words} what noise says" in page and "a larger ε or more records" in page
        )
    notes = read_notes()
    assert (notes["noise"], notes["opened_from"], notes["root_alone"]) == (True, 1_234, False)
    release.model["tree"] |= ROOTS[words] | {"weights": [WHOLE]}
    release.save(update_fields=["model"])
    tree = Model.from_json(release.model).tree
    assert tree is not None and factory.root_alone(tree)
    page = client.get(address).text
    assert (
        "Nothing stood out of the noise but the number of records. The release is valid, and says"
        in page
    )
    assert f"says nothing of {words}" in page and "a larger ε or more records" in page
    notes = read_notes()
    assert (
        notes["root_alone"]
        and len(notes["sentences"]) == 1
        and f"says nothing of {words}" in notes["sentences"][0]
    )
    del release.model["notes"]  # as of a release from before there were any
    release.save(update_fields=["model"])
    assert read_notes() == notes | {"noise": None, "opened_from": None, "ended": None}


@pytest.mark.django_db
def test_texts_are_compared_as_described_under_a_heading_of_their_own(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    signs = SIGNS | {"case": "lower", "replace": {"-": ""}}
    document = DOMAIN | {"attributes": [{"name": "word", "kind": "weak", "values": signs}]}
    table = TABLE.replace("abba", "Ab-ba")
    release = scene.released(
        cast, mechanism="adaptive", epsilon="4", name="Words", table=table, document=document
    )
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    page = browser(cast.steward).get(reverse("releases:compare-all", args=[release.code])).text
    assert (
        'id="texts-title">Texts found again</h2>' in page
        and "Distances between places" not in page
    )
    assert page.index("<dt>Texts of word</dt>") < page.index("<dt>Single columns")
    assert 'href="#texts"' in page and "the rarest first" in page
    assert "40 of 1\u202f040 real records have a text outside what is declared." in page
    row = page.split("after their case was changed")[1].split("</tr>")[0]
    assert "300" in row


@pytest.mark.django_db
def test_texts_by_class_of_one_tree_are_shown_of_all_and_of_one_class(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    lines = [("cafe", "old"), ("abba", "young"), ("a", "old")]
    table = "word,age\n" + "".join(f"{text},{age}\n" * COUNTS[text] for text, age in lines)
    age = {"name": "age", "kind": "categorical", "values": ["young", "old"], "outside": "clamp"}
    document = DOMAIN | {"attributes": [*DOMAIN["attributes"], age]}
    parameters = {"together": "product"}
    release = scene.released(
        cast,
        mechanism="adaptive",
        # Where nobody is young and begins with c, noise must not look like a record: at an epsilon of 4 it
        # does now and then.
        epsilon="60",
        name="By age",
        table=table,
        document=document,
        parameters=parameters,
    )
    client, address = browser(cast.steward), reverse("releases:tree", args=[release.code])
    page = client.get(address).text
    assert (
        "<option selected>" not in page
        and "<option>age: young</option>" in page
        and "Records by class" in page
    )
    assert 'href="?at=c#tree-texts"' in page and 'href="?at=a#tree-texts"' in page
    old = client.get(address, {"at": "c", "of": "age: old"}).text
    assert (
        "<option selected>age: old</option>" in old
        and 'href="?at=ca&amp;of=age%3A+old#tree-texts"' in old
    )
    young = client.get(address, {"at": "c", "of": "age: young"}).text
    assert "those of age: young" in young and "?at=ca&amp;" not in young
    assert "<option selected>" not in client.get(address, {"of": "age: none"}).text
    answer = client.get(reverse("releases:tree-csv", args=[release.code]) + "?what=cells")
    cells = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    most = max(cells, key=lambda row: float(row["records"]))
    assert (most["age"], most["beginning"][:1]) == ("old", "c") and set(most) >= {
        "depth",
        "signs",
        "ends",
    }
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    compared = client.get(reverse("releases:compare-all", args=[release.code])).text
    assert 'id="texts-title">Texts found again</h2>' in compared
    drawn = "".join(
        tables.stream_csv(
            services.draw_sample(user=cast.steward, release=release, rows=900, seed="tulip")
        )
    )
    found = Counter((row["word"], row["age"]) for row in csv.DictReader(io.StringIO(drawn)))
    assert found["cafe", "old"] > 400 and found["cafe", "young"] < 20
