"""ID tokens of a provider that lies: one whose signature, issuer, audience, times or nonce is wrong signs
nobody in."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from django.test import Client
from pytest_django import Settings

from synthweb.accounts import identity_provider
from synthweb.accounts.models import User
from tests.cast import Cast

CLIENT_ID = "synthweb"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Provider(ThreadingHTTPServer):
    """Says what an OpenID provider says of itself, and gives out the token that a test chose."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.issuer = f"http://localhost:{self.server_port}"
        self.key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        self.token = ""

    def sign(
        self,
        claims: dict[str, Any],
        *,
        algorithm: str = "RS256",
        key: rsa.RSAPrivateKey | None = None,
    ) -> None:
        header = {"alg": algorithm, "typ": "JWT", "kid": "1"}
        signed = ".".join(_text(json.dumps(part).encode()) for part in (header, claims))
        signature = b""
        if algorithm != "none":
            signature = (key or self.key).sign(
                signed.encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        self.token = f"{signed}.{_text(signature)}"

    def documents(self) -> dict[str, dict[str, Any]]:
        numbers = self.key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256"}
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            },
            "/keys": {"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]},
            "/token": {"access_token": "a", "token_type": "Bearer", "id_token": self.token},
        }


class Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        body = json.dumps(self.server.documents()[urlsplit(self.path).path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider(settings: Settings, cast: Cast) -> Iterator[Provider]:
    with Provider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.OIDC_ISSUER = server.issuer
        settings.OIDC_CLIENT_ID = settings.OIDC_CLIENT_SECRET = CLIENT_ID
        settings.OIDC_ORGANISATION = cast.organisation.name
        settings.OIDC_ROLES = ["stewards=steward"]
        settings.SITE_URL = "http://testserver"
        identity_provider.forget_configuration()
        yield server
        identity_provider.forget_configuration()
        server.shutdown()


ELSEWHERE = {
    "issuer": {"iss": "http://localhost:1"},
    "audience": {"aud": "another-application"},
    "nonce": {"nonce": "of-another-sign-in"},
    "expired": {"exp": 1_000_000_000},
}


@pytest.mark.parametrize("fault", ["", "key", "unsigned", "no nonce", *ELSEWHERE])
def test_a_token_that_is_not_for_this_sign_in_signs_nobody_in(
    provider: Provider, fault: str
) -> None:
    client = Client()
    there = parse_qs(urlsplit(client.get("/account/login/provider/")["Location"]).query)
    now = int(time.time())
    claims: dict[str, Any] = {
        "iss": provider.issuer,
        "sub": "1",
        "aud": CLIENT_ID,
        "iat": now,
        "exp": now + 3600,
        "nonce": there["nonce"][0],
        "preferred_username": "ada",
        "groups": ["stewards"],
        **ELSEWHERE.get(fault, {}),
    }
    if fault == "no nonce":
        del claims["nonce"]
    other = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    provider.sign(
        claims,
        algorithm="none" if fault == "unsigned" else "RS256",
        key=other if fault == "key" else None,
    )
    answer = client.get(
        "/account/login/provider/return/", {"code": "1", "state": there["state"][0]}
    )
    is_in = client.get("/account/").status_code == 200
    assert (answer.status_code, is_in) == ((403, False) if fault else (302, True))
    assert User.objects.filter(username="ada").exists() == (not fault)
