"""Addresses of cities below /api/v1/."""

from __future__ import annotations

from django.urls import include, path

from synthweb.extras.cities.rest import views

CITY_URLS = [
    path("", views.CityView.as_view(), name="city-detail"),
    path("tables.zip", views.CityArchiveView.as_view(), name="city-tables"),
    path("city.sqlite", views.CitySqliteView.as_view(), name="city-sqlite"),
    path("schema.sql", views.CityDdlView.as_view(), name="city-ddl"),
    path("matsim.zip", views.CityMatsimView.as_view(), name="city-matsim"),
    path(
        "populationsim.zip",
        views.CityPopulationSimView.as_view(),
        name="city-populationsim",
    ),
]
urlpatterns = [
    path("cities/", views.CitiesView.as_view(), name="city-list"),
    path("cities/<slug:code>/", include(CITY_URLS)),
]
