"""A body that is too large is refused by its stated length, before a byte of it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as limits
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import get_resolver
from pytest_django import Settings

from synthweb.lib import bodies, env
from synthweb.lib.env import refuse_demo_users_for_others
from tests.cast import Cast
from tests.web.rest import PROBLEM, Caller

Browser = Callable[..., Client]


class Unreadable:
    """A body of which nothing may be read."""

    def read(self, *_: Any) -> bytes:
        raise AssertionError("the body was read")

    readline = read

    def close(self) -> None:
        """Nothing."""


def _post(client: Client, path: str, *, length: int, kind: str, **headers: Any) -> Any:
    return client.generic(
        "POST",
        path,
        b"",
        content_type=kind,
        **{"CONTENT_LENGTH": str(length), "wsgi.input": Unreadable()},
        **headers,
    )


@pytest.mark.parametrize(
    "kind", ["application/json", "multipart/form-data; boundary=x", "text/csv"]
)
@pytest.mark.parametrize(
    "path", ["/account/login/", "/datasets/upload/", "/api/v1/runs/", "/api/v1/datasets/"]
)
def test_a_stated_length_above_the_limit_is_refused_unread(
    cast: Cast, browser: Browser, settings: Settings, path: str, kind: str
) -> None:
    settings.UPLOAD_MAX_BYTES = 10 * limits.DATA_UPLOAD_MAX_MEMORY_SIZE
    rest = path.startswith("/api/")
    client = Caller(cast.steward, "spend").client if rest else browser(cast.steward)
    refused = _post(
        client, path, length=settings.UPLOAD_MAX_BYTES + bodies.FORM_SLACK + 1, kind=kind
    )
    assert refused.status_code == 413
    assert refused["Content-Type"].startswith(PROBLEM if rest else "text/plain")
    assert b"nothing of it was read" in refused.content


def test_only_addresses_that_take_tables_take_large_bodies(
    cast: Cast, browser: Browser
) -> None:
    length = limits.DATA_UPLOAD_MAX_MEMORY_SIZE + bodies.FORM_SLACK + 1
    for path in ("/account/login/", "/datasets/"):
        refused = _post(
            browser(cast.steward), path, length=length, kind="multipart/form-data; boundary=x"
        )
        assert refused.status_code == 413, path
    taken = _post(
        browser(cast.steward),
        "/datasets/upload/",
        length=length,
        kind="multipart/form-data; boundary=x",
    )
    assert taken.status_code == 422  # it was looked at, and broke off


def test_every_view_that_receives_a_table_says_so() -> None:
    """Whatever reads a stream of a table is marked, and nothing else."""
    marked = set()
    waiting = list(get_resolver().url_patterns)
    while waiting:
        pattern = waiting.pop()
        if hasattr(pattern, "url_patterns"):
            waiting.extend(pattern.url_patterns)
            continue
        view = pattern.callback
        owner = getattr(view, "cls", view)
        if getattr(owner, "takes_table", False):
            marked.add(f"{owner.__module__}.{owner.__name__}")
    assert marked == {
        "synthweb.pages.uploads.new",
        "synthweb.pages.lifecycle.replace",
        "synthweb.references.views.new",
        "synthweb.references.views.add_version",
        "synthweb.api.views.datasets.DatasetsViewSet",
        "synthweb.api.views.datasets.FileViewSet",
        "synthweb.api.views.references.ReferencesViewSet",
        "synthweb.api.views.references.VersionsView",
        "synthweb.api.views.uploads.UploadView",
    }


def test_demo_users_do_not_start_while_others_are_served() -> None:
    refuse_demo_users_for_others(demo_users=True, hosts=sorted(env.LOCAL))
    refuse_demo_users_for_others(demo_users=False, hosts=["synthweb.example.org"])
    for hosts in (["localhost", "synthweb.example.org"], ["*"]):
        with pytest.raises(ImproperlyConfigured, match="SYNTHWEB_DEMO_USERS"):
            refuse_demo_users_for_others(demo_users=True, hosts=hosts)
