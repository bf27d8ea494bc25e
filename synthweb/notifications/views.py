"""Pages about what somebody is notified of: choices, webhooks, and the log of deliveries."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from synthweb.accounts.http import SignedInRequest
from synthweb.lib.errors import Refused
from synthweb.notifications import forms, selectors, services, wording
from synthweb.notifications.models import CHOSEN, Notification

SHOWN = 50


@login_required
def index(request: SignedInRequest) -> HttpResponse:
    """What somebody gets by e-mail, and what was delivered lately."""
    user = request.user
    preferences = selectors.preferences_of(user)
    chosen = [event.value for event in CHOSEN if event.value not in preferences.muted]
    form = forms.PreferencesForm(
        request.POST or None, initial={"events": chosen, "language": preferences.language}
    )
    if request.method == "POST" and form.is_valid():
        services.choose(user=user, **form.cleaned_data)
        messages.success(request, _("Your choice is saved."))
        return redirect("notifications:index")
    context = {
        "form": form,
        "tab": "notifications",
        "sends_mail": selectors.sends_mail(),
        "entries": [_entry(one) for one in selectors.notifications_of(user)[:SHOWN]],
        "shown": SHOWN,
    }
    return render(request, "notifications/index.html", context)


@never_cache
@login_required
def webhooks(request: SignedInRequest) -> HttpResponse:
    """Somebody's own webhooks, and a form for another one."""
    user = request.user
    form = forms.WebhookForm(request.POST or None)
    made = secret = None
    if request.method == "POST" and form.is_valid():
        try:
            # The secret is in this one answer, which no cache may store.
            made, secret = services.register_webhook(user=user, **form.cleaned_data)
            form = forms.WebhookForm()
        except Refused as refused:
            form.add_error(None, str(refused))
    context = {
        "form": form,
        "made": made,
        "secret": secret,
        "webhooks": selectors.webhooks_of(user),
        "tab": "webhooks",
    }
    return render(request, "notifications/webhooks.html", context)


@require_POST
@login_required
def test(request: SignedInRequest, code: str) -> HttpResponse:
    """Send a test to a webhook."""
    webhook = selectors.webhook_of(request.user, code)
    services.test_webhook(user=request.user, webhook=webhook)
    messages.success(
        request, _("A test is on its way; the log of deliveries says what came of it.")
    )
    return redirect("notifications:index")


@require_POST
@login_required
def enable(request: SignedInRequest, code: str) -> HttpResponse:
    """Switch a webhook on again."""
    webhook = selectors.webhook_of(request.user, code)
    services.enable_webhook(user=request.user, webhook=webhook)
    messages.success(request, _("The webhook is on again."))
    return redirect("notifications:webhooks")


@require_POST
@login_required
def remove(request: SignedInRequest, code: str) -> HttpResponse:
    """Remove a webhook."""
    webhook = selectors.webhook_of(request.user, code)
    services.remove_webhook(user=request.user, webhook=webhook)
    messages.success(request, _("The webhook is removed; nothing more is sent to it."))
    return redirect("notifications:webhooks")


def _entry(notification: Notification) -> dict[str, object]:
    return {
        "notification": notification,
        "sentence": wording.sentence(notification),
        "path": selectors.path_of(notification),
        "deliveries": notification.deliveries.all(),
    }
