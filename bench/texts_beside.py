"""How well texts and columns beside them go together: python bench/texts_beside.py [FOLDER] [RECORDS, by default 500,000]

Words of the folder's data/text, as often as they are; each has a topic that mostly follows its first letter and length, or
the word itself, and an age band that mostly follows the topic. `adaptive` with the columns attached to texts, with all in one tree,
and the first of these releases with the columns given to texts as if they had nothing to do with each other. Printed: total variation distance of the table of words by topic (words with 200
records or more, the others by their first letter), of first letters by topic, and of topics by age, at epsilon 1 and 10.
"""

from __future__ import annotations

import sys
import time
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from paper_a_texts import drawn, of_words

from synth_engine import mechanisms
from synth_engine.codec import Ranking
from synth_engine.confidential.rows import Rows
from synth_engine.confidential.session import open_session
from synth_engine.domain import Categorical, Domain, Weak
from synth_engine.models.model import Model
from synth_engine.spec import Spec

Codes = npt.NDArray[np.uint16]
TOPICS, AGES, FREQUENT = 6, 4, 200
TOGETHER = ("attached", "product")
WAYS = ("first letter and length", "the word itself")


def topic(word: str, way: str) -> int:
    told = f"{word[:1]}{len(word) > 5}" if way == WAYS[0] else word
    return zlib.crc32(told.encode()) % TOPICS


def beside(words: list[str], way: str) -> dict[str, Codes]:
    """Seven of ten have the topic of their word, two of three the age of their topic."""
    rng = np.random.default_rng(3)
    own = {word: topic(word, way) for word in set(words)}
    topics = np.array([own[word] for word in words])
    topics = np.where(
        rng.random(topics.size) < 0.7, topics, rng.integers(0, TOPICS, topics.size)
    )
    ages = np.where(
        rng.random(topics.size) < 0.67, topics % AGES, rng.integers(0, AGES, topics.size)
    )
    return {"topic": topics.astype(np.uint16), "age": ages.astype(np.uint16)}


def domain() -> Domain:
    named = {"topic": TOPICS, "age": AGES}
    further = [
        Categorical(
            name=name, values=tuple(f"{name} {n}" for n in range(size)), outside="clamp"
        )
        for name, size in named.items()
    ]
    return Domain(attributes=(*of_words().attributes, *further))


def opened(words: Any, columns: dict[str, Codes]) -> Rows:
    attribute = domain().attribute("word")
    assert isinstance(attribute, Weak)
    ranking = Ranking(attribute)
    ranked = {"word": (ranking.places(words), ranking.ranks)}
    return Rows(
        {"word": np.zeros(len(words), dtype=np.uint16), **columns},
        domain=domain(),
        ranked=ranked,
    )


def released(rows: Rows, epsilon: str, together: str) -> Model:
    spec = Spec(
        mechanism="adaptive", epsilon=Fraction(epsilon), parameters={"together": together}
    )
    plan = mechanisms.plan(domain(), spec)
    return plan.fit(plan.run(open_session(rows, domain=domain(), cap=plan.loss)))


def apart(kinds: list[npt.NDArray[Any]], others: list[npt.NDArray[Any]]) -> float:
    """Total variation distance of two tables of records, kind by kind."""
    found: dict[Any, float] = {}
    for side, columns in ((1, kinds), (-1, others)):
        for each in zip(*(column.tolist() for column in columns), strict=True):
            found[each] = found.get(each, 0.0) + side / len(columns[0])
    return sum(map(abs, found.values())) / 2


def merged(words: npt.NDArray[Any], frequent: set[str]) -> npt.NDArray[Any]:
    known = {word: word if word in frequent else f"{word[:1]}…" for word in set(words.tolist())}
    return np.array([known[word] for word in words.tolist()])


def compared(
    words: npt.NDArray[Any], columns: dict[str, Codes], model: Model
) -> dict[str, tuple[float, float]]:
    """Of each table the distance as released, and with columns that were dealt out anew, together."""
    times = dict(zip(*np.unique(words, return_counts=True), strict=True))
    frequent = {word for word, count in times.items() if count >= FREQUENT}
    codes, (labels, places) = (
        model.sample(len(words), seed="s"),
        model.written(len(words), seed="s")["word"],
    )
    made = labels[places].astype(str)
    dealt = np.random.default_rng(4).permutation(len(made))
    pairs = {
        "words by topic": lambda texts: merged(texts, frequent),
        "letters by topic": lambda texts: texts.astype("U1"),
    }
    found = {
        name: tuple(
            apart([of(words), columns["topic"]], [of(made), codes["topic"][order]])
            for order in (slice(None), dealt)
        )
        for name, of in pairs.items()
    }
    ages = [columns["topic"], columns["age"]], [codes["topic"], codes["age"]]
    return found | {
        "topics by age": (apart(*ages), apart(ages[0], [ages[1][0], ages[1][1][dealt]]))
    }


def main(folder: Path, number: int) -> None:
    texts = drawn(folder, number)
    words = np.array(texts.to_pylist())
    print(
        f"{number:,} records\n| topics follow | ε | table | {' | '.join(TOGETHER)} | independent | s |"
    )
    print("|---|---|---|---|---|---|---|")
    for way in WAYS:
        columns = beside(words.tolist(), way)
        rows = opened(texts, columns)
        for epsilon in ("1", "10"):
            found, taken = [], []
            for together in TOGETHER:
                start = time.process_time()
                model = released(rows, epsilon, together)
                taken.append(f"{time.process_time() - start:.1f}")
                found.append(compared(words, columns, model))
            for name, (first, alone) in found[0].items():
                other = found[1][name][0]
                seconds = " and ".join(taken)
                print(
                    f"| {way} | {epsilon} | {name} | {first:.3f} | {other:.3f} | {alone:.3f} | {seconds} |",
                    flush=True,
                )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "../shared"), int(given[1]) if len(given) > 1 else 500_000)
