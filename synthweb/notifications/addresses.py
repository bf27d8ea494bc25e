"""Which addresses a webhook may have: https alone, and never a machine inside the network of this server.

A host name is resolved once, for each delivery. Every address of the answer is checked, and the connection
goes to one of those that were checked: a name that resolves differently the second time (DNS rebinding)
changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from concurrent.futures import Future
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from synthweb.notifications.models import URL_LENGTH

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HTTPS_PORT = 443
# What Python counts as global, in some version or in all, and is not the internet at large.
_REFUSED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "100.64.0.0/10",  # carriers' own, and metadata of a cloud
        "168.63.129.16/32",  # metadata of a cloud
        "192.0.0.0/24",  # protocol assignments, and metadata of a cloud
        "192.88.99.0/24",  # relays of 6to4
        "198.18.0.0/15",  # benchmarks
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
# The only part of IPv6 that is given out for the internet at large (RFC 4291, section 2.4; IANA).
_UNICAST = ipaddress.IPv6Network("2000::/3")
# Networks whose addresses end in the IPv4 address to which a translator would send them.
_ENDING_IN_IPV4 = tuple(
    ipaddress.IPv6Network(text)
    for text in (
        "::ffff:0:0/96",  # IPv4-mapped (RFC 4291)
        "::ffff:0:0:0/96",  # IPv4-translated (RFC 2765)
        "64:ff9b::/96",  # NAT64 (RFC 6052)
    )
)
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")  # before the IPv4 address (RFC 5214)


class NotAllowed(Exception):
    """The host has an address that is not public."""


def require_allowed_form(url: str) -> None:
    """Raise ValidationError unless `url` is an https address that may be public. Nothing is resolved: that
    happens at each delivery."""
    if len(url) > URL_LENGTH or not url.isascii() or not url.isprintable() or " " in url:
        raise _invalid(
            _("An address is at most %(length)s ASCII characters without blanks.")
            % {"length": URL_LENGTH}
        )
    parts = _split(url)
    if parts is None or not parts.hostname:
        raise _invalid(_("This is not an address; write https://, a host and a path."))
    if parts.scheme != "https":
        raise _invalid(_("A webhook is called by https alone."))
    if parts.username is not None or parts.password is not None:
        raise _invalid(_("An address here has no user name or password: check the signature."))
    if parts.fragment:
        raise _invalid(_("An address here has no part after #."))
    literal = _literal(parts.hostname)
    if literal is not None and not is_allowed(literal):
        raise _invalid(_("The address is not public. Webhooks call public addresses alone."))


def _invalid(message: str) -> ValidationError:
    return ValidationError(message, code="webhook-address")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _port = parts.port  # a port that is no number
    except ValueError:
        return None
    return parts


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def host_of(url: str) -> str:
    """The host of a registered address: what logs and pages name."""
    return urlsplit(url).hostname or ""


def port_of(url: str) -> int:
    """Its port."""
    return urlsplit(url).port or HTTPS_PORT


def resolve(host: str, port: int, *, seconds: float) -> list[str]:
    """The addresses of a host, resolved now and all of them allowed.

    Raises NotAllowed if one of them is not, OSError if there is none, TimeoutError if none came within
    `seconds`."""
    answers = _looked_up(host, port, seconds=seconds)
    texts = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    # All and not any: a name that has a private address besides a public one is refused.
    if not texts or not all(is_allowed(ipaddress.ip_address(text)) for text in texts):
        raise NotAllowed(host)
    return texts


def _looked_up(host: str, port: int, *, seconds: float) -> list[Any]:
    """The answer of `socket.getaddrinfo`, which knows no time-out. The thread of one that took too long ends
    when the resolver of the system gives up, and keeps no process from ending."""
    answer: Future[list[Any]] = Future()

    def look_up() -> None:
        try:
            answer.set_result(
                socket.getaddrinfo(
                    host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
                )
            )
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            answer.set_exception(error)

    threading.Thread(target=look_up, name="name look-up", daemon=True).start()
    return answer.result(timeout=seconds)


def is_allowed(address: Address) -> bool:
    """Whether a delivery may go to an address: it is public, or in a network that the settings allow. So must
    be every IPv4 address that it stands for.

    A provider's own network of translators (RFC 5969, RFC 6052 with a prefix of its own) looks like any
    other: where there is one beside the workers, its operator keeps it from reaching inside."""
    return all(_is_allowed_itself(each) for each in _meanings(address))


def _is_allowed_itself(address: Address) -> bool:
    if any(_is_in(address, network) for network in allowed_networks()):
        return True
    return (
        address.is_global
        and not address.is_multicast
        and (address.version == 4 or address in _UNICAST)
        and not any(_is_in(address, network) for network in _REFUSED)
    )


def allowed_networks() -> list[Network]:
    """The networks of `SYNTHWEB_WEBHOOK_NETWORKS`."""
    return [ipaddress.ip_network(text) for text in settings.WEBHOOK_NETWORKS]


def _meanings(address: Address) -> list[Address]:
    """Every address that a network could take this one for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if any(address in network for network in _ENDING_IN_IPV4):
        return [ipaddress.IPv4Address(address.packed[-4:])]
    # An ISATAP address is one of its own network as well; the rest of a 6to4 address is the affair of its
    # network.
    meanings: list[Address] = [address.sixtofour or address]
    if address.packed[8:12] in _ISATAP:
        meanings.append(ipaddress.IPv4Address(address.packed[-4:]))
    return meanings


def _is_in(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
