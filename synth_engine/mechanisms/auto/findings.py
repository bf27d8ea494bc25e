"""What the search for relations of three columns and more found, from paid answers alone."""

from __future__ import annotations

import math
from collections.abc import Callable

from synth_engine.measurement import Answers, Clique, Measurement, Scores, Selection
from synth_engine.mechanisms.auto import groups
from synth_engine.mechanisms.auto.group_tables import COLUMNS
from synth_engine.strict_json import JsonObject


def of(answers: Answers, *, rows: int) -> JsonObject | None:
    """Return what was found of triples and of larger groups; None if neither was looked for.

    candidates: the number of groups that were compared; scored: of those with a score; measured: of those
    with a table; largest: the largest score with its columns; noise: the standard deviation of each score;
    by_noise: about the largest score if no group were farther from what its pairs (and triples) imply than
    chance makes it. Scores are total variation distances beyond chance, shares of the records."""
    results: JsonObject = {}
    of_triples = _result(answers, rows, lambda clique: len(clique) == COLUMNS)
    if of_triples is not None:
        results["triples"] = of_triples
    of_larger = _result(answers, rows, lambda clique: len(clique) > COLUMNS)
    if of_larger is not None:
        results["groups"] = of_larger
    return results or None


def _result(
    answers: Answers, rows: int, is_such: Callable[[Clique], bool]
) -> JsonObject | None:
    scored = [
        (line.call.query.candidates, line.answer)
        for line in answers.answered
        if isinstance(line.answer, Scores) and all(map(is_such, line.call.query.candidates))
    ]
    if not scored:
        return None
    cliques, scores = scored[-1]
    selected_from = [
        line.call.query.candidates
        for line in answers.answered
        if isinstance(line.answer, Selection) and all(map(is_such, line.call.query.candidates))
    ]
    # Several selections of triples are among nearly the same candidates, those of larger groups are not.
    compared = {clique for candidates in selected_from for clique in candidates} | {*cliques}
    measured = {answer.clique for answer in answers.of(Measurement) if is_such(answer.clique)}
    # Half of an L1 distance is a total variation distance.
    unit = 0.5 / max(1, rows)
    first = int(scores.values.argmax())
    noise = math.sqrt(scores.noise.variance) * unit
    by_noise = noise * math.sqrt(2 * math.log(max(2, scores.values.size)))
    if len(cliques[0]) > COLUMNS:
        by_noise += groups.by_chance(max(1, rows), len(compared)) * unit
    return {
        "candidates": len(compared),
        "scored": scores.values.size,
        "measured": len(measured),
        "largest": {
            "columns": list(cliques[first]),
            "distance": max(0.0, float(scores.values[first]) * unit),
        },
        "noise": noise,
        "by_noise": by_noise,
    }
