"""`python -m synthweb.local run|stop|reset|demo-logins`: what the Makefile calls, and `synthweb` where wheels
are installed."""

from __future__ import annotations

import argparse
import sys

from django.core.exceptions import ImproperlyConfigured

from synthweb.lib import shipped
from synthweb.local import broker, installation, paths, supervisor


def main(arguments: list[str] | None = None) -> int:
    """Do one of the verbs; problems are one line, not a traceback."""
    parser = argparse.ArgumentParser(
        prog="synthweb" if shipped.IS_INSTALLED else "python -m synthweb.local",
        description=__doc__,
    )
    parser.add_argument("verb", choices=["run", "stop", "reset", "demo-logins"])
    parser.add_argument("--force", action="store_true", help="reset without asking")
    chosen = parser.parse_args(arguments)
    local = installation.Installation(paths.of_this_machine())
    verbs = {
        "run": local.run,
        "stop": local.stop,
        "reset": lambda: local.reset(force=chosen.force),
        "demo-logins": local.demo_logins,
    }
    try:
        return verbs[chosen.verb]()
    except (
        broker.NoRedis,
        supervisor.GaveUp,
        installation.InstallationRefused,
        ImproperlyConfigured,
        OSError,
    ) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
