"""Answers that are kept for a while, so that a request that is sent again has its effect once."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class KeptAnswer(models.Model):
    """What one person's request with an Idempotency-Key was, as a digest, and what it was answered.

    Written in the transaction of the effect: there is a row if and only if the effect was kept."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    key = models.CharField(max_length=64)
    request_digest = models.CharField(max_length=64)
    # Null only inside the transaction that sets it.
    status = models.PositiveSmallIntegerField(null=True)
    location = models.CharField(max_length=500, blank=True)
    # As it was sent: a JSON column would change the order of its fields.
    body = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        # Of two requests at once the second waits at this index
        # until the first commits or fails.
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="kept_answer_once")]

    def __str__(self) -> str:
        return f"answer {self.status} to {self.user}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Location": self.location} if self.location else {}
