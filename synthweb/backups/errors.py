"""What backups refuse, and what to do."""

from __future__ import annotations


class BackupError(Exception):
    """A backup cannot be made or restored; nothing was changed. The message says what to do."""
