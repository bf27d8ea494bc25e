"""What releases tell the apps above them, which they do not know."""

from __future__ import annotations

from django.dispatch import Signal

opened = Signal()
"""Somebody opened the page of a release; sent with `release` and `user`."""
