"""A link with TLS in front of a service on this machine that has none: what a database or a broker elsewhere
looks like to a client."""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "localhost"
SSL_REQUEST = (
    b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # a client of PostgreSQL asks for TLS in the clear
)
Greet = Callable[[socket.socket], None]


@dataclass(frozen=True)
class Certificate:
    """A self-signed authority, which is the certificate of `localhost` as well."""

    certificate: Path
    key: Path


def certificate(folder: Path, name: str) -> Certificate:
    """A fresh one below a folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=2))
        .not_valid_after(today + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    paths.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def agree(client: socket.socket) -> None:
    """As PostgreSQL answers to whoever asks for TLS; whoever does not is sent away."""
    if client.recv(len(SSL_REQUEST), socket.MSG_WAITALL) != SSL_REQUEST:
        raise ConnectionError("a client that does not ask for TLS")
    client.sendall(b"S")


@contextlib.contextmanager
def forwarding(
    target: tuple[str, int] | str, *, of: Certificate, greet: Greet | None = None
) -> Iterator[int]:
    """The port of a link to an address or a Unix socket. greet: what comes before TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(of.certificate, of.key)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(
            target=_accept, args=(server, context, target, greet), daemon=True
        )
        thread.start()
        yield server.getsockname()[1]
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=10)


def _accept(
    server: socket.socket,
    context: ssl.SSLContext,
    target: tuple[str, int] | str,
    greet: Greet | None,
) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(
                target=_serve, args=(client, context, target, greet), daemon=True
            ).start()


def _serve(
    client: socket.socket,
    context: ssl.SSLContext,
    target: tuple[str, int] | str,
    greet: Greet | None,
) -> None:
    # A client that refuses the certificate goes away in the middle of all this.
    with contextlib.suppress(OSError), client:
        if greet is not None:
            greet(client)
        with context.wrap_socket(client, server_side=True) as inside, _open(target) as service:
            back = threading.Thread(target=_copy, args=(service, inside), daemon=True)
            back.start()
            _copy(inside, service)
            back.join(timeout=10)


def _open(target: tuple[str, int] | str) -> socket.socket:
    if isinstance(target, str):
        service = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        service.connect(target)
        return service
    return socket.create_connection(target)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
