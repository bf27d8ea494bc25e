"""gunicorn's configuration: `gunicorn --config python:synthweb.server.configuration synthweb.wsgi --bind …`.

The same on one's own machine and in a container, so it stands here and not in the commands."""

from synthweb.server import limits

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
# Nobody may tell gunicorn that a connection is secure or what its path is: not even a process of the same machine, which
# it would believe by itself. Django believes a proxy where one is declared (SYNTHWEB_PROXIES), and nobody else.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""
