"""What a notification says, in the language of its reader. Names and links, never a value or a number of a
table."""

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
    Event.COUNTS_ASKED: gettext_noop("Filled counts are asked for: “%(name)s”."),
    Event.COUNTS_DECIDED: gettext_noop("A custodian decided about the counts “%(name)s”."),
    Event.LINK_CHANGED: gettext_noop("Something has happened with the link “%(name)s”."),
    Event.WEBHOOK_DISABLED: gettext_noop("Your webhook to %(name)s was switched off."),
    Event.SIGN_INS_FAILED: gettext_noop(
        "Sign-ins under your user name fail, most recently from the address %(name)s."
    ),
    Event.ACCOUNT_CHANGED: gettext_noop("How you sign in was changed: %(name)s."),
    Event.PASSWORD_RESET: gettext_noop("Somebody asked for a new password for “%(name)s”."),
    Event.WEBHOOK_TEST: gettext_noop("This is a test of your webhook to %(name)s."),
}
CHANGES = {
    "user.password_changed": gettext_noop("a new password"),
    "user.password_reset": gettext_noop("a one-time password"),
    "user.identity_linked": gettext_noop("you sign in at the identity provider"),
    "user.second_factor_added": gettext_noop("a second factor was set up"),
    "user.second_factor_removed": gettext_noop("the second factor was taken away"),
    "user.passkey_added": gettext_noop("a passkey was set up"),
    "user.passkey_removed": gettext_noop("a passkey was taken away"),
    "user.recovery_codes_made": gettext_noop("new recovery codes"),
    "user.password_reset_by_mail": gettext_noop("a new password, chosen by a link in a mail"),
}
"""Word of the audit log → what has changed."""


def sentence(notification: Notification) -> str:
    """One sentence in the active language."""
    event, name = Event(notification.event), notification.name
    if event == Event.ACCOUNT_CHANGED:
        name = gettext(CHANGES[name]) if name in CHANGES else name
    return gettext(SENTENCES[event]) % {"name": name}
