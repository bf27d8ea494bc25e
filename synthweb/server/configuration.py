"""gunicorn's configuration: `gunicorn --config python:synthweb.server.configuration synthweb.wsgi --bind …`.

The same on one's own machine and in a container, so it stands here and not in the commands."""

import gc
import os
import shutil
import tempfile
from typing import Any

from synthweb.server import limits

# Of prometheus_client, which must not be loaded here: it looks for the variable when it is.
NUMBERS = "PROMETHEUS_MULTIPROC_DIR"


def on_starting(server: Any) -> None:
    """Before any process begins: a folder in which all of them count (`synthweb.lib.numbers`); then the
    application is loaded, so that the processes share its memory. `preload_app` would load it before there is
    the folder. An installation of another format is refused."""
    os.environ[NUMBERS] = tempfile.mkdtemp(prefix="synthweb-numbers-")
    server.app.wsgi()
    try:
        _require_format()
    except SystemExit:
        on_exit(server)
        raise
    # Collections of garbage in the processes do not write to what they share.
    gc.collect()
    gc.freeze()


def _require_format() -> None:
    """Here and not in each process: where two of them end at once, gunicorn breaks."""
    # Not before the application, which says which settings there are.
    from django.apps import apps

    from synthweb.lib import installation_format

    if apps.ready:  # an application without Django has no database
        installation_format.stop_if_other()


def on_exit(_server: object) -> None:
    shutil.rmtree(os.environ.pop(NUMBERS), ignore_errors=True)


worker_class = "synthweb.server.worker.BufferedWorker"
workers = 2
threads = limits.THREADS
worker_connections = limits.CONNECTIONS
timeout = 120
graceful_timeout = 5
keepalive = int(limits.IDLE_SECONDS)
limit_request_line = limits.LONGEST_LINE
# Requests are logged by the application, which knows their route and person: addresses may hold tokens.
accesslog = None
logger_class = "synthweb.server.log.ServerLog"
control_socket_disable = True
sendfile = False  # what is sent is paced (synthweb/server/pacing.py)
# Nobody may tell gunicorn that a connection is secure or what its path is: not even a process of the same
# machine, which it would believe by itself. Django believes a proxy where one is declared (SYNTHWEB_PROXIES),
# and nobody else.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""
