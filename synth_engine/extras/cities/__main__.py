"""python -m synth_engine.extras.cities: prints the JSON Schema that is published as docs/city.schema.json."""

from __future__ import annotations

import json
import sys

from synth_engine.extras.cities.schema import SCHEMA

if __name__ == "__main__":
    sys.stdout.write(json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n")
