"""What somebody wants to be notified of, and new webhooks."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from synthweb.notifications import addresses
from synthweb.notifications.models import CHOSEN, URL_LENGTH


def event_choices() -> list[tuple[str, str]]:
    """The events with their names, in the language of the request."""
    return [(event.value, str(event.label)) for event in CHOSEN]


class PreferencesForm(forms.Form):
    """What somebody gets by e-mail."""

    events = forms.MultipleChoiceField(
        choices=event_choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        label=_("By e-mail"),
    )
    language = forms.ChoiceField(choices=settings.LANGUAGES, label=_("Language of the mails"))


class WebhookForm(forms.Form):
    """A new webhook."""

    url = forms.CharField(
        max_length=URL_LENGTH,
        label=_("Address"),
        help_text=_("https, and a host with a public address."),
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )
    events = forms.MultipleChoiceField(
        choices=event_choices, widget=forms.CheckboxSelectMultiple, label=_("Events")
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        addresses.require_allowed_form(url)
        return url
