"""python -m synth_engine"""

from __future__ import annotations

import sys

from synth_engine.cli import main

if __name__ == "__main__":
    sys.exit(main())
