"""Writing datasets: uploads in, drafts kept, descriptions confirmed, files replaced, datasets renamed and
deleted."""

from __future__ import annotations

from synthweb.datasets.services import databases
from synthweb.datasets.services.describing import (
    DraftChanges,
    Imported,
    Incomplete,
    check_columns,
    confirm_domain,
    constrain,
    declare_domain,
    describe_point,
    draft_locked,
    import_document,
    keep,
    save_draft,
)
from synthweb.datasets.services.intake import Intake, Received, intake_of
from synthweb.datasets.services.lifecycle import (
    blocked,
    bury,
    delete,
    erase_earlier,
    go_back,
    rename,
    replace_file,
    set_dialect,
    set_retention,
    state_records,
)
from synthweb.datasets.services.purchases import keep_learned
from synthweb.datasets.services.storing import (
    mark_ready,
    mark_refused,
    store_stream,
    store_upload,
    sweep,
)
from synthweb.datasets.services.tables import erase_spare, require_kept, take
from synthweb.datasets.services.templates import apply_template, delete_template, save_template
from synthweb.datasets.services.vault_key import rotate_vault_key

__all__ = [
    "DraftChanges",
    "Imported",
    "Incomplete",
    "Intake",
    "Received",
    "apply_template",
    "blocked",
    "bury",
    "check_columns",
    "confirm_domain",
    "constrain",
    "databases",
    "declare_domain",
    "delete",
    "delete_template",
    "describe_point",
    "draft_locked",
    "erase_earlier",
    "erase_spare",
    "go_back",
    "import_document",
    "intake_of",
    "keep",
    "keep_learned",
    "mark_ready",
    "mark_refused",
    "rename",
    "replace_file",
    "require_kept",
    "rotate_vault_key",
    "save_draft",
    "save_template",
    "set_dialect",
    "set_retention",
    "state_records",
    "store_stream",
    "store_upload",
    "sweep",
    "take",
]
