"""Addresses about oneself and the people of the organisation."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from synthweb.accounts import views

app_name = "accounts"
urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", views.profile, name="profile"),
    path("password/", views.password, name="password"),
    path("tokens/", views.api_tokens, name="tokens"),
    path("tokens/<slug:code>/revoke/", views.revoke_token, name="revoke_token"),
    path("people/", views.people, name="people"),
    path("people/<int:pk>/", views.person, name="person"),
    path("people/<int:pk>/active/", views.set_active, name="set_active"),
    path(
        "people/<int:pk>/one-time-password/", views.one_time_password, name="one_time_password"
    ),
]
