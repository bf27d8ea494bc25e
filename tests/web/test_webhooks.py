"""Webhooks: signed, retried, switched off after days, and never sent to an address that is not public."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import socket
import threading
from base64 import b64decode, b64encode
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from synthweb.audit.models import AuditEntry
from synthweb.notifications import addresses, delivering, services
from synthweb.notifications.models import CHOSEN, Delivery, Event, Notification, Webhook
from tests.web import webhook_server
from tests.web.rest import Caller
from tests.web.webhook_server import HOST

pytestmark = pytest.mark.django_db
ALL = [event.value for event in CHOSEN]
SUBJECT = services.NotificationSubject(kind="release", code="abcdefghjk", name="Pendler Köln")
Problem, State = Delivery.Problem, Delivery.State


class Resolver:
    """Answers for the host of the tests, in turn; the last answer again and again. Literal addresses stay
    themselves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = [["127.0.0.1"]]
        self.asked = 0
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._resolve)

    def _resolve(self, host, port, *arguments, **keywords):
        if host != HOST:
            ipaddress.ip_address(host)  # nothing else is asked for in these tests
            return self._real(host, port, *arguments, **keywords)
        texts = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            (
                socket.AF_INET6 if ":" in text else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (text, port),
            )
            for text in texts
        ]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return webhook_server.certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def resolver(monkeypatch):
    return Resolver(monkeypatch)


@pytest.fixture
def server(certificate, resolver, settings, monkeypatch):
    """A server that the settings allow on purpose, with a certificate that is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    settings.WEBHOOK_NETWORKS = ["127.0.0.1/32"]
    settings.SITE_URL = "https://synthweb.example.org"
    with webhook_server.running(certificate) as running:
        yield running


@pytest.fixture
def webhook(server, cast) -> Webhook:
    return services.register_webhook(user=cast.analyst, url=server.url, events=ALL)[0]


def share(user, key: str = "1") -> Notification:
    return services.notify(event=Event.RELEASE_SHARED, people=[user], subject=SUBJECT, key=key)[
        0
    ]


def outcome(notification: Notification) -> tuple[str, str, int | None]:
    delivery = notification.deliveries.get()
    return delivery.state, delivery.problem, delivery.status


def make_due() -> None:
    Delivery.objects.update(due_at=timezone.now() - timedelta(seconds=1))


# --- what is sent -------------------------------------------------------------------------------------------
def test_a_delivery_is_signed_and_has_names_and_a_link_alone(server, webhook, cast) -> None:
    notification = share(cast.analyst)
    assert delivering.deliver() == 1
    ((headers, body),) = server.arrived
    assert json.loads(body) == {
        "id": notification.code,
        "event": "release.shared",
        "time": notification.at.isoformat(timespec="seconds"),
        "kind": "release",
        "code": "abcdefghjk",
        "name": "Pendler Köln",
        "link": "https://synthweb.example.org/releases/abcdefghjk/",
    }
    assert headers["host"] == f"{HOST}:{server.port}"
    assert headers["webhook-id"] == notification.code
    signed = f"{notification.code}.{headers['webhook-timestamp']}.".encode() + body
    key = b64decode(webhook.secret.removeprefix("whsec_"))
    assert len(key) == 32
    expected = b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert outcome(notification) == (State.SENT, "", 204)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example of its specification."""
    from synthweb.notifications.webhooks import sign

    assert (
        sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            identifier="msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp=1614265330,
            body=b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_an_event_that_nobody_asked_for_is_not_sent(server, cast) -> None:
    services.register_webhook(user=cast.analyst, url=server.url, events=["run.failed"])
    assert share(cast.analyst).deliveries.count() == 0


def test_a_test_arrives(server, webhook, browser, cast) -> None:
    address = reverse("notifications:test-webhook", args=[webhook.code])
    assert browser(cast.analyst).post(address).status_code == 302
    delivering.deliver()
    assert json.loads(server.arrived[0][1])["event"] == "webhook.test"
    assert reverse("notifications:index") not in json.loads(server.arrived[0][1])["link"][-1]


def test_redirects_are_not_followed(server, webhook, cast) -> None:
    server.status, server.location = 302, server.url
    notification = share(cast.analyst)
    delivering.deliver()
    assert len(server.arrived) == 1
    assert outcome(notification) == (State.WAITING, Problem.REFUSED, 302)


def test_a_failure_is_tried_again_under_the_same_id(server, webhook, cast) -> None:
    server.status = 500
    notification = share(cast.analyst)
    delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.REFUSED, 500)
    assert delivering.deliver() == 0
    server.status = 200
    make_due()
    delivering.deliver()
    assert outcome(notification) == (State.SENT, "", 200)
    assert len({headers["webhook-id"] for headers, _body in server.arrived}) == 1
    webhook.refresh_from_db()
    assert webhook.failing_since is None


def test_a_server_that_drips_is_left_after_its_time(server, webhook, cast, settings) -> None:
    settings.WEBHOOK_SECONDS = 0.4
    server.drips = True
    first, second = share(cast.analyst), share(cast.analyst, "2")
    assert delivering.deliver() == 1
    assert outcome(first) == (State.WAITING, Problem.TIMEOUT, None)
    assert outcome(second)[0] == State.WAITING


def test_a_server_that_does_not_begin_tls_is_left_after_its_time(
    server, cast, settings
) -> None:
    settings.WEBHOOK_SECONDS = 0.3
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://{HOST}:{silent.getsockname()[1]}/"
        services.register_webhook(user=cast.analyst, url=url, events=ALL)
        notification = share(cast.analyst)
        delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.TIMEOUT, None)


@pytest.mark.parametrize("late", [False, True])
def test_a_resolver_that_sleeps_is_left_after_the_time_of_the_call(
    server, webhook, resolver, cast, settings, monkeypatch, late
) -> None:
    """Late: its answer comes when the time is over and nobody waits any more."""
    settings.WEBHOOK_SECONDS = 0.3
    over, answered, real = threading.Event(), threading.Event(), socket.getaddrinfo

    def asleep(host, *arguments, **keywords):
        # Ends in any case: without a deadline of its own the delivery would succeed after this time.
        over.wait(20)
        try:
            if not late:
                raise socket.gaierror("no answer")
            return real(host, *arguments, **keywords)
        finally:
            answered.set()

    monkeypatch.setattr(socket, "getaddrinfo", asleep)
    notification = share(cast.analyst)
    try:
        delivering.deliver()
        assert not over.is_set() and not answered.is_set()
    finally:
        over.set()
    assert answered.wait(20)
    assert outcome(notification) == (State.WAITING, Problem.TIMEOUT, None)
    assert server.arrived == []


def test_a_resolver_that_fails_leaves_the_host_unreachable(
    server, webhook, cast, monkeypatch
) -> None:
    def fails(*_arguments, **_keywords):
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    notification = share(cast.analyst)
    delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.UNREACHABLE, None)


def test_nobody_listens(server, webhook, cast, settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    Webhook.objects.update(url=f"https://{HOST}:{port}/")
    notification = share(cast.analyst)
    delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.UNREACHABLE, None)


def test_the_certificate_must_be_that_of_the_host(
    server, webhook, cast, monkeypatch, tmp_path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(webhook_server.certificate(tmp_path, "other.org")))
    notification = share(cast.analyst)
    delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.CERTIFICATE, None)
    assert server.arrived == []


# --- to whom ------------------------------------------------------------------------------------------------
REFUSED = [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "169.254.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "192.88.99.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a00:1::",
    "::ffff:0:127.0.0.1",
    "::ffff:0:10.0.0.1",
    "::ffff:0:169.254.169.254",
    "::fffe:0:8.8.8.8",
    "2606:4700::5efe:127.0.0.1",
    "2606:4700::200:5efe:10.0.0.1",
    "fe80::5efe:8.8.8.8",
    "2002:808:808::5efe:127.0.0.1",
    "2002:7f00:1::5efe:8.8.8.8",
    "4000::1",
    "1::1",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "100::1",
    "5f00::1",
]
ALLOWED = [
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "2606:4700::1111",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
    "::ffff:0:8.8.8.8",
    "2606:4700::5efe:8.8.8.8",
    "2002:808:808::1",
]


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_are_not_public_are_refused(address) -> None:
    assert not addresses.is_allowed(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ALLOWED)
def test_public_addresses_are_allowed(address) -> None:
    assert addresses.is_allowed(ipaddress.ip_address(address))


def test_a_network_is_allowed_by_the_settings_alone(settings) -> None:
    inside = ipaddress.ip_address("10.1.2.3")
    assert not addresses.is_allowed(inside)
    settings.WEBHOOK_NETWORKS = ["10.1.0.0/16"]
    assert addresses.is_allowed(inside)
    assert addresses.is_allowed(ipaddress.ip_address("::ffff:10.1.2.3"))
    assert not addresses.is_allowed(ipaddress.ip_address("10.2.0.1"))


def test_by_default_no_network_is_allowed(settings) -> None:
    assert settings.WEBHOOK_NETWORKS == []


@pytest.mark.parametrize(
    "answer", [["127.0.0.2"], ["127.0.0.1", "10.0.0.1"], ["::ffff:127.0.0.2"], ["fe80::1"], []]
)
def test_one_address_that_is_not_public_is_enough(
    server, webhook, resolver, cast, answer
) -> None:
    resolver.answers = [answer]
    notification = share(cast.analyst)
    delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.ADDRESS, None)
    assert server.arrived == []


def test_a_name_that_changes_its_address_after_the_check_changes_nothing(
    certificate, server, webhook, resolver, cast
) -> None:
    """DNS rebinding: the first answer is allowed, the second is a server inside."""
    with webhook_server.running(certificate, address="127.0.0.9") as inside:
        Webhook.objects.update(url=f"https://{HOST}:{server.port}/hook")
        resolver.answers = [["127.0.0.1"], ["127.0.0.9"]]
        first = share(cast.analyst)
        delivering.deliver()
        assert resolver.asked == 1
        assert outcome(first)[0] == State.SENT
        second = share(cast.analyst, "2")
        delivering.deliver()
        assert outcome(second) == (State.WAITING, Problem.ADDRESS, None)
        assert (len(server.arrived), inside.arrived) == (1, [])


def test_an_address_that_was_allowed_once_is_checked_again(
    server, webhook, cast, settings
) -> None:
    settings.WEBHOOK_NETWORKS = []
    notification = share(cast.analyst)
    delivering.deliver()
    assert outcome(notification) == (State.WAITING, Problem.ADDRESS, None)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "example.org",
        "https://",
        "https:///path",
        "https://user:password@example.org/",
        "https://example.org/#part",
        "https://example.org:port/",
        "https://example.org:99999/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/",
        "https://exa mple.org/",
        "https://example.org/\nHost: other",
        "https://exämple.org/",
        "https://example.org/" + "x" * 500,
    ],
)
def test_other_addresses_are_refused_when_they_are_registered(cast, browser, url) -> None:
    with pytest.raises(ValidationError):
        services.register_webhook(user=cast.analyst, url=url, events=ALL)
    answer = browser(cast.analyst).post(
        reverse("notifications:webhooks"), {"url": url, "events": ["release.shared"]}
    )
    assert answer.status_code == 200
    assert not Webhook.objects.exists()


# --- over days ----------------------------------------------------------------------------------------------
def test_after_days_of_failure_a_webhook_is_switched_off_and_its_owner_notified(
    server, webhook, cast, browser
) -> None:
    server.status = 410
    share(cast.analyst)
    delivering.deliver()
    webhook.refresh_from_db()
    assert webhook.failing_since is not None
    assert webhook.disabled_at is None
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=5))
    later = share(cast.analyst, "2")
    waiting = share(cast.analyst, "3")
    delivering.deliver()
    webhook.refresh_from_db()
    assert webhook.disabled_at is not None
    assert {outcome(later)[0], outcome(waiting)[0]} == {State.CANCELLED}
    assert (
        Notification.objects.filter(user=cast.analyst, event=Event.WEBHOOK_DISABLED).count()
        == 1
    )
    assert AuditEntry.objects.filter(action="webhook.disabled").count() == 1
    assert share(cast.analyst, "4").deliveries.count() == 0
    address = reverse("notifications:enable-webhook", args=[webhook.code])
    assert browser(cast.analyst).post(address).status_code == 302
    assert share(cast.analyst, "5").deliveries.count() == 1


def test_without_access_nothing_is_sent(server, webhook, cast) -> None:
    notification = share(cast.analyst)
    cast.analyst.memberships.all().delete()
    delivering.deliver()
    assert outcome(notification)[0] == State.CANCELLED
    assert server.arrived == []


# --- pages --------------------------------------------------------------------------------------------------
def test_the_secret_is_shown_once(cast, browser) -> None:
    page = browser(cast.steward)
    address = reverse("notifications:webhooks")
    made = page.post(address, {"url": "https://example.org/x", "events": ALL})
    secret = Webhook.objects.get().secret
    assert secret in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    for other in (address, reverse("notifications:index")):
        assert secret not in page.get(other).content.decode()
    assert secret not in str(list(AuditEntry.objects.values("detail")))


def test_nobody_reaches_the_webhook_of_another(webhook, cast, browser) -> None:
    for name in ("test-webhook", "enable-webhook", "remove-webhook"):
        address = reverse(f"notifications:{name}", args=[webhook.code])
        assert browser(cast.steward).post(address).status_code == 404
    assert Webhook.objects.filter(pk=webhook.pk).exists()
    address = reverse("notifications:remove-webhook", args=[webhook.code])
    assert browser(cast.analyst).post(address).status_code == 302
    assert not Webhook.objects.exists()


def test_a_person_has_a_few_webhooks(cast, browser) -> None:
    for number in range(services.WEBHOOKS_PER_PERSON):
        services.register_webhook(
            user=cast.analyst, url=f"https://example.org/{number}", events=ALL
        )
    with pytest.raises(services.TooManyWebhooks):
        services.register_webhook(user=cast.analyst, url="https://example.org/x", events=ALL)
    form = {"url": "https://example.org/x", "events": ["run.failed"]}
    page = browser(cast.analyst).post(reverse("notifications:webhooks"), form)
    assert page.status_code == 200
    assert 'value="https://example.org/x"' in page.content.decode()


def test_somebody_without_an_organisation_registers_none(cast, browser) -> None:
    cast.analyst.memberships.all().delete()
    form = {"url": "https://example.org/x", "events": ["run.failed"]}
    answer = browser(cast.analyst).post(reverse("notifications:webhooks"), form)
    assert answer.status_code == 403


# --- by REST ------------------------------------------------------------------------------------------------
ADDRESS = "/webhooks/"
WANTED = {"url": "https://hooks.example.org/here", "events": ["release.shared"]}


def test_programs_register_test_and_remove_webhooks(cast) -> None:
    calls = Caller(cast.analyst, "read", "webhooks")
    made = calls.send(ADDRESS, WANTED)
    assert made.status_code == 201
    assert made.json()["secret"] == Webhook.objects.get().secret
    one = f"{ADDRESS}{made.json()['code']}/"
    listed = calls.get(ADDRESS).json()
    assert listed["count"] == 1 and listed["results"] == [calls.get(one).json()]
    assert "secret" not in listed["results"][0]
    assert listed["results"][0]["events"] == ["release.shared"]

    answer = calls.send(f"{one}test/", {})
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    assert Delivery.objects.get().notification.code == answer.json()["id"]

    Webhook.objects.update(disabled_at=timezone.now())
    assert calls.get(one).json()["disabled_at"] is not None
    assert calls.send(f"{one}enable/", {}).json()["disabled_at"] is None

    assert calls.client.delete(f"/api/v1{one}").status_code == 204
    assert calls.get(one).status_code == 404 and not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"url": "http://hooks.example.org/"}, "/url"),
        ({"url": "https://127.0.0.1/"}, "/url"),
        ({"url": 5}, "/url"),
        ({"events": []}, "/events"),
        ({"events": ["webhook.test"]}, "/events/0"),
        ({"secret": "mine"}, "/secret"),
    ],
)
def test_what_cannot_be_registered_is_said_with_its_place(cast, change, pointer) -> None:
    answer = Caller(cast.analyst, "webhooks").send(ADDRESS, WANTED | change)
    assert answer.status_code == 400, answer.content
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert not Webhook.objects.exists()


def test_a_person_has_at_most_five_by_rest_too(cast) -> None:
    calls = Caller(cast.analyst, "webhooks")
    codes = [calls.send(ADDRESS, WANTED).status_code for _number in range(6)]
    assert codes == [201] * services.WEBHOOKS_PER_PERSON + [409]
