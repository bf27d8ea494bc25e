"""nginx with docs/nginx.conf as it stands but for names, ports and files, in front of a server of this
machine."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests import services

CONFIGURATION = (Path(__file__).resolve().parents[1] / "docs" / "nginx.conf").read_text()


@dataclass(frozen=True)
class Proxy:
    """Its ports without and with TLS, and the folder in which it runs."""

    plain: int
    secure: int
    folder: Path


@contextlib.contextmanager
def running(folder: Path, *, port: int, name: str, connections: int = 512) -> Iterator[Proxy]:
    """The proxy of a server at `port`, with a certificate for `name` that is written to `folder`."""
    _certificate(folder, name)
    plain, secure = services.free_port(), services.free_port()
    text = CONFIGURATION.replace("/etc/ssl/synthweb/", f"{folder}/").replace(
        "127.0.0.1:8000", f"127.0.0.1:{port}"
    )
    text = text.replace("/var/log/nginx/", "")
    text = re.sub(r"^ +listen \[::\].*\n", "", text, flags=re.MULTILINE)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};")
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{secure} ssl;")
    ports = (plain, secure)
    with services.start_nginx(text, ports=ports, connections=connections) as started:
        yield Proxy(plain, secure, started)


def _certificate(folder: Path, host: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8, bare = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "fullchain.pem").write_bytes(signed.public_bytes(pem))
    (folder / "privkey.pem").write_bytes(key.private_bytes(pem, pkcs8, bare))
