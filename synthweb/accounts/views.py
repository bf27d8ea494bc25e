"""Pages about oneself and, for those who manage them, about the people of the organisation."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from synthweb.accounts import forms, selectors, services, throttle, tokens
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.models import User

CHANGED = gettext_lazy(
    "Your password has been changed. Other places where you were signed in are signed out."
)


class SignIn(LoginView):
    """The only page that strangers see."""

    template_name = "accounts/login.html"
    authentication_form = forms.SignInForm
    redirect_authenticated_user = True
    extra_context = {"demo": settings.DEMO_USERS}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        services.signed_in(user=form.get_user(), address=throttle.address_of(self.request))
        return response


@login_required
def profile(request: SignedInRequest) -> HttpResponse:
    return render(request, "accounts/profile.html", {"tab": "profile"})


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
        "tokens": selectors.tokens_of(user),
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
        "form": form,
        "tab": "people",
    }
    return render(
        request, "accounts/people.html", context | {"made": made, "one_time": one_time}
    )


@never_cache
@login_required
def person(request: SignedInRequest, pk: int) -> HttpResponse:
    somebody = selectors.managed_person(request.user, pk)
    form = forms.RolesForm(
        request.POST or None, initial={"roles": selectors.every_role_of(somebody)}
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
