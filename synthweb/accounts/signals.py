"""What accounts tell the apps above them, which they do not know."""

from __future__ import annotations

from django.dispatch import Signal

account_changed = Signal()
"""Something about how a person signs in has changed; sent with `person` and `action`, the word of the audit
log."""

reset_requested = Signal()
"""Somebody asked for a mail with which to choose a new password; sent with `person`."""
