"""python -m synth_engine.domain: prints the JSON Schema that is published as docs/domain.schema.json."""

from __future__ import annotations

import json
import sys

from synth_engine.domain.schema import SCHEMA

if __name__ == "__main__":
    sys.stdout.write(json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n")
