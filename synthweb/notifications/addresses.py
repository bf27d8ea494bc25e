"""Which addresses a webhook may have: https alone, and never a machine inside the network of this server.

A host name is resolved once, for each delivery. Every address of the answer is checked, and the connection goes to one of
those that were checked: a name that resolves differently the second time (DNS rebinding) changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
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
        "::/96",  # IPv4-compatible, unspecified and loopback
        "64:ff9b:1::/48",  # NAT64 of a network of one's own
        "100::/64",  # discard
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class NotAllowed(Exception):
    """The host has an address that is not public."""


def require_allowed_form(url: str) -> None:
    """Raise ValidationError unless `url` is an https address that may be public. Nothing is resolved: that happens at each
    delivery."""
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


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, resolved now and all of them allowed. Raises NotAllowed if one of them is not, OSError if
    there is none."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    texts = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    # All and not any: a name that has a private address besides a public one is refused.
    if not texts or not all(is_allowed(ipaddress.ip_address(text)) for text in texts):
        raise NotAllowed(host)
    return texts


def is_allowed(address: Address) -> bool:
    """Whether a delivery may go to an address: it is public, or in a network that the settings allow."""
    carried = _carried(address)
    if any(_is_in(carried, network) for network in allowed_networks()):
        return True
    return (
        carried.is_global
        and not carried.is_multicast
        and not any(_is_in(carried, network) for network in _REFUSED)
    )


def allowed_networks() -> list[Network]:
    """The networks of `SYNTHWEB_WEBHOOK_NETWORKS`."""
    return [ipaddress.ip_network(text) for text in settings.WEBHOOK_NETWORKS]


def _carried(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one, by whichever way a network would find it; else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return ipaddress.IPv4Address(address.packed[-4:])
    return address


def _is_in(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
