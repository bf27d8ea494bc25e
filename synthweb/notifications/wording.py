"""What a notification says, in the language of its reader. Names and links, never a value or a number of a table."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

from synthweb.notifications.models import Event, Notification

SENTENCES = {
    Event.RUN_FINISHED: gettext_noop("The run “%(name)s” has finished."),
    Event.RUN_FAILED: gettext_noop("The run “%(name)s” has failed."),
    Event.RELEASE_SHARED: gettext_noop("The release “%(name)s” was shared with you."),
    Event.BUDGET_REQUESTED: gettext_noop("Privacy budget is asked for, for “%(name)s”."),
    Event.APPROVAL_WANTED: gettext_noop("A grant for “%(name)s” needs a second approval."),
    Event.BUDGET_GRANTED: gettext_noop("Your request for budget for “%(name)s” was granted."),
    Event.BUDGET_REFUSED: gettext_noop("Your request for budget for “%(name)s” was refused."),
    Event.BUDGET_EXPIRES: gettext_noop("A grant of the account “%(name)s” expires soon."),
    Event.WEBHOOK_DISABLED: gettext_noop("Your webhook to %(name)s was switched off."),
    Event.WEBHOOK_TEST: gettext_noop("This is a test of your webhook to %(name)s."),
}


def sentence(notification: Notification) -> str:
    """One sentence in the active language."""
    text = gettext(SENTENCES[Event(notification.event)])
    return text % {"name": notification.name}
