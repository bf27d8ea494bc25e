"""Who is notified of what, and how it arrives: by a real mail server, which may be away, slow or
unwilling."""

from __future__ import annotations

import contextlib
import socket
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from synthweb.accounts.models import Role
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import NANO, Amount
from synthweb.notifications import delivering, selectors, services
from synthweb.notifications.models import CHOSEN, Delivery, Event, Notification
from synthweb.releases import services as releases
from synthweb.runs import reconcile
from synthweb.runs import services as runs
from tests.web import ledger_setup as setup
from tests.web import mail_server

pytestmark = pytest.mark.django_db
SUBJECT = services.NotificationSubject(kind="release", code="abcdefghjk", name="Commutes 2019")
Problem, State = Delivery.Problem, Delivery.State


@pytest.fixture
def mailing(settings):
    """A mail server of its own behind the application."""
    with mail_server.running() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = False
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.SITE_URL = "https://synthweb.example.org"
        yield server


@pytest.fixture
def reader(cast):
    cast.analyst.email = "reader@example.org"
    cast.analyst.save()
    return cast.analyst


def share(reader, key: str = "1") -> Notification:
    return services.notify(
        event=Event.RELEASE_SHARED, people=[reader], subject=SUBJECT, key=key
    )[0]


def make_due() -> None:
    Delivery.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def events_of(user) -> list[str]:
    return sorted(Notification.objects.filter(user=user).values_list("event", flat=True))


# --- events -------------------------------------------------------------------------------------------------
def test_the_main_job_notifies_each_person_of_what_concerns_them(cast, played) -> None:
    assert Event.BUDGET_REQUESTED in events_of(cast.custodian)
    assert {Event.BUDGET_GRANTED, Event.RUN_FINISHED} <= set(events_of(cast.steward))
    assert events_of(played.reader) == [Event.RELEASE_SHARED]
    for nobody in (cast.analyst, cast.auditor, cast.staff, cast.stranger):
        assert events_of(nobody) == []
    # Each leads to a page that its reader may open.
    for notification in Notification.objects.select_related("user"):
        assert selectors.path_of(notification).count(notification.subject_code) == 1


def test_sharing_twice_notifies_once_and_again_after_a_revocation(cast, played) -> None:
    share_it = lambda: releases.share(  # noqa: E731
        actor=cast.steward, release=played.release, analyst=cast.analyst
    )
    share_it()
    grant = share_it()
    assert events_of(cast.analyst) == [Event.RELEASE_SHARED]
    releases.revoke(actor=cast.steward, grant=grant)
    share_it()
    assert events_of(cast.analyst) == [Event.RELEASE_SHARED] * 2


def test_what_is_taken_back_notifies_nobody(cast, reader) -> None:
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        share(reader)
        raise ZeroDivisionError
    assert not Notification.objects.exists()


def test_a_run_whose_worker_died_after_the_charge_notifies_its_steward(cast, played) -> None:
    run = played.waiting
    type(run).objects.filter(pk=run.pk).update(state="charged", lease_held=False)
    reconcile.fail_interrupted()
    assert Event.RUN_FAILED in events_of(cast.steward)


def test_a_refusal_and_a_first_approval() -> None:
    who = setup.people()
    second = setup.person(who.organisation, Role.CUSTODIAN)
    made = setup.dataset(who)
    asked = setup.asked(who, made)
    ledger.refuse(custodian=who.custodian, request=asked, reason="Not now.")
    assert events_of(who.steward) == [Event.BUDGET_REFUSED]
    ledger.set_two_custodians(actor="x", organisation=who.organisation, above=0)
    asked = setup.asked(who, made)
    assert ledger.grant(custodian=who.custodian, request=asked, reason="Yes.") is None
    assert Event.APPROVAL_WANTED in events_of(second)
    assert Event.APPROVAL_WANTED not in events_of(who.custodian)
    assert Event.BUDGET_GRANTED not in events_of(who.steward)
    assert ledger.grant(custodian=second, request=asked, reason="Yes.") is not None
    assert Event.BUDGET_GRANTED in events_of(who.steward)


def test_a_grant_that_expires_soon_is_announced_once_if_anything_of_it_is_left(
    monkeypatch,
) -> None:
    clock = [datetime(2031, 1, 1, 12, tzinfo=UTC)]
    monkeypatch.setattr(timezone, "now", lambda: clock[0])
    who = setup.people()
    made = setup.dataset(who)
    asked = setup.asked(who, made, amount=Amount(epsilon=NANO, delta=NANO))
    ends = (clock[0] + timedelta(days=30)).date()
    entry = ledger.grant(custodian=who.custodian, request=asked, reason="Yes.", lapses_on=ends)
    assert entry is not None
    assert ledger.notify_of_expiring_grants() == 0
    clock[0] += timedelta(days=24)
    assert ledger.notify_of_expiring_grants() == 1
    assert ledger.notify_of_expiring_grants() == 0
    for person in (who.steward, who.custodian):
        assert events_of(person).count(Event.BUDGET_EXPIRES) == 1


# --- choices ------------------------------------------------------------------------------------------------
def test_without_a_mail_server_nothing_is_sent_and_the_page_says_so(browser, reader) -> None:
    assert share(reader).deliveries.count() == 0
    page = browser(reader).get(reverse("notifications:index")).content.decode()
    assert 'data-mail="off"' in page
    assert "Commutes 2019" in page


@pytest.mark.usefixtures("mailing")
def test_each_person_chooses(browser, reader) -> None:
    page = browser(reader)
    chosen = [event.value for event in CHOSEN if event != Event.RELEASE_SHARED]
    answer = page.post(reverse("notifications:index"), {"events": chosen, "language": "de"})
    assert answer.status_code == 302
    assert share(reader).deliveries.count() == 0
    page.post(reverse("notifications:index"), {"events": ["release.shared"], "language": "de"})
    assert share(reader, "2").deliveries.count() == 1
    assert selectors.preferences_of(reader).language == "de"


@pytest.mark.usefixtures("mailing")
def test_demo_users_and_people_without_an_address_get_no_mail(cast, reader) -> None:
    assert share(cast.steward).deliveries.count() == 0
    reader.is_demo = True
    reader.save()
    assert share(reader).deliveries.count() == 0


# --- mail ---------------------------------------------------------------------------------------------------
def test_a_mail_has_a_name_and_a_link_in_two_forms(mailing, reader) -> None:
    notification = share(reader)
    assert delivering.deliver() == 1
    (mail,) = mailing.arrived
    assert mail["To"] == "reader@example.org"
    assert "Commutes 2019" in mail["Subject"]
    assert mail["Message-ID"] == f"<{notification.code}@synthweb.example.org>"
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert html is not None
    link = "https://synthweb.example.org/releases/abcdefghjk/"
    assert link in plain.get_content()
    assert f'href="{link}"' in html.get_content()
    delivery = notification.deliveries.get()
    assert (delivery.state, delivery.attempts, delivery.problem) == (State.SENT, 1, "")
    assert delivering.deliver() == 0


def test_a_mail_is_in_the_language_of_its_reader(mailing, reader) -> None:
    services.choose(user=reader, events=["release.shared"], language="de")
    share(reader)
    delivering.deliver()
    (mail,) = mailing.arrived
    plain = mail.get_body(("plain",))
    assert plain is not None
    assert "mit Ihnen geteilt" in mail["Subject"]
    assert "Hier ansehen:" in plain.get_content()


def test_a_name_with_markup_stays_text(mailing, reader) -> None:
    subject = services.NotificationSubject(
        kind="release", code="abcdefghjk", name="<b>A & B</b>"
    )
    services.notify(event=Event.RELEASE_SHARED, people=[reader], subject=subject, key="m")
    delivering.deliver()
    (mail,) = mailing.arrived
    html, plain = mail.get_body(("html",)), mail.get_body(("plain",))
    assert html is not None
    assert plain is not None
    assert "<b>A" not in html.get_content()
    assert "<b>A & B</b>" in plain.get_content()


def test_a_server_that_is_away_is_asked_once_and_again_later(mailing, settings, reader) -> None:
    settings.EMAIL_PORT = mail_server.free_port()
    first, second = share(reader), share(reader, "2")
    assert delivering.deliver() == 1
    delivery = first.deliveries.get()
    assert (delivery.state, delivery.problem) == (State.WAITING, Problem.UNREACHABLE)
    assert delivery.due_at > timezone.now()
    assert second.deliveries.get().attempts == 0
    settings.EMAIL_PORT = mailing.port
    make_due()
    assert delivering.deliver() == 2
    assert len(mailing.arrived) == 2
    assert first.deliveries.get().state == State.SENT


def test_a_server_that_says_nothing_is_left_after_its_time(mailing, settings, reader) -> None:
    settings.EMAIL_TIMEOUT = 0.2
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.EMAIL_PORT = silent.getsockname()[1]
        notification = share(reader)
        delivering.deliver()
    delivery = notification.deliveries.get()
    assert (delivery.state, delivery.problem) == (State.WAITING, Problem.TIMEOUT)


@pytest.mark.parametrize(
    ("reply", "state", "status"),
    [("550 No such reader", State.FAILED, 550), ("451 Later", State.WAITING, 451)],
)
def test_a_refusal_for_good_is_not_repeated(mailing, reader, reply, state, status) -> None:
    mailing.refusal = reply
    notification = share(reader)
    delivering.deliver()
    delivery = notification.deliveries.get()
    assert (delivery.state, delivery.problem) == (state, Problem.REFUSED)
    assert delivery.status == status


def test_after_days_a_delivery_is_given_up(mailing, settings, reader) -> None:
    settings.EMAIL_PORT = mail_server.free_port()
    notification = share(reader)
    Notification.objects.update(at=timezone.now() - delivering.GIVE_UP)
    delivering.deliver()
    assert notification.deliveries.get().state == State.FAILED


def test_waits_grow_and_end_at_half_a_day() -> None:
    waits = [delivering.wait_after(attempts) for attempts in range(1, 40)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (timedelta(minutes=1), timedelta(hours=12))


def test_who_has_lost_access_gets_nothing_more(mailing, reader) -> None:
    notification = share(reader)
    reader.is_active = False
    reader.save()
    delivering.deliver()
    assert mailing.arrived == []
    assert notification.deliveries.get().state == State.CANCELLED


# --- claims -------------------------------------------------------------------------------------------------
def test_a_worker_that_died_leaves_a_delivery_that_is_due_again_under_the_same_id(
    mailing, reader
) -> None:
    notification = share(reader)
    claimed = delivering._claim()
    assert claimed is not None
    assert delivering._claim() is None
    make_due()
    assert delivering.deliver() == 1
    # The first worker wakes up late: it may have sent the mail, and records nothing.
    delivering._record(claimed, delivering.DeliveryAttempt(problem=Problem.UNREACHABLE))
    delivery = notification.deliveries.get()
    assert (delivery.state, delivery.attempts) == (State.SENT, 2)
    assert mailing.arrived[0]["Message-ID"].startswith(f"<{notification.code}@")


def test_old_notifications_are_forgotten(reader) -> None:
    share(reader)
    Notification.objects.update(at=timezone.now() - timedelta(days=91))
    new = share(reader, "2")
    delivering.deliver()
    assert list(Notification.objects.all()) == [new]


def test_a_run_that_ends_twice_is_announced_twice(cast, played) -> None:
    run = played.run
    before = events_of(cast.steward).count(Event.RUN_FAILED)
    for token in (101, 102, 102):
        run.lease_token = token
        runs.notify_end(run, Event.RUN_FAILED)
    assert events_of(cast.steward).count(Event.RUN_FAILED) == before + 2


def test_nothing_is_logged_of_what_a_mail_says(mailing, settings, reader, caplog) -> None:
    settings.EMAIL_PORT = mail_server.free_port()
    caplog.set_level("DEBUG")
    share(reader)
    delivering.deliver()
    assert "Commutes" not in caplog.text
    assert "reader@example.org" not in caplog.text
