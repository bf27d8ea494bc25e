"""Plausible tables beside the one of a release, from the same noisy answers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synth_engine.commands.parts import progress, whole
from synth_engine.errors import SpecError

if TYPE_CHECKING:
    from synth_engine.pipeline import Release


def paths(options: argparse.Namespace) -> list[Path]:
    """The file of each plausible table, beside that of the table. Errors: SpecError for a number that is not
    offered."""
    from synth_engine.plans import implicates

    number = whole(options.implicates, name="implicates")
    if number and not implicates.FEWEST <= number <= implicates.MOST:
        raise SpecError(
            f"{number} plausible tables are not made of one release",
            repair=f"ask for {implicates.FEWEST} to {implicates.MOST}, or leave --implicates out",
        )
    stem, dot, form = options.out.name.partition(".")
    return [
        options.out.with_name(f"{stem}.implicate-{each:02d}{dot}{form}")
        for each in range(1, number + 1)
    ]


def write(release: Release, files: Sequence[Path], options: argparse.Namespace) -> None:
    """Several plausible tables from the same noisy answers: post-processing, after the table is there."""
    from synth_engine import tables, watching
    from synth_engine.plans import implicates

    if not files:
        return
    show = progress()
    digest = release.plan.receipt(release.answers)["digest"]
    places = implicates.require(release.plan, release.answers)
    numbered = list(enumerate(files, 1))
    with watching.watched(lambda share: show("implicates", share)):
        for number, path in watching.each(numbered):
            seed = implicates.seed_of(digest, number)
            answers = implicates.perturbed(release.answers, places=places, seed=seed)
            model = release.plan.fit(answers)
            # As many records as this truth has, unless a number was asked for.
            rows = release.plan.spec.rows or model.rows
            draw = tables.Drawing(model=model, rows=rows, seed=seed)
            tables.write_drawn(
                draw, path=path, overwrite=options.overwrite, declared=options.as_it_came_in
            )
    show("implicates", 1.0)
