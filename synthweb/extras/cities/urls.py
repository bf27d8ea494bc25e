"""Addresses of cities."""

from __future__ import annotations

from django.urls import path

from synthweb.extras.cities import views

app_name = "cities"
urlpatterns = [
    path("cities/", views.index, name="index"),
    path("cities/<slug:code>/", views.city, name="city"),
    path("cities/<slug:code>/grow/", views.grow, name="grow"),
    path("cities/<slug:code>/delete/", views.delete, name="delete"),
    path("cities/<slug:code>/city.<slug:kind>", views.file, name="file"),
    path("cities/<slug:code>/simulation/<slug:form>.zip", views.export, name="export"),
]
