"""The part of a model that is a tree of texts: texts and prefixes of texts with weights, and
the records that are sampled from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain, Text, Weak
from synth_engine.hierarchy import Prefixes, StringHierarchy
from synth_engine.kinds import text as lengths
from synth_engine.kinds.completions import Completions
from synth_engine.kinds.reading import Codes
from synth_engine.kinds.text import CLASSES, Class
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.trees.spatial import malformed
from synth_engine.models.weights import WHOLE, Weights, dealt
from synth_engine.strict_json import JsonObject

IncompletePrefixes = Literal["completed", "whole", "marked"]
Places = npt.NDArray[np.intp]
MARKS = "…~*#|"
"""Characters that may mark a text of which only a prefix is known: the first that no text can have."""


def column(attribute: Weak) -> Text:
    """Returns the release's description of a column of unknown texts: texts that are counted by
    their lengths and the class of their first characters."""
    from synth_engine.indexing import prefixes

    words = prefixes.words(attribute)
    facts = attribute.facts
    return Text(
        name=attribute.name,
        min_length=words.shortest,
        max_length=words.longest,
        signs=_classes(words.alphabet),
        leading=words.shortest > 0,
        missing=attribute.missing,
        outside="missing" if attribute.outside == "missing" and attribute.missing else None,
        # Whoever reads the table again measures texts as they were spelled in the run.
        reads=None if attribute.values.is_exact else attribute.values.reader,
        provenance={
            "kind": facts["kind"],
            "shape": facts["values"],
            "missing": facts["missing"],
        },
    )


def _classes(alphabet: str) -> tuple[Class, ...]:
    classes = {lengths.class_of(sign) for sign in alphabet} | {"punctuation"}  # the mark is one
    return tuple(each for each in CLASSES if each in classes)


@dataclass(frozen=True, kw_only=True, eq=False)
class StringTree:
    """Texts of a column in the order of their characters, some of them prefixes (`partial`), with
    weights that add up to `WHOLE`.

    A prefix is written as it is (`whole`), or with a mark behind it (`marked`); always with a mark
    where it is shorter than any text may be. With `completed` it is one of the public
    `completions` that begin so, by their weights, and written as it is where there is none.

    `attached`: covariates of the texts."""

    hierarchy: StringHierarchy
    texts: tuple[str, ...]
    partial: npt.NDArray[np.bool_]
    weights: Weights
    incomplete_prefixes: IncompletePrefixes = "completed"
    completions: Completions | None = None
    attached: Covariates | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Returns the columns that the tree generates."""
        return (*self.hierarchy.columns, *(self.attached.sizes if self.attached else ()))

    def __post_init__(self) -> None:
        size, longest = len(self.texts), self.hierarchy.longest
        sound = (
            self.partial.shape == self.weights.shape == (size,)
            and size > 0
            and self.incomplete_prefixes in get_args(IncompletePrefixes)
        )
        sound = sound and (self.attached is None or self.attached.areas.size == size)
        if not sound or self.weights.min() < 0 or self.weights.sum() != WHOLE:
            raise malformed()
        signs = set(self.hierarchy.alphabet)
        for text, cut in zip(self.texts, self.partial.tolist(), strict=True):
            fits = (
                len(text) < longest if cut else self.hierarchy.shortest <= len(text) <= longest
            )
            # The mark is a character outside the alphabet: a text that had it could not be
            # distinguished from a marked prefix.
            if not fits or not signs >= set(text):
                raise malformed()

    @property
    def mark(self) -> str:
        """Returns the character that marks a prefix."""
        others = map(chr, range(0x2460, 0x2600))  # more than an alphabet may have
        return str(
            next(sign for sign in (*MARKS, *others) if sign not in self.hierarchy.alphabet)
        )

    @cached_property
    def levels(self) -> npt.NDArray[np.int64]:
        """Returns the depths of the nodes: an end takes one more, unless no character could follow."""
        lengths_of_texts = np.array([len(text) for text in self.texts], dtype=np.int64)
        return np.minimum(lengths_of_texts + ~self.partial, self.hierarchy.depth)

    @cached_property
    def cells(self) -> Prefixes:
        """The first codes of its nodes."""
        return replace(self.hierarchy, shortest=0).encode(self.texts)

    @classmethod
    def of_nodes(
        cls,
        hierarchy: StringHierarchy,
        levels: npt.NDArray[np.int64],
        cells: Prefixes,
        weights: Weights,
        *,
        incomplete_prefixes: IncompletePrefixes,
        completions: Completions | None,
    ) -> StringTree:
        """Makes the tree of nodes. One that has not ended is a prefix, unless no character may follow."""
        texts = hierarchy.decode(cells)
        partial = np.array(
            [len(text) == level for text, level in zip(texts, levels.tolist(), strict=True)]
        )
        partial &= levels < hierarchy.longest
        return cls(
            hierarchy=hierarchy,
            texts=tuple(texts),
            partial=partial,
            weights=weights,
            incomplete_prefixes=incomplete_prefixes,
            completions=completions,
        )

    def draw_strings(
        self, rows: int, *, population: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
        """Texts, and which of them each of `rows` records has."""
        return self.strings_within(self.chosen(rows, population=population, rng=rng), rng)

    def strings_within(
        self, chosen: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
        """The same of records in these nodes."""
        places = chosen.copy()
        if self.incomplete_prefixes != "completed" or self.completions is None:
            return self.written, places
        texts, reached, first, last = self._public
        # Prefixes without a public completion stay as they are: a made-up ending would look
        # like a text that somebody has.
        some = np.flatnonzero(reached[last[places]] > reached[first[places]])
        low, high = reached[first[places[some]]], reached[last[places[some]]]
        at = (
            np.searchsorted(reached, low + rng.random(some.size) * (high - low), side="right")
            - 1
        )
        at = np.clip(at, first[places[some]], last[places[some]] - 1)
        places[some] = self.weights.size + at
        return np.concatenate([self.written, texts]), places

    @cached_property
    def _public(
        self,
    ) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.float64], Places, Places]:
        """Completions in the order of their characters and the sum of the weights before each; and of each
        node the first that begins so and the one after the last. Of a whole text there are none."""
        if self.completions is None:
            raise TypeError("the tree has no completions")
        public = self.completions.values
        weights = np.array(self.completions.weights or np.ones(public.size))
        texts = [public.unrank(rank) for rank in range(public.size)]
        fits = np.array([self.hierarchy.member(text) for text in texts], dtype=np.bool_) & (
            weights > 0
        )
        texts = [text for text, fit in zip(texts, fits.tolist(), strict=True) if fit]
        codes = self.hierarchy.encode(texts)
        order = np.argsort(codes)
        ends = self.hierarchy.path(self.cells).copy()
        # 255 is above every symbol, so this is the largest code that may begin like the node.
        ends[np.arange(self.hierarchy.width) >= self.levels[:, None]] = 255
        first = np.searchsorted(codes[order], self.cells)
        last = np.searchsorted(codes[order], self.hierarchy.code(ends), side="right")
        last = np.where(self.partial, last, first)
        return (
            np.array(texts, dtype=object)[order],
            np.append(0.0, np.cumsum(weights[fits][order])),
            first,
            last,
        )

    @cached_property
    def written(self) -> npt.NDArray[np.object_]:
        """The texts as a table has them."""
        marked = [
            text + self.mark
            if cut
            and (self.incomplete_prefixes == "marked" or len(text) < self.hierarchy.shortest)
            else text
            for text, cut in zip(self.texts, self.partial.tolist(), strict=True)
        ]
        return np.array(marked, dtype=object)

    def chosen(
        self, rows: int, *, population: int, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """The places of the texts of `rows` records, a random part of a `population`."""
        order = np.arange(self.weights.size)  # that of their signs
        return dealt(self.weights, rows, order=order, population=population, rng=rng)

    def sample(
        self, rows: int, *, population: int, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Samples codes of the column, by length and first character, and of its covariates."""
        chosen = self.chosen(rows, population=population, rng=rng)
        codes = self.within(chosen, domain=domain, rng=rng)
        return codes | (self.attached.sample(chosen, rng) if self.attached else {})

    def within(
        self, chosen: npt.NDArray[np.int64], *, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of the column of records in these nodes."""
        (name,) = self.hierarchy.columns
        attribute = domain.attribute(name)
        if not isinstance(attribute, Text):
            raise malformed()
        texts, places = self.strings_within(chosen, rng)
        return {name: attribute.encode(texts.tolist())[places]}

    def to_json(self) -> JsonObject:
        return {
            "kind": "texts",
            "hierarchy": self.hierarchy.to_json(),
            "texts": list(self.texts),
            "partial": np.flatnonzero(self.partial).tolist(),
            "weights": self.weights.tolist(),
            "partly": self.incomplete_prefixes,
            "mark": self.mark,
            **({} if self.completions is None else {"completions": self.completions.to_json()}),
            **({} if self.attached is None else {"attached": self.attached.to_json()}),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], domain: Domain) -> StringTree:
        """Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
        partial = np.zeros(len(obj["texts"]), dtype=np.bool_)
        partial[np.array(obj["partial"], dtype=np.int64)] = True
        return cls(
            hierarchy=StringHierarchy.from_json(obj["hierarchy"]),
            texts=tuple(map(str, obj["texts"])),
            partial=partial,
            weights=np.array(obj["weights"], dtype=np.int64),
            incomplete_prefixes=obj["partly"],
            completions=Completions.from_json(obj["completions"])
            if "completions" in obj
            else None,
            attached=Covariates.from_json(obj["attached"], sizes=domain.sizes)
            if "attached" in obj
            else None,
        )
