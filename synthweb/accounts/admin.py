"""People in the administration, and the base of every page there: it shows, and changes nothing."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.db.models import QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest
from django.urls import reverse
from unfold.admin import ModelAdmin

from synthweb.accounts import selectors
from synthweb.accounts.models import Organisation, User
from synthweb.accounts.permissions import Need


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Shows the viewer's organisation; adds, changes and deletes nothing, whoever asks.

    `organisation_path` is the lookup from the model to its organisation, or to the organisation's code where
    `organisation_by_code` says so; None for what belongs to no organisation. Superusers (the operator of the
    installation) see every organisation, and they alone see what belongs to none.
    """

    site_page: str | None = None
    """The address of the page about an object, by its code, where the site has one."""
    organisation_path: str | None = "organisation"
    organisation_by_code = False
    actions = None
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request)
        if selectors.is_operator(request.user):
            return queryset
        if not self.organisation_path:  # rows of no organisation are for the operator alone
            return queryset.none()
        organisation = selectors.organisation_of(request.user)
        own = organisation.code if self.organisation_by_code else organisation
        # A path through memberships joins one row for each role of a person.
        return queryset.filter(**{self.organisation_path: own}).distinct()

    def lookup_allowed(
        self, lookup: str, value: str, request: HttpRequest | None = None
    ) -> bool:
        """Only what a filter of the page offers. Django takes any field of the model from the address, shown
        or not, and so lets whoever sees a list guess a password's hash or a secret seed letter by letter."""
        filters = [
            entry[0] if isinstance(entry, tuple) else entry for entry in self.list_filter
        ]
        offered = lookup.partition(LOOKUP_SEP)[0] in filters
        return offered and bool(super().lookup_allowed(lookup, value, request))

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        """The link from the administration back to the page of the site."""
        if obj is None or self.site_page is None:
            return None
        return reverse(self.site_page, args=[obj.code])

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(
        self,
        request: HttpRequest,
        obj: models.Model | None = None,  # noqa: ARG002
    ) -> bool:
        if selectors.is_operator(request.user):
            return True
        return self.organisation_path is not None and selectors.can(request.user, Need.LOG)

    def has_add_permission(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: models.Model | None = None,  # noqa: ARG002
    ) -> bool:
        return False

    def has_change_permission(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: models.Model | None = None,  # noqa: ARG002
    ) -> bool:
        return False

    def has_delete_permission(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: models.Model | None = None,  # noqa: ARG002
    ) -> bool:
        return False


class PeopleAdmin(ReadOnlyAdmin):
    """What those who manage people see as well."""

    def has_view_permission(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> bool:
        return super().has_view_permission(request, obj) or selectors.manages_people(
            request.user
        )


@admin.register(Organisation)
class OrganisationAdmin(PeopleAdmin):
    organisation_path = "code"
    organisation_by_code = True
    list_display = ["name", "code", "created_at"]
    search_fields = ["name", "code"]


@admin.register(User)
class UserAdmin(PeopleAdmin):
    organisation_path = "memberships__organisation"
    list_display = [
        "username",
        "first_name",
        "roles",
        "is_staff",
        "is_active",
        "is_demo",
        "last_login",
    ]
    list_filter = ["is_active", "is_staff", "is_demo"]
    search_fields = ["username", "first_name", "email"]
    fields = [
        "username",
        "first_name",
        "email",
        "roles",
        "is_staff",
        "is_active",
        "is_demo",
        "last_login",
        "date_joined",
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related("memberships")

    @admin.display
    def roles(self, person: User) -> str:
        return ", ".join(str(role.label) for role in selectors.every_role_of(person)) or "none"
