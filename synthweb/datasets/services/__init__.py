"""Writing datasets: uploads in, drafts kept, descriptions confirmed."""

from __future__ import annotations

from synthweb.datasets.services.describing import (
    Incomplete,
    check_columns,
    confirm_domain,
    declare_domain,
    import_document,
    keep,
    save_draft,
)
from synthweb.datasets.services.intake import Intake, Received
from synthweb.datasets.services.storing import mark_ready, mark_refused, store_stream, store_upload, sweep

__all__ = [
    "Incomplete",
    "Intake",
    "Received",
    "check_columns",
    "confirm_domain",
    "declare_domain",
    "import_document",
    "keep",
    "mark_ready",
    "mark_refused",
    "save_draft",
    "store_stream",
    "store_upload",
    "sweep",
]
