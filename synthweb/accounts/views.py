"""Pages about oneself and, for those who manage them, about the people of the organisation."""

from __future__ import annotations

from typing import Any

import segno
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from synthweb.accounts import (
    appearance,
    forms,
    identity_provider,
    passkeys,
    pending_sign_in,
    second_factors,
    selectors,
    services,
    throttle,
    tokens,
)
from synthweb.accounts import sessions as signed_in
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.models import User
from synthweb.accounts.password_resets import MailedTokens
from synthweb.accounts.reauthentication import confirmed
from synthweb.accounts.session_store import CODE
from synthweb.lib.errors import Refused

NEW_SECRET = "new_secret"  # noqa: S105 - of an app that is being set up, encrypted, in the session
ONWARD = "provider_onward"  # in the session: where to go from the identity provider
CHANGED = gettext_lazy(
    "Your password has been changed. Other places where you were signed in are signed out."
)


class SignIn(LoginView):
    """The only page that strangers see."""

    template_name = "accounts/login.html"
    authentication_form = forms.SignInForm
    redirect_authenticated_user = True
    extra_context = {"demo": settings.DEMO_USERS}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"provider": identity_provider.host()}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if second_factors.has_one(user):
            pending_sign_in.begin(self.request, user=user, onward=self.get_success_url())
            return redirect("accounts:code")
        response = super().form_valid(form)
        services.signed_in(user=user, address=throttle.address_of(self.request))
        return response


class SignOut(LogoutView):
    """Whatever a browser has stored of earlier pages goes with the session."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        # Not "storage", which holds the choice of light or dark alone.
        response["Clear-Site-Data"] = '"cache"'
        return response


@require_GET
@never_cache
def provider(request: HttpRequest) -> HttpResponse:
    """Sign in at the identity provider, or confirm there that it is the same person. By a link: the content
    policy refuses forms that lead to other servers."""
    if not identity_provider.is_on():
        raise Http404
    confirms = "confirm" in request.GET and request.user.is_authenticated
    onward = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(onward, {request.get_host()}, request.is_secure())
    request.session[ONWARD] = onward if safe else settings.LOGIN_REDIRECT_URL
    try:
        return identity_provider.begin(request, confirms=confirms)
    except identity_provider.NotSignedIn as error:
        return _not_signed_in(request, error)


@never_cache
def provider_return(request: HttpRequest) -> HttpResponse:
    """Where the identity provider sends the browser back."""
    if not identity_provider.is_on():
        raise Http404
    confirms = request.session.get(identity_provider.CONFIRMS) is not None
    onward = request.session.pop(ONWARD, settings.LOGIN_REDIRECT_URL)
    try:
        identity_provider.finish(request)
    except identity_provider.NotSignedIn as error:
        return _not_signed_in(request, error)
    return render(request, "accounts/provider_confirmed.html") if confirms else redirect(onward)


def _not_signed_in(request: HttpRequest, error: identity_provider.NotSignedIn) -> HttpResponse:
    services.provider_refused(because=error.because, address=throttle.address_of(request))
    return render(request, "accounts/provider_failed.html", {"problem": str(error)}, status=403)


@sensitive_post_parameters()
@never_cache
def code(request: HttpRequest) -> HttpResponse:
    """The second step of a sign-in: a passkey, a code of the app, or a recovery code."""
    pending = pending_sign_in.of(request)
    if pending is None:
        return redirect("accounts:login")
    answer = request.POST.get("passkey", "")
    form = forms.CodeForm(request.POST if request.method == "POST" and not answer else None)
    problem = ""
    if answer:
        problem = pending_sign_in.finish(request, pending, passkey=answer)
    elif form.is_bound and form.is_valid():
        problem = pending_sign_in.finish(request, pending, code=form.cleaned_data["code"])
        if problem:
            form.add_error("code", problem)
    if request.method == "POST" and not problem and not form.errors:
        return redirect(pending.onward)
    context = {
        "form": form,
        "question": passkeys.question_to_sign_in(request, pending.user),
        "problem": problem if answer else "",
        "app": second_factors.has_app(pending.user),
    }
    return render(request, "accounts/code.html", context)


@never_cache
@login_required
def second_factor(request: SignedInRequest) -> HttpResponse:
    """Whether somebody has a second factor, and what can be done with it."""
    context = {
        "has_one": second_factors.has_one(request.user),
        "app": second_factors.has_app(request.user),
        "passkeys": request.user.passkeys.order_by("added_at"),
        "needed": second_factors.needs_one(request.user),
        "codes_left": second_factors.codes_left(request.user),
        "tab": "second_factor",
    }
    return render(request, "accounts/second_factor.html", context)


@sensitive_post_parameters()
@never_cache
@login_required
@confirmed
def add_app(request: SignedInRequest) -> HttpResponse:
    """Set up an app that shows codes; the recovery codes are in this one answer."""
    sealed = request.session.get(NEW_SECRET)
    secret = sealed and second_factors.opened(sealed)
    if not secret:
        secret = second_factors.new_secret()
        request.session[NEW_SECRET] = second_factors.sealed(secret)
    form = forms.CodeForm(request.POST if "code" in request.POST else None)
    # The field is below what is to be done first.
    form.fields["code"].widget.attrs.pop("autofocus")
    if form.is_bound and form.is_valid():
        made = second_factors.add_app(
            user=request.user, secret=secret, code=form.cleaned_data["code"]
        )
        if made is not None:
            del request.session[NEW_SECRET]
            return _show_codes(request, made)
        form.add_error("code", _("This is not the code that the app shows now."))
    address = second_factors.address_for(request.user, secret)
    context = {
        "form": form,
        "picture": segno.make(address, error="m").svg_data_uri(scale=5, border=4),
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "needed": second_factors.lacks_one(request.user),
        "tab": "second_factor",
    }
    return render(request, "accounts/add_app.html", context)


@sensitive_post_parameters("passkey")
@never_cache
@login_required
@confirmed
def add_passkey(request: SignedInRequest) -> HttpResponse:
    """Set up a passkey; recovery codes are in this one answer if it is the first second factor."""
    form = forms.PasskeyForm(request.POST if "passkey" in request.POST else None)
    if form.is_bound and form.is_valid():
        try:
            made = passkeys.add(
                request,
                user=request.user,
                name=form.cleaned_data["name"],
                answer=form.cleaned_data["passkey"],
            )
        except passkeys.NotAPasskey:
            form.add_error(None, _("The browser made no passkey for this page. Try again."))
        else:
            if made:
                return _show_codes(request, made)
            messages.success(request, _("The passkey is set up."))
            return redirect("accounts:second_factor")
    context = {
        "form": form,
        "question": passkeys.question_to_add(request, request.user),
        "needed": second_factors.lacks_one(request.user),
        "tab": "second_factor",
    }
    return render(request, "accounts/add_passkey.html", context)


@require_POST
@login_required
@confirmed
def remove_passkey(request: SignedInRequest, code: str) -> HttpResponse:
    """Take away one of one's own passkeys."""
    if not passkeys.remove(user=request.user, code=code):
        raise Http404("No such passkey.")
    messages.success(request, _("The passkey no longer signs you in."))
    return redirect("accounts:second_factor")


@require_POST
@never_cache
@login_required
@confirmed
def make_codes(request: SignedInRequest) -> HttpResponse:
    """New recovery codes in the place of the former ones."""
    if not second_factors.has_one(request.user):
        return redirect("accounts:second_factor")
    return _show_codes(request, second_factors.make_codes(user=request.user))


@require_POST
@login_required
@confirmed
def remove_second_factor(request: SignedInRequest) -> HttpResponse:
    """Take away one's own second factor."""
    second_factors.remove(user=request.user, actor=request.user)
    messages.success(request, _("Your second factor is taken away."))
    return redirect("accounts:second_factor")


@require_POST
@login_required
@confirmed
def remove_second_factor_of(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take away the second factor of somebody who has lost it."""
    somebody = selectors.managed_person(request.user, pk)
    if somebody.pk == request.user.pk:
        raise PermissionDenied("Take away your own second factor on the page of your account.")
    second_factors.remove(user=somebody, actor=request.user)
    messages.success(
        request,
        _("%(username)s signs in without a second factor.") % {"username": somebody.username},
    )
    return redirect("accounts:people")


def _show_codes(request: SignedInRequest, made: list[str]) -> HttpResponse:
    return render(
        request, "accounts/recovery_codes.html", {"codes": made, "tab": "second_factor"}
    )


@login_required
def profile(request: SignedInRequest) -> HttpResponse:
    return render(request, "accounts/profile.html", {"tab": "profile"})


@sensitive_post_parameters()
@never_cache
def reset(request: HttpRequest) -> HttpResponse:
    """Ask for a mail to choose a new password. The answer is the same for every name."""
    form = forms.ResetForm(request.POST or None)
    asked = request.method == "POST" and form.is_valid()
    if asked:
        name, address = form.cleaned_data["name"], throttle.address_of(request)
        # By e-mail or user name: one person, one counter.
        person = selectors.resettable(name)
        attempt = throttle.begin(
            request,
            kind=throttle.Counted.RESET_MAIL,
            name=person.get_username() if person else name,
        )
        if not attempt.refused:
            services.request_password_reset(name=name, address=address)
    context = {"form": form, "asked": asked, "sends_mail": bool(settings.EMAIL_HOST)}
    return render(request, "accounts/reset.html", context)


class ChoosePassword(PasswordResetConfirmView):
    """Where the link of such a mail leads."""

    template_name = "accounts/choose_password.html"
    token_generator = MailedTokens()
    success_url = reverse_lazy("accounts:login")

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        services.change_password(
            user=form.user, password=form.cleaned_data["new_password1"], by_mail=True
        )
        # Whoever is signed in here may be somebody else.
        logout(self.request)
        messages.success(self.request, _("Your password has been changed. Sign in with it."))
        return redirect(self.success_url)


@never_cache
@login_required
def sessions(request: SignedInRequest) -> HttpResponse:
    """Where somebody is signed in."""
    context = {
        "sessions": signed_in.sessions_of(request.user),
        "this": request.session.get(CODE),
        "idle_minutes": settings.IDLE_MINUTES,
        "tab": "sessions",
    }
    return render(request, "accounts/sessions.html", context)


@require_POST
@login_required
def end_session(request: SignedInRequest, code: str) -> HttpResponse:
    """End one session; the present one is ended by signing out."""
    if not services.end_session(user=request.user, code=code):
        raise Http404("No such session.")
    messages.success(request, _("The session has ended."))
    return redirect("accounts:sessions")


@require_POST
@login_required
def end_other_sessions(request: SignedInRequest) -> HttpResponse:
    """End every session but this one."""
    services.end_other_sessions(user=request.user, present=request.session.get(CODE, ""))
    messages.success(request, _("Every other session has ended."))
    return redirect("accounts:sessions")


@sensitive_post_parameters()
@never_cache
@login_required
def password(request: SignedInRequest) -> HttpResponse:
    user = request.user
    form = forms.PasswordForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        revoked = services.change_password(
            user=user, password=form.cleaned_data["new_password1"]
        )
        # The new hash ends every session but this one, which has just proved the old password.
        update_session_auth_hash(request, user)
        messages.success(request, f"{CHANGED} {_revoked(revoked)}".strip())
        return redirect("accounts:profile")
    context = {"form": form, "tab": "password", "in_use": services.tokens_in_use(user)}
    return render(request, "accounts/password.html", context)


@never_cache
@login_required
@confirmed
def api_tokens(request: SignedInRequest) -> HttpResponse:
    user = request.user
    form = forms.TokenForm(request.POST or None)
    made = text = None
    if request.method == "POST" and form.is_valid():
        # The text exists in this one answer, which no cache may store.
        made, text = services.create_token(user=user, **form.cleaned_data)
        form = forms.TokenForm()
    context = {
        "form": form,
        "made": made,
        "text": text,
        "tokens": [(token, selectors.token_ends(token)) for token in selectors.tokens_of(user)],
        "now": timezone.now(),
        "unseen_days": selectors.UNSEEN_DAYS
        if user.identity or identity_provider.is_on()
        else None,
        "tab": "tokens",
    }
    return render(request, "accounts/tokens.html", context | {"scopes": tokens.SCOPES})


@require_POST
@login_required
def revoke_token(request: SignedInRequest, code: str) -> HttpResponse:
    token = selectors.token_of(request.user, code)
    services.revoke_token(user=request.user, token=token)
    messages.success(
        request, _("The token “%(name)s” no longer opens anything.") % {"name": token.name}
    )
    return redirect("accounts:tokens")


@never_cache
@login_required
@confirmed
def people(request: SignedInRequest) -> HttpResponse:
    organisation = selectors.managed_organisation(request.user)
    form = forms.PersonForm(request.POST or None)
    made = one_time = None
    if request.method == "POST" and form.is_valid():
        one_time = services.one_time_password()
        described = dict(form.cleaned_data)
        made = services.create_user(
            actor=request.user,
            organisation=organisation,
            roles=described.pop("roles"),
            person=services.NewPerson(**described),
            password=one_time,
        )
        form = forms.PersonForm()
    context = {
        "organisation": organisation,
        "people": selectors.people_of(organisation),
        "without": selectors.without_second_factor(organisation),
        "form": form,
        "tab": "people",
    }
    return render(
        request, "accounts/people.html", context | {"made": made, "one_time": one_time}
    )


@require_POST
@login_required
@confirmed
def require_second_factor(request: SignedInRequest) -> HttpResponse:
    """Say whether everybody of the organisation needs a second factor."""
    organisation = selectors.managed_organisation(request.user)
    required = request.POST.get("required") == "yes"
    services.require_second_factor(
        actor=request.user, organisation=organisation, required=required
    )
    messages.success(
        request,
        _("Everybody here needs a second factor.")
        if required
        else _("Roles decide again who needs a second factor."),
    )
    return redirect("accounts:people")


@never_cache
@login_required
@confirmed
def organisation(request: SignedInRequest) -> HttpResponse:
    """How the organisation appears: language, contact and logo."""
    managed = selectors.managed_organisation(request.user)
    before = appearance.of(managed)
    sent = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = forms.AppearanceForm(*sent, before=before)
    if form.is_valid():
        try:
            appearance.say(actor=request.user, organisation=managed, appearance=form.wanted())
        except Refused as error:
            form.add_error(error.field, str(error))
        else:
            messages.success(
                request, _("Saved. People here see it from their next sign-in on.")
            )
            return redirect("accounts:organisation")
    context = {"organisation": managed, "form": form, "before": before, "tab": "organisation"}
    return render(request, "accounts/organisation.html", context)


@never_cache
@login_required
@confirmed
def person(request: SignedInRequest, pk: int) -> HttpResponse:
    somebody = selectors.managed_person(request.user, pk)
    form = forms.RolesForm(
        request.POST or None, stored={"roles": selectors.every_role_of(somebody)}
    )
    if request.method == "POST" and form.is_valid() and _set_roles(request, somebody, form):
        messages.success(
            request, _("%(username)s has new roles.") % {"username": somebody.username}
        )
        return redirect("accounts:people")
    return render(
        request, "accounts/person.html", {"person": somebody, "form": form, "tab": "people"}
    )


@require_POST
@login_required
def set_active(request: SignedInRequest, pk: int) -> HttpResponse:
    somebody = selectors.managed_person(request.user, pk)
    active = request.POST.get("active") == "yes"
    organisation = selectors.managed_organisation(request.user)
    services.set_active(
        actor=request.user, person=somebody, organisation=organisation, active=active
    )
    messages.success(
        request,
        (
            _("%(username)s can sign in again.")
            if active
            else _("%(username)s can no longer sign in.")
        )
        % {"username": somebody.username},
    )
    return redirect("accounts:people")


@require_POST
@never_cache
@login_required
@confirmed
def one_time_password(request: SignedInRequest, pk: int) -> HttpResponse:
    somebody = selectors.managed_person(request.user, pk)
    organisation = selectors.managed_organisation(request.user)
    one_time = services.give_one_time_password(
        actor=request.user, person=somebody, organisation=organisation
    )
    return render(
        request,
        "accounts/one_time.html",
        {"person": somebody, "one_time": one_time, "tab": "people"},
    )


def _set_roles(request: SignedInRequest, person: User, form: Form) -> bool:
    organisation = selectors.managed_organisation(request.user)
    try:
        services.set_roles(
            actor=request.user,
            person=person,
            organisation=organisation,
            roles=form.cleaned_data["roles"],
        )
    except ValidationError as error:
        form.add_error(None, error)
        return False
    return True


def _revoked(number: int) -> str:
    if not number:
        return ""
    return (
        "One API token no longer opens anything."
        if number == 1
        else f"{number} API tokens no longer open anything."
    )
