"""The part of bench/paper_a.py that is about texts: draws from the commonest English words, by their
frequencies."""

from __future__ import annotations

import gzip
import os
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from synth_engine import mechanisms
from synth_engine.codec import Ranking
from synth_engine.domain import Domain, Weak
from synth_engine.models.model import Model
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST = 20
FILE = "data/text/unigrams_150k.tsv.gz"
DRAWS = int(os.environ.get("DRAWS", "5000000"))
ORDER = ("adaptive", "adaptive-improved", "direct-synthesis", "privtree", "adaptive-basic")
Counts = npt.NDArray[np.int64]


def drawn(folder: Path, number: int = DRAWS) -> pa.Array:
    """Words of the list, as often as chance has it; those with other signs or too long are not drawn."""
    words, weights = [], []
    with gzip.open(folder / FILE, "rt") as lines:
        for line in lines:
            word, count = line.rstrip("\n").split("\t")[:2]
            if word and len(word) <= LONGEST and set(LETTERS).issuperset(word):
                words.append(word)
                weights.append(float(count))
    chances = np.array(weights) / sum(weights)
    return pa.array(words).take(
        pa.array(np.random.default_rng(1).choice(len(words), number, p=chances))
    )


@cache
def opened(folder: Path) -> tuple[Domain, Rows, dict[str, int]]:
    """The table in the room, parsed once for all runs, and the truth beside it."""
    texts, domain = drawn(folder), of_words()
    attribute = domain.attribute("word")
    assert isinstance(attribute, Weak)
    ranking = Ranking(attribute)
    ranked = {"word": (ranking.places(texts), ranking.ranks)}
    truth = {pair["values"]: pair["counts"] for pair in texts.value_counts().to_pylist()}
    return (
        domain,
        Rows({"word": np.zeros(len(texts), dtype=np.uint16)}, domain=domain, ranked=ranked),
        truth,
    )


def synthetic(model: Model) -> tuple[dict[str, int], float]:
    """How often each text comes in a table as large as the model has it, and the share of texts that are
    beginnings."""
    tree: Any = model.tree
    exact = tree.weights / tree.weights.sum() * model.rows
    whole = np.floor(exact).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: model.rows - whole.sum()]] += 1
    found: dict[str, int] = {}
    for text, count in zip(tree.texts, whole.tolist(), strict=True):
        found[text] = found.get(text, 0) + count
    return found, float(whole[tree.partial].sum() / max(1, whole.sum()))


def suits(name: str) -> bool:
    """Whether there is a mechanism of that name, for texts."""
    mechanism = mechanisms.REGISTRY.get(name)
    return mechanism is not None and mechanism.suits(of_words())


def of_words() -> Domain:
    values = from_json(
        {"set": "strings", "alphabet": LETTERS, "min_length": 1, "max_length": LONGEST}
    )
    return Domain(attributes=(Weak(name="word", values=values),))


def measured(folder: Path, name: str, epsilon: str) -> dict[str, Any]:
    """One run: share found, curves from both ends, seconds, and how far the total is off in scales of its
    noise."""
    domain, rows, truth = opened(folder)
    start = time.perf_counter()
    plan = mechanisms.plan(domain, Spec(mechanism=name, epsilon=Fraction(epsilon)))
    answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
    model = plan.fit(answers)
    found, partial = synthetic(model)
    off = [
        abs(model.rows - sum(truth.values()))
        / float(getattr(answers.calls[0].event, "scale", 1))
    ]
    return {"seconds": time.perf_counter() - start, "partial": partial, "off": off} | compared(
        truth, found
    )


def compared(truth: dict[str, int], found: dict[str, int]) -> dict[str, Any]:
    """The share of records whose text is found, with multiplicity; cumulated by the frequency of the text, in
    steps of the logarithm to the base two (figure 8), and from the other end (figure 9); and what is
    commonest (figure 10)."""
    both = np.array([(count, min(count, found.get(text, 0))) for text, count in truth.items()])
    step = np.floor(np.log2(both[:, 0])).astype(np.int64)
    records, kept = (np.bincount(step, weights=both[:, side]) for side in (0, 1))
    total = records.sum()
    return {
        "share": float(kept.sum() / total),
        "source": (np.cumsum(records) / total).tolist(),
        "found": (np.cumsum(kept) / total).tolist(),
        "from the top": (np.cumsum(kept[::-1]) / total).tolist(),
        "commonest": sorted(found.items(), key=lambda pair: -pair[1])[:12],
    }
