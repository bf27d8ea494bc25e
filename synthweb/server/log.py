"""What the server itself says, in the form of every other line."""

from __future__ import annotations

import os
from typing import Any

from gunicorn.glogging import Logger

from synthweb.lib import env, logs


class ServerLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Starts and ends of the server, and what it refused before the application saw it."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        # Before the settings of Django are loaded, and the same.
        form = env.log_format(os.environ.get("SYNTHWEB_LOG_FORMAT", "plain"))
        for handler in self.error_log.handlers:
            handler.setFormatter(logs.FORMATTERS[form]())
