"""Repaired tables of a release, as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synth_engine.mixing import repair
from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.releases import repaired
from synthweb.releases.services import LONGEST_SEED


class RepairedTableSerializer(serializers.Serializer[Any]):
    """A synthetic table that meets public totals."""

    code = serializers.CharField()
    name = serializers.CharField()
    release = serializers.CharField(source="release.code")
    published = serializers.CharField(help_text="Where the totals are published.")
    way = serializers.CharField(help_text="`weights` or `rows`.")
    rows = serializers.IntegerField()
    totals = DocumentField(help_text="As they were given.")
    receipt = DocumentField(
        help_text="Names the receipt of the release, and says in `totals` whether each is met."
    )
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class NewRepairedTableSerializer(StrictSerializer):
    """Public totals, and how rows of the release are made to meet them."""

    totals = serializers.JSONField(
        help_text='`{"totals": [{"name": …, "columns": […], "counts": [{"values": […], "count": …}]}]}`: '
        "values as files write them, or as "
        "the description names bins."
    )
    published = Text(max_length=300, help_text="Where the totals are published.")
    way = Choice(
        choices=repair.WAYS,
        default="weights",
        help_text="`weights`: a column of weights meets all totals. `rows`: rows are repeated and left out "
        "for one table of totals.",
    )
    rows = WholeNumber(
        min_value=1, max_value=repaired.MAX_ROWS, help_text="How many are generated."
    )
    name = Text(required=False, allow_blank=True, default="", max_length=200)
    seed = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=LONGEST_SEED,
        help_text="The same totals, rows and seed give the same table; empty for a random one. The receipt "
        "states it.",
    )
