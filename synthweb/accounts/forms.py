"""Forms about people and tokens."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import forms as auth_forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _

from synthweb.accounts import appearance, logos, tokens
from synthweb.accounts.models import Role, User
from synthweb.lib.names import validate_one_line
from synthweb.lib.saved_meanwhile import MergedForm

SIGN_IN_FAILED = _(
    "That name and password do not fit, the account is not in use, or a one-time password has expired: "
    "whoever manages people can give you another one. After several failures signing in pauses for a "
    "quarter of an hour."
)
DAYS = [(30, _("30 days")), (90, _("90 days")), (365, _("one year"))]
ROLE_HELP = {
    Role.STEWARD: _(
        "uploads tables, describes them, asks for budget, releases, shares and compares"
    ),
    Role.CUSTODIAN: _("grants privacy budget, never to a request of their own"),
    Role.ANALYST: _("sees the releases shared with them, nothing real"),
    Role.AUDITOR: _("reads ledger, audit log and receipts, changes nothing"),
}


def role_choices() -> list[tuple[str, str]]:
    """The roles with what each may do, in the language of the request."""
    return [(role.value, f"{role.label}: {ROLE_HELP[role]}") for role in Role]


def scope_choices() -> list[tuple[str, str]]:
    """The scopes of a token with what each allows, in the language of the request."""
    return [(scope, f"{scope}: {words}") for scope, words in tokens.SCOPES.items()]


class SignInForm(auth_forms.AuthenticationForm):
    """One message for every reason, so that nobody learns which names exist."""

    username = auth_forms.UsernameField(
        label=_("User name"),
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "username"}),
    )
    error_messages = {"invalid_login": SIGN_IN_FAILED, "inactive": SIGN_IN_FAILED}


class ResetForm(forms.Form):
    """Who wants to choose a new password by mail."""

    name = forms.CharField(
        max_length=254,
        label=_("User name or e-mail"),
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "username"}),
    )


class CodeForm(forms.Form):
    """A code of an app, or a recovery code."""

    code = forms.CharField(
        max_length=60,
        label=_("Sign-in code"),
        widget=forms.TextInput(
            attrs={"autofocus": True, "autocomplete": "one-time-code", "spellcheck": "false"}
        ),
    )


class PasskeyForm(forms.Form):
    """A passkey that a browser has just made, and what its owner calls it."""

    name = forms.CharField(
        max_length=100,
        label=_("Name"),
        help_text=_("What it is in: “my phone”, “the blue stick”."),
        validators=[validate_one_line],
    )
    passkey = forms.CharField(required=False, widget=forms.HiddenInput)


class PersonForm(forms.Form):
    """A new person of the organisation."""

    username = forms.CharField(
        max_length=150,
        label=_("User name"),
        help_text=_("Letters, digits and @ . + - _ only; this is what they sign in with."),
    )
    full_name = forms.CharField(
        max_length=150,
        required=False,
        label=_("Full name (optional)"),
        validators=[validate_one_line],
    )
    email = forms.EmailField(required=False, label=_("E-mail (optional)"))
    roles = forms.MultipleChoiceField(choices=role_choices, widget=forms.CheckboxSelectMultiple)

    def clean_username(self) -> str:
        username = User.normalize_username(self.cleaned_data["username"])
        User.username_validator(username)
        # The unique index distinguishes case; readers of an audit log do not.
        if User.objects.filter(username__iexact=username).exists():
            raise ValidationError(_("Somebody already has this user name; choose another."))
        return str(username)

    def clean_roles(self) -> list[Role]:
        return [Role(role) for role in self.cleaned_data["roles"]]


class AppearanceForm(MergedForm):
    """How an organisation appears."""

    language = forms.ChoiceField(
        required=False,
        label=_("Language"),
        choices=[("", _("the one that the browser asks for")), *settings.LANGUAGES],
        help_text=_(
            "Of pages, for everybody who has chosen none: people here from their next sign-in on, and "
            "visitors of public links."
        ),
    )
    contact = forms.CharField(
        required=False,
        max_length=appearance.MAX_CONTACT,
        label=_("Contact"),
        help_text=_("Whom to ask about releases. Visitors of public links see it."),
        validators=[validate_one_line],
    )
    logo = forms.FileField(
        required=False,
        label=_("Logo"),
        help_text=_(
            "A PNG of at most 30 kB and 2,000 × 500 pixels, drawn 32 pixels high. Visitors of public links "
            "see it."
        ),
        widget=forms.FileInput(attrs={"accept": "image/png"}),
    )
    remove_logo = forms.BooleanField(required=False, label=_("Remove the logo"))

    def __init__(
        self,
        data: QueryDict | None,
        files: MultiValueDict[str, UploadedFile[Any]] | None,
        *,
        before: appearance.Appearance,
    ) -> None:
        """data, files: what was sent, or None. before: how it appears now."""
        stored = {"language": before.language, "contact": before.contact}
        super().__init__(data, files, stored=stored)
        self.before = before
        if not before.logo:
            del self.fields["remove_logo"]

    def wanted(self) -> appearance.Appearance:
        """What the form says; the logo stays as it is if no file came and it is not to be removed."""
        brought = self.cleaned_data["logo"]
        if brought:
            # One byte more than is allowed is enough to be refused.
            logo = brought.read(logos.MAX_BYTES + 1)
        else:
            logo = b"" if self.cleaned_data.get("remove_logo") else self.before.logo
        return appearance.Appearance(
            language=self.cleaned_data["language"],
            contact=self.cleaned_data["contact"],
            logo=logo,
        )


class RolesForm(MergedForm):
    """What somebody may do."""

    roles = forms.MultipleChoiceField(choices=role_choices, widget=forms.CheckboxSelectMultiple)

    def clean_roles(self) -> list[Role]:
        return [Role(role) for role in self.cleaned_data["roles"]]


class PasswordForm(auth_forms.PasswordChangeForm):
    """The old password once, the new one twice."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        new = self.cleaned_data.get("new_password2")
        if new and self.user.check_password(new):
            self.add_error("new_password2", _("Choose another password than the present one."))
        return cleaned


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(
        max_length=100,
        help_text=_("What will use it: “notebook on my laptop”."),
        validators=[validate_one_line],
    )
    scopes = forms.MultipleChoiceField(
        choices=scope_choices,
        widget=forms.CheckboxSelectMultiple,
        initial=["read"],
        label=_("It may"),
    )
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=90, label=_("Ends after"))
