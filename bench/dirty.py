"""Reads files of public collections of odd CSVs, and counts which are read right, asked about, refused, or silently wrong.

    python bench/dirty.py FOLDER [--answer] [--show N]

FOLDER holds `csv/`, the files, and `clean/`, the same tables as plain CSV under the same names, as the Pollock benchmark
(HPI Information Systems, MIT licence) lays them out in `polluted_files` and `survey_sample`. A file is right if its names
and all of its cells are those of the clean one, blanks around names apart. With --answer a question is answered as it is
suggested, which shows how often the suggestion alone would have been right; nothing is silent then.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from synth_engine import readers
from synth_engine.errors import TableError

KINDS = ("right", "asked", "refused", "silently wrong")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--answer", action="store_true", help="answer questions as suggested")
    parser.add_argument("--show", type=int, default=10, help="names of so many wrong files")
    options = parser.parse_args()
    csv.field_size_limit(2**30)
    totals: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for path in sorted((options.folder / "csv").iterdir()):
        clean = options.folder / "clean" / path.name
        if not clean.is_file():
            continue
        found = verdict(path, clean, answer=options.answer)
        totals[found] += 1
        by_kind.setdefault(re.sub(r"[_0-9].*?[0-9].*|_0x.*|\..*", "", path.name), Counter())[
            found
        ] += 1
        if found == "silently wrong":
            wrong.append(path.name)
    print(
        f"{sum(totals.values())} files: "
        + ", ".join(f"{totals[kind]} {kind}" for kind in KINDS)
    )
    for kind, counts in sorted(by_kind.items(), key=lambda item: -item[1].total())[:40]:
        print(f"  {kind}: " + ", ".join(f"{counts[one]} {one}" for one in KINDS if counts[one]))
    for name in wrong[: options.show]:
        print(f"  wrong: {name}")
    sys.exit(bool(wrong) and not options.answer)


def verdict(path: Path, clean: Path, *, answer: bool) -> str:
    """What becomes of one file."""
    try:
        dialect = readers.detect(path, kind="csv")
        if dialect is not None and dialect.asked and not answer:
            return "asked"
        dialect = dialect and replace(dialect, asked=())
        shape = readers.Shape()
        cells: dict[str, list[str]] = {}
        for block in readers.blocks(path, kind="csv", dialect=dialect, shape=shape):
            for name, texts in block.items():
                cells.setdefault(name, []).extend(texts.to_pylist())
    except TableError:
        return "refused"
    rows = [list(cells), *map(list, zip(*cells.values(), strict=True))]
    with clean.open(encoding="utf-8", errors="replace", newline="") as file:
        truth = [row for row in csv.reader(file) if row]
    if all(row[-1] == "" for row in truth) or truth[0][-1] == "":
        truth = [
            row[:-1] for row in truth
        ]  # a delimiter at every line's end, which is said in a note
    if shape.dialect is not None and not shape.dialect.header:
        rows = [[f"col_{place}" for place in range(len(truth[0]))], *rows[1:]]
        truth = truth if truth[0][0].strip() == "col_0" else [rows[0], *truth]
    same = [cell.strip() for cell in rows[0]] == [cell.strip() for cell in truth[0]] and rows[
        1:
    ] == truth[1:]
    return "right" if same else "silently wrong"


if __name__ == "__main__":
    main()
