"""The addresses of a server whose interface has another major version: those of this one are gone."""

from __future__ import annotations

from typing import Any

urlpatterns: list[Any] = []
