"""No inline or eval script anywhere: the header says so on every page, and no page needs it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from tests.cast import Cast
from tests.web import addresses, scene
from tests.web.html import html_of

DATA_BLOCKS = {"application/json"}
OWN = re.compile(r"^(/(?!/)|#|\?|$)")  # our own server: a path, never a scheme or a host
SCRIPTED = re.compile(r"^\s*(javascript|data|vbscript):", re.I)


class Faults(HTMLParser):
    """Reads a page and collects what a strict policy would block or what leaves our own server."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._inline: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name.lower(): value or "" for name, value in attrs}
        self._check_attributes(tag, given)
        if tag == "style":
            self.found.append("a style element")
        if tag == "script" and "src" not in given and given.get("type") not in DATA_BLOCKS:
            self._inline = "script"
        if tag in ("iframe", "object", "embed", "base"):
            self.found.append(f"a {tag} element")
        for name in ("src", "href", "action", "formaction", "hx-get", "hx-post"):
            if (
                name in given
                and tag not in ("a",)
                and not OWN.match(given[name])
                and not given[name].startswith("data:image/")
            ):
                self.found.append(f"{tag} {name} leaves our server: {given[name][:60]}")

    def _check_attributes(self, tag: str, given: dict[str, str]) -> None:
        for name, value in given.items():
            if name.startswith(("on", "hx-on")):
                self.found.append(f"{tag} has {name}")
            if (
                name in ("href", "src", "action")
                and SCRIPTED.match(value)
                and not value.startswith("data:image/")
            ):
                self.found.append(f"{tag} {name} is {value[:30]}")
            if name == "hx-trigger" and "[" in value:
                self.found.append(f"{tag} hx-trigger has a filter, which needs eval")
            if name in ("hx-vals", "hx-headers") and value.strip().startswith(
                ("js:", "javascript:")
            ):
                self.found.append(f"{tag} {name} needs eval")

    def handle_data(self, data: str) -> None:
        if self._inline and data.strip():
            self.found.append("an inline script")
        self._inline = None

    def handle_endtag(self, tag: str) -> None:
        self._inline = None


def faults_of(html: str) -> list[str]:
    reader = Faults()
    reader.feed(html)
    return reader.found


def directives(header: str) -> dict[str, list[str]]:
    parts = (part.split() for part in header.split(";") if part.strip())
    return {name: values for name, *values in parts}


def assert_strict(response: Any, where: str) -> None:
    policy = directives(response.get("Content-Security-Policy", ""))
    assert policy.get("script-src") == ["'self'"], (where, policy)
    assert policy.get("default-src") == ["'self'"], where
    assert policy.get("object-src") == ["'none'"], where
    assert policy.get("frame-ancestors") == ["'none'"], where
    assert policy.get("base-uri") == ["'none'"], where
    assert "'unsafe-inline'" not in policy.get("style-src-elem", ["'unsafe-inline'"]), where
    assert response["X-Content-Type-Options"] == "nosniff", where
    # A file to be saved is no page: it opens from a disk, and has its style sheet in it.
    saved = response.get("Content-Disposition", "").startswith("attachment")
    if response["Content-Type"].startswith("text/html") and not saved:
        assert faults_of(html_of(response)) == [], where


@pytest.mark.parametrize(
    "page",
    [
        "<script>alert(1)</script>",
        "<style>a{}</style>",
        "<p onclick='x()'>",
        "<a href='javascript:x()'>",
        "<script src='https://elsewhere.example/x.js'></script>",
        "<link rel=stylesheet href='//elsewhere.example/x.css'>",
        "<div hx-on:click='x()'>",
        "<div hx-trigger='click[x]'>",
        "<iframe src='/x'></iframe>",
    ],
)
def test_the_reader_finds_what_it_is_for(page: str) -> None:
    assert faults_of(page)


@pytest.mark.same_on_every_database  # asks what the table of test_authorisation_matrix.py asks
@pytest.mark.slow
def test_every_page_carries_the_policy_and_keeps_it(cast: Cast) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    pages = 0
    for person in (None, cast.steward, cast.custodian, cast.auditor, cast.staff, played.reader):
        client = Client()
        if person is not None:
            client.force_login(person)
        for route in addresses.routes():
            if route.startswith(addresses.ADMIN) or "logout" in route or route == "readyz":
                continue
            response = client.get(
                addresses.fill(route, scene=played, cast=cast), headers={"Accept": "*/*"}
            )
            if not response.streaming:
                assert_strict(response, f"{route} as {person}")
                pages += (
                    response["Content-Type"].startswith("text/html")
                    and response.status_code == 200
                )
    assert pages > 60


@pytest.mark.slow
def test_a_page_without_anything_on_it_yet_keeps_the_policy_too(cast: Cast) -> None:
    dataset = scene.upload(steward=cast.steward, organisation=cast.organisation)
    client = Client()
    client.force_login(cast.steward)
    for address in (
        "/",
        "/datasets/",
        f"/datasets/{dataset.code}/",
        f"/datasets/{dataset.code}/upload/",
        "/releases/",
    ):
        assert_strict(client.get(address), address)


def test_the_administration_has_a_policy_of_its_own_and_nothing_else_has_it(
    cast: Cast, client: Client
) -> None:
    client.force_login(cast.auditor)
    for address in ("/admin/", "/admin/ledger/ledgerentry/", "/admin/audit/auditentry/"):
        response = client.get(address)
        assert response.status_code == 200, address
        policy = directives(response["Content-Security-Policy"])
        assert policy["script-src"] == ["'self'", "'unsafe-eval'", "'unsafe-inline'"]
        assert policy["default-src"] == ["'self'"]
        assert policy["frame-ancestors"] == ["'none'"]
    assert_strict(client.get("/ledger/"), "/ledger/")


def test_error_pages_keep_the_policy(cast: Cast, client: Client) -> None:
    client.force_login(cast.analyst)
    for address, status in (
        ("/nowhere/", 404),
        ("/ledger/audit/", 403),
        ("/account/people/", 403),
    ):
        response = client.get(address)
        assert response.status_code == status
        assert_strict(response, address)
    careful = Client(enforce_csrf_checks=True)
    response = careful.post("/account/login/", {})
    assert response.status_code == 403
    assert_strict(response, "csrf")


def test_no_template_has_an_inline_script_or_style() -> None:
    for path in Path(settings.BASE_DIR / "templates").rglob("*.html"):
        text = re.sub(
            r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", "", path.read_text(), flags=re.S
        )
        assert not re.search(r"<style\b", text), path
        assert not re.search(r"\son\w+\s*=\s*[\"']", text), path
        for script in re.findall(r"<script\b([^>]*)>", text):
            assert "src=" in script or 'type="application/json"' in script, path


def test_no_script_of_ours_builds_code_from_text() -> None:
    for path in Path(settings.BASE_DIR / "static" / "js").glob("*.js"):
        assert not re.search(
            r"\beval\s*\(|new Function\s*\(|document\.write", path.read_text()
        ), path


@pytest.mark.parametrize("address", ["/account/login/", "/livez", "/api/v1/datasets/"])
def test_every_answer_keeps_sensors_and_devices_from_pages(db: None, address: str) -> None:
    policy = Client().get(address).headers["Permissions-Policy"]
    assert {"camera=()", "geolocation=()", "microphone=()", "usb=()"} <= set(policy.split(", "))
