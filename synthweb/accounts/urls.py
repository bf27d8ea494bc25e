"""Addresses about oneself and the people of the organisation."""

from __future__ import annotations

from django.urls import path

from synthweb.accounts import views

app_name = "accounts"
urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("login/code/", views.code, name="code"),
    path("login/provider/", views.provider, name="provider"),
    path("login/provider/return/", views.provider_return, name="provider_return"),
    path("logout/", views.SignOut.as_view(), name="logout"),
    path("", views.profile, name="profile"),
    path("reset/", views.reset, name="reset"),
    path("reset/<uidb64>/<token>/", views.ChoosePassword.as_view(), name="choose_password"),
    path("second-factor/", views.second_factor, name="second_factor"),
    path("second-factor/app/", views.add_app, name="add_app"),
    path("second-factor/passkey/", views.add_passkey, name="add_passkey"),
    path(
        "second-factor/passkeys/<slug:code>/remove/",
        views.remove_passkey,
        name="remove_passkey",
    ),
    path("second-factor/codes/", views.make_codes, name="make_codes"),
    path("second-factor/remove/", views.remove_second_factor, name="remove_second_factor"),
    path("sessions/", views.sessions, name="sessions"),
    path("sessions/others/end/", views.end_other_sessions, name="end_other_sessions"),
    path("sessions/<slug:code>/end/", views.end_session, name="end_session"),
    path("password/", views.password, name="password"),
    path("tokens/", views.api_tokens, name="tokens"),
    path("tokens/<slug:code>/revoke/", views.revoke_token, name="revoke_token"),
    path("people/", views.people, name="people"),
    path("organisation/", views.organisation, name="organisation"),
    path("people/second-factor/", views.require_second_factor, name="require_second_factor"),
    path("people/<int:pk>/", views.person, name="person"),
    path(
        "people/<int:pk>/second-factor/remove/",
        views.remove_second_factor_of,
        name="remove_second_factor_of",
    ),
    path("people/<int:pk>/active/", views.set_active, name="set_active"),
    path(
        "people/<int:pk>/one-time-password/", views.one_time_password, name="one_time_password"
    ),
]
