"""A program that draws the first rows of a release again, on somebody's own machine.

It has the public seed, the digest of the receipt that citations name and that of the model, so that what it
downloads is what was published; no token and no secret seed.
"""

from __future__ import annotations

from synth_engine.privacy import receipt as receipts
from synthweb.releases import look
from synthweb.releases.models import Release

_PROGRAM = '''#!/usr/bin/env python3
"""Draws the first rows of a release again, on this machine: the rows that everybody gets, byte for byte.

Downloads the receipt and the model, verifies the receipt, and draws with the public seed. Needs a token with
the scope read, and two packages of a checkout of synthweb: pip install . ./client

    TOKEN=synthweb_... python {file} rows.csv [--rows N] [--seed TEXT] [--selection FILE]

Rows and seed of a sample of your own give that table again, and of a sample of chosen rows its selection, as
REST states it, in a JSON file. The name of the file ends in .csv, .parquet or
.xlsx; a CSV has the bytes of the one that the server sends.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from synth_engine import tables
from synth_engine.models.model import Model
from synth_engine.privacy import receipt as receipts
from synth_engine.row_selection import RowSelection
from synthweb_client import Client, SynthwebError

SERVER = {server!r}
RELEASE = {release!r}
RECEIPT = {receipt!r}  # the digest that citations name
MODEL = {model!r}  # SHA-256
ROWS = {rows!r}
SEED = {seed!r}


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw the rows of a release again.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--selection", type=Path)
    given = parser.parse_args()
    selection = None
    if given.selection is not None:
        selection = RowSelection.from_json(json.loads(given.selection.read_text("utf-8")))
    token = os.environ.get("TOKEN", "")
    if not token:
        return refuse("set the environment variable TOKEN to an API token with the scope read")
    try:
        with Client(os.environ.get("SYNTHWEB", SERVER), token=token) as client:
            release = client.release(RELEASE)
            receipt = release.receipt(digest=RECEIPT)
            document = json.loads(release.model())
    except SynthwebError as error:
        return refuse(str(error))
    if receipts.digest(document) != MODEL:
        return refuse("the model is not the one that this program was written for")
    print(f"verified: epsilon = {{float(receipt.epsilon):.12g}}, delta = {{float(receipt.delta):.12g}}")
    drawing = tables.Drawing(
        model=Model.from_json(document),
        rows=given.rows,
        seed=given.seed,
        selection=selection,
    )
    digest = tables.write_drawn(drawing, path=given.out)
    print(f"{{given.out}}: {{given.rows}} rows, SHA-256 {{digest}}")
    return 0


def refuse(text: str) -> int:
    sys.stderr.write(f"{{text}}\\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
'''


def file_name(release: Release) -> str:
    """What the program is called."""
    return f"recreate-{release.code}.py"


def program(release: Release, *, server: str) -> str:
    """The program for one release. server: such as https://synthetic.example.org. The caller authorised."""
    return _PROGRAM.format(
        file=file_name(release),
        server=server,
        release=release.code,
        receipt=str(release.receipt["digest"]),
        model=receipts.digest(release.model),
        rows=look.ROWS,
        seed=look.seed_of(release),
    )
