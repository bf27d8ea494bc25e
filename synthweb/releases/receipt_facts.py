"""Receipts without their calls: of some methods these are megabytes, and most pages show none of them."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import F, Func, JSONField

from synth_engine.privacy.receipt import Receipt
from synthweb.releases.models import Release

ANNOTATION = "receipt_facts"


class WithoutCalls(Func):
    """A receipt in the database without its `calls`, which stay there."""

    output_field = JSONField()
    arity = 1

    template = "JSON_REMOVE(%(expressions)s, '$.calls')"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        return self.as_sql(
            compiler, connection, template="(%(expressions)s - 'calls')", **context
        )


RELEASE_ANNOTATIONS = {ANNOTATION: WithoutCalls(F("receipt"))}
"""What to annotate releases with, of which the receipt itself is deferred."""


def of(release: Release) -> Receipt:
    """The core of the receipt without `calls`. What hashes, signs or lists a receipt needs
    `release.receipt`."""
    return cast(Receipt, getattr(release, ANNOTATION, None) or release.receipt)
