"""The process that makes one table of test data: `python -m synthweb.extras.scenarios.altering`, started by
`altered`.

It reads what to make from its standard input and writes the archive to its standard output. Where the
scenario cannot be had it writes the refusal as JSON instead, and ends with `REFUSED`. It knows no database
and no key.
"""

from __future__ import annotations

import json
import sys

from synthweb.releases.drawing import REFUSED, become_background_process


def main() -> int:
    """Make the archive; 0 if all of it is written."""
    become_background_process()
    # Imported after the lines above, because it takes a second.
    from synth_engine.errors import InputError
    from synth_engine.extras.scenarios import engine as scenarios
    from synth_engine.models.model import Model

    job = json.load(sys.stdin.buffer)
    try:
        built = scenarios.build(
            Model.from_json(job["model"]),
            scenarios.Scenario.from_json(job["scenario"]),
            rows=job["rows"],
            seed=job["seed"],
            description_sha256=job["description_sha256"],
        )
    except InputError as error:
        sys.stdout.buffer.write(json.dumps(error.as_dict()).encode())
        return REFUSED
    scenarios.archive(built, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
