"""`python -m tests.pages` measures every page in a browser and writes docs/pages.md."""

from __future__ import annotations

import os
import subprocess
import sys

WRITES = "TESTS_WRITE_PAGES"
"""In the environment of the test that measures: it writes what it finds."""
TEST = "tests/e2e/test_pages.py"

if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST]
    sys.exit(subprocess.run(command, env=os.environ | {WRITES: "1"}, check=False).returncode)
