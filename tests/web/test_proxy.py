"""docs/nginx.conf, started as it stands but for its names, ports and files: what it passes on, keeps back and
refuses."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import get_resolver

from synthweb.server import limits
from tests import services, shipped_proxy
from tests.shipped_proxy import CONFIGURATION, Proxy
from tests.web.served import PATIENCE, parts, running, to_the_end

NAME = "synthweb.example.org"
MANY = 20  # slow clients, twice the threads of the server, and fewer than one address may have connections


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    services.require(services.find_nginx)
    folder = tmp_path_factory.mktemp("proxy")
    with (
        running(folder) as port,
        shipped_proxy.running(folder, port=port, name=NAME) as started,
    ):
        yield started


def _connect(proxy: Proxy) -> socket.socket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = socket.create_connection(("127.0.0.1", proxy.secure), timeout=PATIENCE)
    return context.wrap_socket(client, server_hostname=NAME)


def _head(path: str, length: int | None = None, *headers: str) -> bytes:
    method = "GET" if length is None else "POST"
    lines = [f"{method} {path} HTTP/1.1", f"Host: {NAME}", "Connection: close", *headers]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _ask(proxy: Proxy, request: bytes) -> tuple[int, dict[str, str], bytes]:
    with _connect(proxy) as client:
        client.sendall(request)
        return parts(to_the_end(client))


@pytest.mark.slow
@pytest.mark.services
def test_it_leads_to_the_application_over_tls_and_keeps_health_inside(proxy: Proxy) -> None:
    assert json.loads(_ask(proxy, _head("/echo"))[2])["path"] == "/echo"
    assert _ask(proxy, _head("/livez"))[0] == 403
    assert _ask(proxy, _head("/readyz"))[0] == 403
    with socket.create_connection(("127.0.0.1", proxy.plain), timeout=PATIENCE) as client:
        client.sendall(_head("/echo"))
        status, headers, _body = parts(to_the_end(client))
    assert (status, headers["location"]) == (301, f"https://{NAME}/echo")


@pytest.mark.slow
@pytest.mark.services
def test_a_token_without_tls_is_refused_and_not_led_on(proxy: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.plain), timeout=PATIENCE) as client:
        client.sendall(_head("/api/v1/me/", None, "Authorization: Bearer x"))
        assert parts(to_the_end(client))[0] == 403


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize(
    ("ciphers", "taken"), [("ECDHE+AESGCM", True), ("ECDHE+AES:!AESGCM:!AESCCM", False)]
)
def test_ciphers_without_authentication_are_refused(
    proxy: Proxy, ciphers: str, taken: bool
) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    with socket.create_connection(("127.0.0.1", proxy.secure), timeout=PATIENCE) as client:
        refused = contextlib.nullcontext() if taken else pytest.raises(ssl.SSLError)
        with refused, context.wrap_socket(client, server_hostname=NAME):
            pass


@pytest.mark.slow
@pytest.mark.services
def test_what_clients_say_of_where_they_come_from_is_replaced(proxy: Proxy) -> None:
    lies = (
        "X-Forwarded-For: 6.6.6.6",
        "X-Forwarded-Proto: http",
        "Forwarded: for=6.6.6.6",
        "X-Forwarded-Host: evil",
    )
    said = json.loads(_ask(proxy, _head("/echo", None, *lies))[2])["forwarded"]
    assert said == {"HTTP_X_FORWARDED_FOR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"}


@pytest.mark.slow
@pytest.mark.services
def test_slow_clients_do_not_reach_the_application(proxy: Proxy) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(MANY):
            client = stack.enter_context(_connect(proxy))
            client.sendall(_head("/echo", 1000) + b"x" * number)
        assert _ask(proxy, _head("/echo"))[0] == 200


@pytest.mark.slow
@pytest.mark.services
def test_one_address_has_so_many_connections(proxy: Proxy) -> None:
    most = int(re.findall(r"limit_conn synthweb_connections (\d+);", CONFIGURATION)[0])
    with contextlib.ExitStack() as stack:
        for _ in range(most):
            client = stack.enter_context(_connect(proxy))
            client.sendall(_head("/echo", 1000))
        statuses = {_ask(proxy, _head("/echo"))[0] for _ in range(3)}
    assert 429 in statuses
    while _ask(proxy, _head("/echo"))[0] != 200:  # until it has noticed that they are gone
        pass


@pytest.mark.slow
@pytest.mark.services
def test_a_table_is_passed_on_as_it_comes_in_and_nothing_else_that_is_large(
    proxy: Proxy,
) -> None:
    assert _ask(proxy, _head("/echo", 8 * 1024**2))[0] == 413
    body = b"row\n" * (3 * 1024**2)
    assert len(body) > limits.BUFFERED_BODY
    with _connect(proxy) as client:
        client.sendall(_head("/api/v1/datasets/", len(body)))
        client.sendall(body[: len(body) // 2])
        assert not list((proxy.folder / "body").iterdir())
        client.sendall(body[len(body) // 2 :])
        said = json.loads(parts(to_the_end(client))[2])
    assert said["sha256"] == hashlib.sha256(body).hexdigest()
    assert not list((proxy.folder / "body").iterdir())


@pytest.mark.slow
@pytest.mark.services
def test_no_log_has_an_address_but_each_request_its_id(tmp_path: Path) -> None:
    services.require(services.find_nginx)
    secret = "9DE6xikWcanary7f3ahTQ"
    with contextlib.ExitStack() as stack:
        away = services.free_port()  # nobody listens there: nginx has an error to tell
        here = stack.enter_context(running(tmp_path))
        for port, status in ((here, 200), (away, 502)):
            folder = tmp_path / str(status)
            folder.mkdir()
            proxy = stack.enter_context(shipped_proxy.running(folder, port=port, name=NAME))
            lie = "X-Request-ID: lie-of-a-client"
            answer = _ask(proxy, _head(f"/public/{secret}/?q={secret}", None, lie))
            assert answer[0] == status
            many = int(re.findall(r"burst=(\d+)", CONFIGURATION)[0]) + 20
            statuses = {_ask(proxy, _head(f"/public/{secret}/"))[0] for _ in range(many)}
            with socket.create_connection(
                ("127.0.0.1", proxy.plain), timeout=PATIENCE
            ) as client:
                client.sendall(_head(f"/public/{secret}/"))
                assert parts(to_the_end(client))[0] == 301
            text = "".join(
                path.read_text(errors="replace")
                for path in proxy.folder.rglob("*log*")
                if path.is_file()
            )
            assert secret not in text
            lines = (proxy.folder / "synthweb.log").read_text().splitlines()
            assert len(lines) == many + 2
            form = re.compile(
                r"\S+T\S+\+00:00 request=[0-9a-f]{32} address=127\.0\.0\.1 method=GET status=(\d+) "
                r"seconds=\S+ bytes=\d+"
            )
            said = {re.fullmatch(form, line)[1] for line in lines}  # type: ignore[index]
            assert said == {"301", *map(str, {status, *statuses})}
            if status == 200:
                name = json.loads(answer[2])["request"]
                assert f"request={name} " in lines[0]


def test_the_addresses_that_are_not_buffered_are_those_that_take_tables() -> None:
    [pattern] = re.findall(r"location ~ (\^.+\$) \{", CONFIGURATION)
    seen = set()
    for path, takes in _addresses(get_resolver(), ""):
        assert bool(re.fullmatch(pattern, path)) is takes, path
        seen.add(takes)
    assert seen == {True, False}


def _addresses(resolver: object, before: str) -> Iterator[tuple[str, bool]]:
    """Every address of the application, with something for each part that varies, and whether it takes a
    table."""
    for one in resolver.url_patterns:  # type: ignore[attr-defined]
        path = before + re.sub(r"<[^>]+>", "7k3q", str(one.pattern))
        if hasattr(one, "url_patterns"):
            if "admin" not in path:
                yield from _addresses(one, path)
        elif not re.search(r"[\\^$(?]", path):
            view = one.callback
            yield f"/{path}", getattr(getattr(view, "cls", view), "takes_table", False)
