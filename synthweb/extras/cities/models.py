"""Synthetic cities: what each is made of, and what was generated."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from synthweb.accounts.models import Organisation
from synthweb.runs.models import Leased


class CityBuild(Leased):
    """A synthetic city that somebody makes from releases that they may draw from (ADR 93): draft → waiting →
    finished | failed. What it was made of stands in its own row, so that it can be generated again; it opens
    no table and spends nothing."""

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        WAITING = "waiting", _("Being generated")
        FINISHED = "finished", _("Generated")
        FAILED = "failed", _("Failed")

    OPEN = (State.WAITING,)
    TASK = "cities.generate"

    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="cities"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="cities"
    )
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=12, choices=State, default=State.DRAFT)
    specification = models.TextField()
    areas = models.BinaryField()
    # Of sources that were written without data, by the name of the source.
    descriptions = models.JSONField(default=dict, blank=True)
    # Code of the release of each other source.
    releases = models.JSONField(default=dict, blank=True)
    # Public: the same documents and seed give the same city.
    seed = models.CharField(max_length=64)
    before = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="grown"
    )
    receipt = models.JSONField(null=True, blank=True)
    # Since the city that it grew from: names of tables.
    changes = models.JSONField(null=True, blank=True)
    archive = models.BinaryField(null=True, blank=True)
    database = models.BinaryField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "lease_held"])]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="finished")
                | Q(receipt__isnull=False, archive__isnull=False, database__isnull=False),
                name="generated_city_has_files",
            )
        ]

    def __str__(self) -> str:
        return self.name


class CityExport(models.Model):
    """A generated city as programs for simulation read it: a zip, written with the city where its
    specification says what a simulation takes."""

    class Form(models.TextChoices):
        MATSIM = "matsim", "MATSim"
        POPULATIONSIM = "populationsim", "PopulationSim"

    city = models.ForeignKey(CityBuild, on_delete=models.CASCADE, related_name="exports")
    form = models.CharField(max_length=16, choices=Form)
    content = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["city", "form"], name="one_export_of_a_form")
        ]

    def __str__(self) -> str:
        return f"{self.get_form_display()} of {self.city}"
