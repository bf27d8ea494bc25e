"""A synthweb server as a program sees it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from synthweb_client import documents, receipts
from synthweb_client.budget import Account, AccountFacts, BudgetRequest, RequestFacts
from synthweb_client.cities import City
from synthweb_client.datasets import Dataset, DatasetFacts, kind_of
from synthweb_client.documents import Document
from synthweb_client.files import whole
from synthweb_client.links import Link
from synthweb_client.release_access import naming
from synthweb_client.releases import Release
from synthweb_client.runs import Run, RunFacts
from synthweb_client.samples import Sample
from synthweb_client.transport import Retries, Transport


class Client:
    """Signs in by a token; use it as a context manager, or close it.

    server: such as https://synthetic.example.org. token: of Your account → API tokens, with the scope `read`.
    signing_key: a PEM file with the public key of the installation, from a source that you trust; receipts
    then have to be signed with it. retries: how failed requests are repeated. timeout: seconds without a byte
    after which an attempt failed.
    """

    def __init__(
        self,
        server: str,
        *,
        token: str,
        signing_key: str | Path | None = None,
        retries: Retries | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._key = None if signing_key is None else receipts.read_key(Path(signing_key))
        self._transport = Transport(
            server, token=token, retries=retries or Retries(), timeout=timeout
        )

    @classmethod
    def from_environment(cls) -> Self:
        """Server and token of the environment variables SYNTHWEB and TOKEN."""
        missing = [name for name in ("SYNTHWEB", "TOKEN") if not os.environ.get(name)]
        if missing:
            raise ValueError(f"set the environment variables {' and '.join(missing)}")
        return cls(os.environ["SYNTHWEB"], token=os.environ["TOKEN"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._transport.close()

    def me(self) -> documents.Me:
        """Whose token this is, and what it allows."""
        return documents.read(self._transport.get("me").content, documents.Me)

    def releases(
        self,
        *,
        search: str = "",
        dataset: str = "",
        mechanism: str = "",
        sort: str = "-created_at",
    ) -> Iterator[Release]:
        """Releases that you may read, the newest first. search: words of name, description or code. dataset:
        its code. sort: created_at, name or epsilon, with a minus for the reverse."""
        wanted = {"q": search, "dataset": dataset, "mechanism": mechanism, "sort": sort}
        for facts in self._every("releases", wanted, documents.ReleaseFacts):
            yield Release(self._transport, facts, key=self._key)

    def release(self, code: str) -> Release:
        """One release by its code. Errors: ReleaseUnavailable."""
        with naming(code):
            return self._release(self._transport.get("releases", code).content)

    def sample(self, code: str) -> Sample:
        """One of your samples by its code. Errors: ServerRefused; ReleaseUnavailable."""
        facts = documents.read(
            self._transport.get("samples", code).content, documents.SampleFacts
        )
        return Sample(self._transport, facts, release=self.release(facts.release))

    def mechanisms(self) -> tuple[Mapping[str, Any], ...]:
        """The methods that a release can be made by, each with the JSON schema of its parameters."""
        answer = self._transport.get("mechanisms")
        return documents.read(answer.content, tuple[dict[str, Any], ...])

    def datasets(
        self, *, search: str = "", state: str = "", account: str = ""
    ) -> Iterator[Dataset]:
        """The tables of your organisation, for stewards, custodians and auditors, the newest first. state:
        uploaded, ready, refused or deleted. account: code of the budget that they spend from."""
        wanted = {"q": search, "state": state, "account": account, "sort": "-created_at"}
        for facts in self._every("datasets", wanted, DatasetFacts):
            yield Dataset(self._transport, facts)

    def dataset(self, code: str) -> Dataset:
        """One of them by its code. Errors: ServerRefused."""
        answer = self._transport.get("datasets", code)
        return Dataset(self._transport, documents.read(answer.content, DatasetFacts))

    def upload(
        self,
        path: str | Path,
        *,
        name: str,
        description: str = "",
        key: str | None = None,
    ) -> Dataset:
        """Upload a table: .csv, .csv.gz, .parquet, .xlsx, .xls, .sav, .dta or .dat. It is encrypted as it
        arrives; `Dataset.wait` waits for the worker that reads it. The token needs the scope `spend`. key:
        makes the request harmless to repeat."""
        path = Path(path)
        said = {"name": name, "description": description}
        with path.open("rb") as file:
            answer = self._transport.send_file(
                "POST",
                "datasets",
                file=file,
                kind=kind_of(path),
                params={field: text for field, text in said.items() if text},
                key=key,
            )
        return Dataset(self._transport, documents.read(answer.content, DatasetFacts))

    def accounts(self, *, dataset: str = "") -> Iterator[Account]:
        """Budget accounts that you may see, the newest first. dataset: code of one that spends from it."""
        wanted = {"dataset": dataset, "sort": "-created_at"}
        for facts in self._every("accounts", wanted, AccountFacts):
            yield Account(self._transport, facts)

    def account(self, code: str) -> Account:
        """One of them by its code. Errors: ServerRefused."""
        answer = self._transport.get("accounts", code)
        return Account(self._transport, documents.read(answer.content, AccountFacts))

    def budget_requests(self, *, state: str = "", dataset: str = "") -> Iterator[BudgetRequest]:
        """Requests for budget, the newest first. state: open, granted, refused. dataset: its code."""
        wanted = {"state": state, "dataset": dataset, "sort": "-created_at"}
        for facts in self._every("budget-requests", wanted, RequestFacts):
            yield BudgetRequest(self._transport, facts)

    def budget_request(self, code: str) -> BudgetRequest:
        """One of them by its code. Errors: ServerRefused."""
        answer = self._transport.get("budget-requests", code)
        return BudgetRequest(self._transport, documents.read(answer.content, RequestFacts))

    def request_budget(
        self,
        dataset: str,
        *,
        reason: str,
        epsilon: str | None = None,
        delta: str | None = None,
        rho: str | None = None,
        account: str | None = None,
        records: int | None = None,
        key: str | None = None,
    ) -> BudgetRequest:
        """Ask for budget for a described table: epsilon and delta, or rho. The token needs the scope `spend`.
        dataset: its code. account: code of one that protects the same people. records: about how many there
        are, as anybody could guess."""
        body: dict[str, object] = {
            "dataset": dataset,
            "rule": "basic" if rho is None else "zcdp",
            "reason": reason,
        }
        amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
        more = {**amounts, "account": account, "records": records}
        body |= {field: value for field, value in more.items() if value is not None}
        answer = self._transport.post("budget-requests", body=body, key=key)
        return BudgetRequest(self._transport, documents.read(answer.content, RequestFacts))

    def runs(self, *, search: str = "", dataset: str = "", state: str = "") -> Iterator[Run]:
        """Runs, for stewards and auditors, the newest first. state: held, finished, failed, …"""
        wanted = {"q": search, "dataset": dataset, "state": state, "sort": "-created_at"}
        for facts in self._every("runs", wanted, RunFacts):
            yield Run(self._transport, facts)

    def run(self, code: str) -> Run:
        """One of them by its code. Errors: ServerRefused."""
        return Run(
            self._transport,
            documents.read(self._transport.get("runs", code).content, RunFacts),
        )

    def synthesize(
        self,
        dataset: str,
        *,
        epsilon: str,
        delta: str = "0",
        mechanism: str = "auto",
        parameters: Mapping[str, Any] | None = None,
        name: str = "",
        key: str | None = None,
        **more: Any,
    ) -> Run:
        """Ask for a release of a described table with budget; what it costs is held at once, and
        `Run.wait` waits for it. The token needs the scope `spend`.

        dataset: its code. parameters: of the mechanism, by its JSON schema. key: makes the request harmless
        to repeat: with the same one there is one run. more: `rows`, `records`, `prior`, `criteria` and
        `earmark`, as REST takes them.
        """
        asked = _asked(dataset, mechanism, parameters, epsilon=epsilon, delta=delta, **more)
        answer = self._transport.post("runs", body=asked | {"name": name}, key=key)
        return Run(self._transport, documents.read(answer.content, RunFacts))

    def forecast(
        self,
        dataset: str,
        *,
        epsilon: str,
        delta: str = "0",
        mechanism: str = "auto",
        parameters: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Mapping[str, Any]:
        """What a release that is asked for like this by `synthesize` would tell, in the words of REST, and
        what would do where that is little; free."""
        asked = _asked(dataset, mechanism, parameters, epsilon=epsilon, delta=delta, **more)
        return documents.read(
            self._transport.post("forecasts", body=asked).content, dict[str, Any]
        )

    def scenarios(self) -> tuple[Mapping[str, Any], ...]:
        """What can be wrong with test data: every kind of step with the JSON schema of its parameters."""
        answer = self._transport.get("scenarios")
        return documents.read(answer.content, tuple[dict[str, Any], ...])

    def save_test_data(
        self,
        path: str | Path,
        scenario: Mapping[str, Any],
        *,
        rows: int,
        dataset: str | None = None,
        description: Mapping[str, Any] | None = None,
        seed: str | None = None,
    ) -> Path:
        """A table that is wrong on purpose, made from a description without data, as
        `Release.save_test_data`. Give the code of a dataset, whose confirmed description is taken, or a
        description. Errors: ServerRefused that names what is wrong."""
        source = {"dataset": dataset, "description": description, "seed": seed}
        given = {name: value for name, value in source.items() if value is not None}
        body: dict[str, object] = {"scenario": scenario, "rows": rows, **given}
        answer = self._transport.post("test-data", body=body)
        target = Path(path)
        with whole(target) as file:
            file.write(answer.content)
        return target

    def links(self) -> tuple[Link, ...]:
        """The links of your organisation with others, the newest first."""
        answer = self._transport.get("links")
        listed = documents.read(answer.content, tuple[documents.LinkFacts, ...])
        return tuple(Link(self._transport, facts) for facts in listed)

    def link(self, code: str) -> Link:
        """One link by its code. Errors: ServerRefused."""
        return self._link(self._transport.get("links", code).content)

    def propose_link(self, terms: Mapping[str, object], *, key: str | None = None) -> Link:
        """Propose a link; its `facts.invitation` is for the steward of the other organisation. terms:
        `dataset`, `texts`, `columns`, `epsilon`, `other_epsilon`, `rows`, `typos` and `earmark`, as REST
        takes them. The token needs the scope `spend`. key: makes the request harmless to repeat; a repeated
        answer has no invitation."""
        return self._link(self._transport.post("links", body=terms, key=key).content)

    def link_offer(
        self,
        invitation: str,
        *,
        dataset: str,
        texts: Sequence[str],
        columns: Sequence[str] = (),
        earmark: str = "",
    ) -> documents.LinkOffer:
        """The agreement that an acceptance of this invitation would make, and its price; nothing is kept. The
        token needs the scope `spend`."""
        body = {
            "invitation": invitation,
            "dataset": dataset,
            "texts": list(texts),
            "columns": list(columns),
            "earmark": earmark,
        }
        answer = self._transport.post("links", "agreement", body=body)
        return documents.read(answer.content, documents.LinkOffer)

    def accept_link(
        self,
        invitation: str,
        agreement_sha256: str,
        *,
        dataset: str,
        texts: Sequence[str],
        columns: Sequence[str] = (),
        earmark: str = "",
        key: str | None = None,
    ) -> Link:
        """Accept a link. agreement_sha256: of the offer that you have read. The token needs the scope
        `spend`."""
        body = {
            "invitation": invitation,
            "agreement_sha256": agreement_sha256,
            "dataset": dataset,
            "texts": list(texts),
            "columns": list(columns),
            "earmark": earmark,
        }
        return self._link(self._transport.post("links", "accept", body=body, key=key).content)

    def cities(self) -> tuple[City, ...]:
        """Your synthetic cities, the newest first."""
        answer = self._transport.get("cities")
        listed = documents.read(answer.content, tuple[documents.CityFacts, ...])
        return tuple(City(self._transport, facts) for facts in listed)

    def city(self, code: str) -> City:
        """One of them by its code. Errors: ServerRefused."""
        return self._city(self._transport.get("cities", code).content)

    def generate_city(
        self,
        specification: str,
        *,
        areas: str,
        releases: Mapping[str, str],
        descriptions: Mapping[str, Mapping[str, Any]] | None = None,
        before: str | None = None,
        key: str | None = None,
    ) -> City:
        """Have a city generated; `City.again` says how far it is. It costs nothing. specification: YAML.
        areas: the CSV. releases: the code of the release of each source. descriptions: of sources that were
        written by hand. before: the code of a city that it grows from. key: makes the request harmless to
        repeat. Errors: ServerRefused with table, field and rule."""
        body = {
            "specification": specification,
            "areas": areas,
            "releases": dict(releases),
            "descriptions": dict(descriptions or {}),
            "before": before,
        }
        return self._city(self._transport.post("cities", body=body, key=key).content)

    def _every(
        self, what: str, wanted: Mapping[str, str], kind: type[Document]
    ) -> Iterator[Document]:
        """All entries of a list, narrowed by what is wanted."""
        given = {name: value for name, value in wanted.items() if value}
        return self._transport.every(what, kind=kind, params=given)

    def _city(self, content: bytes) -> City:
        return City(self._transport, documents.read(content, documents.CityFacts))

    def _link(self, content: bytes) -> Link:
        return Link(self._transport, documents.read(content, documents.LinkFacts))

    def _release(self, content: bytes) -> Release:
        facts = documents.read(content, documents.ReleaseFacts)
        return Release(self._transport, facts, key=self._key)


def _asked(
    dataset: str,
    mechanism: str,
    parameters: Mapping[str, Any] | None,
    **more: Any,
) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "mechanism": mechanism,
        "parameters": dict(parameters or {}),
        **more,
    }
