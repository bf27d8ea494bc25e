"""The request log: every request has one line with time, id, address, person, route and status; no line has
an address that opens something."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from synthweb.accounts.services import create_token
from synthweb.lib import request_ids
from synthweb.server import configuration, limits
from tests.cast import Cast
from tests.web import log_lines
from tests.web.served import running

pytestmark = pytest.mark.django_db
SECRET = "9DE6xikWcanary7f3ahTQ"
FIELDS = {"time", "request", "address", "person", "route", "status", "milliseconds", "method"}


# --- through the server -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Asked:
    """A request, and what the log has to say of it."""

    method: str
    address: str
    route: str
    status: int
    headers: dict[str, str]
    person: str = "-"


def _asked(cast: Cast) -> list[Asked]:
    _, token = create_token(user=cast.steward, name="t", scopes=["read"], days=1)
    client = Client()
    client.force_login(cast.analyst)
    cookie = (
        f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    )
    bearer, session = {"Authorization": f"Bearer {token}"}, {"Cookie": cookie}
    steward, analyst = str(cast.steward.pk), str(cast.analyst.pk)
    public, reset = f"/public/{SECRET}/", f"/account/reset/MQ/{SECRET}/"
    routes = {
        public: "public/<slug:token>/",
        reset: "account/reset/<uidb64>/<token>/",
        f"/{SECRET}/": "-",
        f"/livez?{SECRET}": "livez",
        f"/static/{SECRET}.css": "static/",
    }
    strangers = [
        ("GET", public, 404),
        ("HEAD", public, 404),
        ("POST", public, 405),
        ("GET", reset, 200),
        ("POST", reset, 403),  # without a token against forged requests
        ("GET", f"/{SECRET}/", 404),
        ("GET", f"/livez?{SECRET}", 200),
        ("GET", f"/static/{SECRET}.css", 404),
    ]
    return [
        *(
            Asked(method, address, routes[address], status, {})
            for method, address, status in strangers
        ),
        Asked("GET", f"{public}?%00", routes[public], 400, {}),
        Asked("GET", public, routes[public], 400, {"Host": "elsewhere.example"}),
        Asked("GET", "/api/v1/me/", "api/v1/me/", 200, bearer, steward),
        Asked("DELETE", "/api/v1/me/", "api/v1/me/", 403, bearer, steward),
        Asked("GET", f"/api/v1/{SECRET}", r"api/v1/(?P<path>(?s:.*))$", 404, bearer),
        Asked("GET", "/datasets/", "datasets/", 403, session, analyst),
        Asked("GET", "/datasets/abcdefghjk/", "datasets/<code:code>/", 404, session, analyst),
        Asked("GET", "/api/v1/me/", "api/v1/me/", 401, {"Authorization": f"Bearer {SECRET}"}),
    ]


def _ask(port: int, asked: Asked) -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Host": "localhost", "Referer": f"http://localhost/{SECRET}", **asked.headers}
    line.request(asked.method, asked.address, headers=headers)
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer.status, answer.headers.get(request_ids.HEADER, "")


@pytest.fixture
def environment() -> dict[str, str]:
    """The database of this test, for another process."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return {"DATABASE_URL": f"sqlite:///{name}"}
    return {"DATABASE_URL": os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", ["plain", "json"])
def test_each_request_has_one_line_and_no_line_an_address(
    cast: Cast, environment: dict[str, str], tmp_path: Path, form: str
) -> None:
    asked = _asked(cast)
    environment |= {"SYNTHWEB_LOG_FORMAT": form}
    with running(tmp_path, app="synthweb.wsgi:application", environment=environment) as port:
        answers = [_ask(port, each) for each in asked]
        with socket.create_connection(("127.0.0.1", port)) as refused:
            refused.sendall(
                b"GET /public/" + SECRET.encode() * limits.LONGEST_LINE + b"/ HTTP/1.1\r\n\r\n"
            )
            assert refused.recv(12) == b"HTTP/1.1 414"
    text = (tmp_path / "log").read_text()
    assert SECRET not in text
    for user in (cast.steward, cast.analyst):
        assert user.username not in text
    lines = log_lines.of_requests(text)
    assert all(set(line) >= FIELDS for line in lines)
    # One form of all lines; those of an exception that follow one are indented.
    assert all(line.startswith("  ") or log_lines.read(line) for line in text.splitlines())
    [late] = [line for line in lines if line["status"] == "414"]
    assert (late["address"], late["route"]) == ("127.0.0.1", "-")
    for each, (status, name) in zip(asked, answers, strict=True):
        [line] = [line for line in lines if line["request"] == name]
        assert status == each.status
        said = [line[field] for field in ("method", "route", "status", "person", "address")]
        assert said == [each.method, each.route, str(status), each.person, "127.0.0.1"]
        assert datetime.fromisoformat(line["time"]).utcoffset() == timedelta(0)
        assert int(line["milliseconds"]) >= 0


# --- within the application ---------------------------------------------------------------------------------
def _raising(error: Exception) -> Callable[..., HttpResponse]:
    def view(_request: HttpRequest, token: str) -> HttpResponse:
        raise error

    return view


def _returning(status: int) -> Callable[..., HttpResponse]:
    def view(_request: HttpRequest, token: str) -> HttpResponse:
        return HttpResponse(status=status)

    return view


VIEWS = {
    "value": _raising(ValueError("no words")),
    "denied": _raising(PermissionDenied()),
    "absent": _raising(Http404()),
    "bad": _raising(BadRequest()),
    "suspicious": _raising(SuspiciousOperation("no words")),
    **{str(status): _returning(status) for status in (400, 403, 404, 405, 410, 500, 503, 507)},
}
urlpatterns = [path(f"{name}/<str:token>/", view) for name, view in VIEWS.items()]


@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.parametrize("form", ["plain", "json"])
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("token", [SECRET, f"{SECRET}-\u00fc\n"])
def test_whatever_a_page_answers_its_address_stays_out_of_the_log(
    form: str, name: str, token: str
) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    with log_lines.kept(form) as written:
        answers = [client.get(f"/{name}/{token}/"), client.post(f"/{name}/{token}/")]
    assert SECRET not in "".join(written)
    lines = log_lines.of_requests("\n".join(written))
    assert [line["route"] for line in lines] == [f"{name}/<str:token>/"] * 2
    assert [line["request"] for line in lines] == [
        answer.headers[request_ids.HEADER] for answer in answers
    ]
    # Every line belongs to a request.
    heads = [log_lines.read(line.splitlines()[0]) for line in written]
    assert {head["request"] for head in heads} == {line["request"] for line in lines}


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "6.6.6.6", "127.0.0.1"),
        (1, "6.6.6.6, 192.0.2.7", "192.0.2.7"),
        (1, 'a\tb=c "d', 'a\tb=c "d'),
    ],
)
def test_the_address_is_the_one_that_our_own_proxies_saw(
    settings: object, proxies: int, forwarded: str, address: str
) -> None:
    settings.PROXIES = proxies  # type: ignore[attr-defined]
    for form in ("plain", "json"):
        with log_lines.kept(form) as written:
            Client().get("/livez", headers={"X-Forwarded-For": forwarded})
        [line] = log_lines.of_requests("\n".join(written))
        assert line["address"] == address


def test_both_forms_say_the_same() -> None:
    with log_lines.kept("plain") as plain, log_lines.kept("json") as json_:
        Client().get("/nowhere/")
    assert [log_lines.read(line) for line in plain] == [log_lines.read(line) for line in json_]


def test_logs_go_to_one_place() -> None:
    """The standard error of each process, from where an operator sends them on; the server has no other log
    of its own."""
    assert {
        name: handler["class"] for name, handler in settings.LOGGING["handlers"].items()
    } == {"console": "logging.StreamHandler"}
    assert settings.LOGGING["root"]["handlers"] == ["console"]
    assert not any(logger.get("handlers") for logger in settings.LOGGING["loggers"].values())
    assert configuration.accesslog is None
