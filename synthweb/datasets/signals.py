"""What datasets tell the apps above them, which they do not know."""

from __future__ import annotations

from django.dispatch import Signal

arriving = Signal()
"""A table was received and is about to be kept; sent with `organisation` and `content_key`. Who raises a
TableError refuses it."""
