"""`synthweb-manage`: Django's command line of an installation of one machine, as `manage.py` of a
checkout."""

from __future__ import annotations

import os
import sys

from synthweb.local import paths


def main() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
    os.environ.setdefault("SYNTHWEB_VAR", str(paths.of_this_machine().var))
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
