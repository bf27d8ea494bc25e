"""One e-mail: plain text and simple HTML, in the language of its reader."""

from __future__ import annotations

import smtplib
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from synthweb.accounts import password_resets
from synthweb.notifications import selectors, wording
from synthweb.notifications.models import Delivery, Event, Notification
from synthweb.notifications.webhooks import DeliveryAttempt

Problem = Delivery.Problem
PERMANENT = range(500, 600)


def message(notification: Notification) -> EmailMultiAlternatives:
    """The mail of a notification. The same notification has the same Message-ID, however often it is sent."""
    user = notification.user
    with translation.override(selectors.preferences_of(user).language):
        sentence = wording.sentence(notification)
        resets = notification.event == Event.PASSWORD_RESET
        context = {
            "sentence": sentence,
            "link": urljoin(settings.SITE_URL, password_resets.path_for(user))
            if resets
            else selectors.link_of(notification),
            "choices": urljoin(settings.SITE_URL, reverse("notifications:index")),
            "resets": resets,
            "minutes": settings.PASSWORD_RESET_TIMEOUT // 60,
            "language": translation.get_language(),
        }
        mail = EmailMultiAlternatives(
            subject=f"[synthweb] {sentence}",
            body=render_to_string("notifications/mail.txt", context),
            from_email=settings.DEFAULT_FROM_EMAIL,
            to=[user.email],
            headers={
                "Message-ID": f"<{notification.code}@{_host()}>",
                # Answers of absent readers go nowhere.
                "Auto-Submitted": "auto-generated",
            },
            connection=get_connection(),
        )
        mail.attach_alternative(
            render_to_string("notifications/mail.html", context), "text/html"
        )
    return mail


def send(delivery: Delivery) -> DeliveryAttempt:
    """Send one delivery. Every failure is an answer, not an exception."""
    try:
        message(delivery.notification).send()
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _text in error.recipients.values()]
        return DeliveryAttempt(problem=Problem.REFUSED, status=codes[0] if codes else None)
    except smtplib.SMTPResponseException as error:
        return DeliveryAttempt(problem=Problem.UNREACHABLE, status=max(0, error.smtp_code))
    except (OSError, smtplib.SMTPException) as error:
        # smtplib turns a reply that does not come into a lost connection.
        late = isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError)
        return DeliveryAttempt(problem=Problem.TIMEOUT if late else Problem.UNREACHABLE)
    return DeliveryAttempt()


def is_final(answer: DeliveryAttempt) -> bool:
    """Whether the server refused this reader for good: another attempt would get the same answer."""
    return answer.problem == Problem.REFUSED and answer.status in PERMANENT


def _host() -> str:
    return urlsplit(settings.SITE_URL).hostname or "localhost"
