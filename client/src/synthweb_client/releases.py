"""A release as its readers see it. Everything here is computed from noisy answers: reading costs no
budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from synthweb_client import documents, receipts
from synthweb_client.receipts import Receipt
from synthweb_client.release_checks import ReleaseChecks
from synthweb_client.release_documents import ExpectedErrors, Node
from synthweb_client.release_files import ReleaseFiles
from synthweb_client.release_sharing import ReleaseSharing
from synthweb_client.repaired import RepairedTable
from synthweb_client.samples import Sample

CELLS = 10_000
"""Cells asked for at once, the most that the server gives."""


class Release(ReleaseFiles, ReleaseChecks, ReleaseSharing):
    """A release that you may read: what is in it, its proof, and tables drawn from it. Files are in
    `ReleaseFiles`, what
    is measured beside it in `ReleaseChecks`, and what stewards do in `ReleaseSharing`."""

    def __repr__(self) -> str:
        return f"Release({self.code!r}, {self.name!r})"

    def first_rows(self) -> documents.FirstRows:
        """A hundred synthetic rows, the same for everybody, and what the model holds of each column. Waits
        for the worker that draws them once a release. Errors: NotReady."""
        return documents.read(self._when_ready("first-rows").content, documents.FirstRows)

    def dictionary(self) -> tuple[documents.Column, ...]:
        """What the columns mean, from the public description."""
        return documents.read(self._get("dictionary").content, tuple[documents.Column, ...])

    def estimates(self) -> tuple[documents.EstimatedColumn, ...]:
        """Figures of each column from the noisy answers, each with the interval that the noise leaves. Waits
        for the worker that computes them. Errors: NotReady."""
        answer = self._when_ready("expected")
        return documents.read(answer.content, tuple[documents.EstimatedColumn, ...])

    def marginal(self, *columns: str, where: Sequence[str] = ()) -> documents.Marginal:
        """Counts of up to eight columns, each with its interval, whole. Waits for the worker that gathers the
        noisy answers. where: conditions that all hold, such as "region=north|south" or "age=30..39". Errors:
        NotReady."""
        cells: list[documents.Cell] = []
        while True:
            params: dict[str, str | list[str]] = {
                "columns": list(columns),
                "where": list(where),
                "limit": str(CELLS),
                "offset": str(len(cells)),
            }
            answer = self._when_ready("marginals", params)
            part = documents.read(answer.content, documents.Marginal)
            cells += part.cells
            if len(cells) >= part.count or not part.cells:
                return dataclasses.replace(part, cells=tuple(cells))

    def fit(
        self, outcome: str, *regressors: str, kind: Literal["ols", "logit"] = "ols"
    ) -> documents.Fit:
        """A regression of one column on up to eight others, with intervals that include the noise of privacy.
        Waits for the worker that gathers the noisy answers. Errors: NotReady; ServerRefused, which says why
        the regression is not offered."""
        params: dict[str, str | list[str]] = {
            "outcome": outcome,
            "regressors": list(regressors),
            "kind": kind,
        }
        return documents.read(self._when_ready("fit", params).content, documents.Fit)

    def expected_errors(self) -> ExpectedErrors:
        """How far the release is expected to be from the real table: the mean distances of single columns and
        of pairs, and how close each column is. Waits for the worker that computes them. Errors: NotReady."""
        answer = self._when_ready("expected-errors")
        return documents.read(answer.content, ExpectedErrors)

    def network(self) -> tuple[Node, ...]:
        """Which columns each column is drawn from, in the order of drawing. Errors: ReleaseUnavailable where
        the method has no network."""
        return documents.read(self._get("network").content, tuple[Node, ...])

    def receipt(self, *, digest: str | None = None) -> Receipt:
        """The receipt, verified: epsilon and delta are recomputed from the listed calls and compared with
        those that the server lists. digest: of its core, if a citation names it. Errors: ReceiptRefused."""
        # The head first: a mark that comes between the two is then in the receipt.
        marks = documents.read(self._get("marks").content, dict[str, Any])
        claim = self._claim(digest=digest or str(marks["core"]), head=marks["head"])
        return receipts.verified(self._get("receipt").content, claim)

    def sample(
        self,
        rows: int | None = None,
        *,
        where: Sequence[Mapping[str, object]] = (),
        quotas: Mapping[str, object] | None = None,
        seed: str | None = None,
        edition: str | None = None,
        key: str | None = None,
    ) -> Sample:
        """Ask for a table of so many rows; it is drawn at each download, the same bytes each time.

        where, quotas: which rows, made by `synthweb_client.rows`; quotas alone say how many, so that rows is
        left out. seed: None for your own secret one of this release, the same each time. edition: code of an
        edited description to draw from instead. key: makes the request harmless to repeat, also from another
        process; each call has a fresh one by default. Errors: ServerRefused, which says about how many such
        records the model has where they are too few.
        """
        chosen = {"where": list(where), "quotas": quotas}
        selection = {name: value for name, value in chosen.items() if value} or None
        body = {"rows": rows, "selection": selection, "seed": seed, "edition": edition}
        given = {name: value for name, value in body.items() if value is not None}
        answer = self._send("POST", "samples", body=given, key=key)
        facts = documents.read(answer.content, documents.SampleFacts)
        return Sample(self._transport, facts, release=self)

    def samples(self) -> tuple[Sample, ...]:
        """Your own samples of this release, the newest first."""
        with self._named():
            listed = self._transport.every(
                "releases", self.code, "samples", kind=documents.SampleFacts
            )
            return tuple(Sample(self._transport, facts, release=self) for facts in listed)

    def repaired(self) -> tuple[RepairedTable, ...]:
        """The tables of this release that meet public totals, the newest first."""
        listed = documents.read(
            self._get("repaired").content, tuple[documents.RepairedFacts, ...]
        )
        return tuple(RepairedTable(self._transport, facts) for facts in listed)

    def repair(
        self,
        totals: Sequence[Mapping[str, object]],
        *,
        published: str,
        rows: int,
        way: Literal["weights", "rows"] = "weights",
        name: str = "",
        seed: str = "",
        key: str | None = None,
    ) -> RepairedTable:
        """Generate rows and weigh them, or repeat and leave out some, until they meet public totals; nothing
        is charged. The token needs the scope `share`, and its owner to be a steward.

        totals: each with `name`, `columns` and `counts`, a list of `values` with their `count`. published:
        where the totals are published. key: makes the request harmless to repeat. Errors: ServerRefused,
        which names totals that cannot be met.
        """
        body = {
            "totals": {"totals": list(totals)},
            "published": published,
            "rows": rows,
            "way": way,
            "name": name,
            "seed": seed,
        }
        answer = self._send("POST", "repaired", body=body, key=key)
        facts = documents.read(answer.content, documents.RepairedFacts)
        return RepairedTable(self._transport, facts)
