"""Addresses about what somebody is notified of."""

from __future__ import annotations

from django.urls import path

from synthweb.notifications import views

app_name = "notifications"
urlpatterns = [
    path("", views.index, name="index"),
    path("webhooks/", views.webhooks, name="webhooks"),
    path("webhooks/<slug:code>/test/", views.test, name="test-webhook"),
    path("webhooks/<slug:code>/enable/", views.enable, name="enable-webhook"),
    path("webhooks/<slug:code>/remove/", views.remove, name="remove-webhook"),
]
