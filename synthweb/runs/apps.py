"""Runs as a Django app."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Whoever opens a release has seen the end of its run."""

    name = "synthweb.runs"

    def ready(self) -> None:
        from synthweb.releases.signals import opened

        # Releases stand below runs and do not import them, so they send a signal.
        opened.connect(_seen, dispatch_uid="runs.seen")


def _seen(*, release: Any, user: Any, **_rest: Any) -> None:
    from synthweb.runs import notices  # has model classes: importable once all apps are loaded

    notices.see(user=user, release_run__release=release)
