"""The client against the real application: what it reads, what it verifies, and what it says when something
is wrong."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import synthweb_client
from django.db import connection
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from synthweb_client import (
    Busy,
    Client,
    ConnectionFailed,
    IncompatibleServer,
    NewerServer,
    Progress,
    ReceiptRefused,
    ReleaseUnavailable,
    Retries,
    ServerRefused,
    TokenRefused,
)

from synth_engine.evaluation.marginals import PublishedCounts
from synth_engine.measurement.paid_counts import PaidCounts
from synth_engine.models.model import Model
from synth_engine.row_selection import RowSelection
from synth_engine.verifier import standalone, verify_bundle
from synthweb.accounts import services as accounts
from synthweb.api.models import KeptAnswer
from synthweb.api.views import carried
from synthweb.lib import signatures
from synthweb.lib.zip_stream import ZipStream
from synthweb.releases import services as releases
from synthweb.releases import tables
from synthweb.releases.models import ExpectedRanges, FirstLook, Release, Sample
from synthweb.runs import ranges
from synthweb.runs.models import RangesJob
from tests.cast import Cast
from tests.client import INSTALLED
from tests.client.conftest import Connect, token_of
from tests.web.scene import Scene


# --- the package --------------------------------------------------------------------------------------------
def test_the_verifier_in_the_package_is_the_one_file_that_auditors_use() -> None:
    assert Path(synthweb_client.__file__).is_relative_to(INSTALLED)
    packed = INSTALLED / "synthweb_client" / "_verify_receipt.py"
    assert packed.read_text("utf-8") == standalone.text()
    imported = {
        name
        for path in (INSTALLED / "synthweb_client").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not [name for name in imported if name.split(".")[0] in ("synth_engine", "synthweb")]


@pytest.mark.slow
def test_the_package_is_typed_strictly(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "-p",
        "synthweb_client",
    ]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path)],
        cwd=INSTALLED,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    assert (INSTALLED / "synthweb_client" / "py.typed").exists()


# --- reading ------------------------------------------------------------------------------------------------
def test_a_release_is_read_with_its_facts_rows_columns_and_estimates(
    connect: Connect, scene: Scene
) -> None:
    client = connect(scene.reader)
    assert client.me().scopes == ("read",)
    (release,) = client.releases()
    assert (release.code, release.name) == (scene.release.code, "First release")
    assert release.facts.epsilon == Decimal(1)
    assert release.facts.shared_by == "steward"
    assert client.release(release.code).facts.created_at == scene.release.created_at
    first = release.first_rows()
    assert len(first.rows) == 100
    assert [column.name for column in first.columns] == ["region", "age", "works"]
    assert sum(bar.share for bar in first.columns[0].histogram) == pytest.approx(1)
    assert [column.column for column in release.dictionary()] == ["region", "age", "works"]
    age = release.estimates()[1]
    mean = next(figure for figure in age.figures if figure.figure == "mean")
    assert mean.low < mean.estimate < mean.high


def test_a_table_of_counts_is_read_whole_with_its_intervals(
    connect: Connect, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = connect(scene.reader).release(scene.release.code)
    table = release.marginal("region", "works")
    assert table.columns == ("region", "works")
    assert len(table.cells) == table.count >= 6
    assert all(cell.lower <= cell.value <= cell.upper for cell in table.cells)
    one = release.marginal("region")
    assert one.measured == one.count
    north = release.marginal("region", where=["region=north"])
    assert [cell for cell in one.cells if cell.values == ("north",)] == list(north.cells)
    monkeypatch.setattr("synthweb_client.releases.CELLS", 4)  # in parts, the same
    assert release.marginal("region", "works") == table
    with pytest.raises(ServerRefused, match="colour"):
        release.marginal("colour")


def test_a_regression_is_read_with_its_intervals_or_says_why_there_is_none(
    connect: Connect, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = connect(scene.reader).release(scene.release.code)
    # The release counts each column by itself.
    with pytest.raises(ServerRefused, match="no answer counts"):
        release.fit("age", "works")
    with pytest.raises(ServerRefused, match="colour"):
        release.fit("age", "colour", kind="logit")
    domain = Model.from_json(scene.release.model).domain
    age, works = domain.sizes["age"], domain.sizes["works"]
    values = np.arange(age * works).reshape(age, works) % 7 + 20
    values[:, 2:] = 0  # of no record it is missing whether they work
    counts = PaidCounts(
        clique=("age", "works"),
        values=values,
        bins=(np.arange(age), np.arange(works)),
        variance=1.0,
        law="discrete-gaussian",
    )
    published = PublishedCounts(domain=domain, rows=300, tables=(counts,), records={})
    monkeypatch.setattr("synthweb.releases.marginals.published_of", lambda _release: published)
    for outcome, regressor, kind in (("age", "works", "ols"), ("works", "age", "logit")):
        fit = release.fit(outcome, regressor, kind=kind)
        assert (fit.kind, fit.outcome) == (kind, outcome)
        assert [one.column for one in fit.coefficients] == ["", regressor]
        assert all(
            one.of_table.lower < one.estimate < one.of_table.upper for one in fit.coefficients
        )
        assert [column.name for column in fit.columns] == [regressor, outcome]


def test_lists_are_read_to_their_end_and_narrowed(
    connect: Connect, scene: Scene, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Release.objects.get()
    fields = {
        field.attname: getattr(original, field.attname)
        for field in Release._meta.concrete_fields
        if field.attname not in ("id", "code", "run_code", "name", "created_at")
    }
    for number in range(4):
        Release.objects.create(**fields, run_code=f"run{number}", name=f"Copy {number}")
    monkeypatch.setattr("synthweb_client.transport.PAGE", 2)
    client = connect(cast.steward)
    names = [release.name for release in client.releases(sort="name")]
    assert names == ["Copy 0", "Copy 1", "Copy 2", "Copy 3", "First release"]
    assert [release.name for release in client.releases(search="first release")] == [
        "First release"
    ]
    with pytest.raises(ServerRefused, match="sort"):
        next(client.releases(sort="colour"))


def test_a_sample_is_the_same_table_in_every_form(
    connect: Connect, scene: Scene, tmp_path: Path
) -> None:
    release = connect(scene.reader).release(scene.release.code)
    sample = release.sample(500, seed="7")
    seen: list[Progress] = []
    path = sample.save(tmp_path / "table.csv", progress=seen.append)
    content = path.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["table.csv"]
    assert seen[-1] == Progress(received=len(content), rows=500, total_rows=500)
    assert [now.received for now in seen] == sorted(now.received for now in seen)
    table = sample.pandas()
    frame = sample.polars()
    assert len(table) == len(frame) == 500
    assert isinstance(frame, pl.DataFrame)
    assert frame["age"].to_list() == table["age"].tolist()
    from_csv = pd.read_csv(io.BytesIO(content))
    assert from_csv["age"].tolist() == table["age"].tolist()
    assert from_csv["region"].tolist() == table["region"].tolist()
    # The same seed is the same table, and one of another seed another one.
    again = release.sample(500, seed="7").save(tmp_path / "again.csv")
    other = release.sample(500, seed="8").save(tmp_path / "other.csv")
    assert again.read_bytes() == content != other.read_bytes()


def test_a_bar_shows_the_progress(
    connect: Connect, scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = connect(scene.reader).release(scene.release.code).sample(50)
    sample.save(tmp_path / "table.csv", progress=True)
    assert "50 of 50 rows" in capsys.readouterr().out


def test_a_format_that_is_none_is_refused_before_anything_is_sent(
    connect: Connect, scene: Scene, tmp_path: Path
) -> None:
    sample = connect(scene.reader).release(scene.release.code).sample(5)
    with pytest.raises(ValueError, match="end the name in"):
        sample.save(tmp_path / "table.txt")
    assert not list(tmp_path.glob("table*"))


# --- receipts -----------------------------------------------------------------------------------------------
def test_receipts_are_verified_on_arrival(
    connect: Connect, scene: Scene, settings: Settings, tmp_path: Path
) -> None:
    key = tmp_path / "signing.pub"
    key.write_bytes(
        signatures.public_pem(signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE)))
    )
    release = connect(scene.reader, signing_key=key).release(scene.release.code)
    receipt = release.receipt()
    assert 0 < receipt.epsilon <= 1
    assert receipt.digest == scene.release.receipt["digest"]
    assert receipt.signed_by
    assert any("no mark is missing" in sentence for sentence in receipt.sentences)
    of_sample = release.sample(20).receipt()
    assert of_sample.digest == receipt.digest
    assert of_sample.document["sample"]["rows"] == 20


def test_a_receipt_that_proves_nothing_is_refused(connect: Connect, scene: Scene) -> None:
    release = connect(scene.reader).release(scene.release.code)
    with pytest.raises(ReceiptRefused, match="does not prove its claim"):
        release.receipt(digest="0" * 64)
    calls = scene.release.receipt["calls"]
    calls.pop()
    Release.objects.filter(pk=scene.release.pk).update(receipt=scene.release.receipt)
    with pytest.raises(ReceiptRefused, match="does not prove its claim"):
        release.receipt()


def test_amounts_below_those_that_the_receipt_proves_are_refused(
    connect: Connect, scene: Scene
) -> None:
    Release.objects.filter(pk=scene.release.pk).update(epsilon=400_000_000)
    release = connect(scene.reader).release(scene.release.code)
    assert release.facts.epsilon == Decimal("0.4")
    with pytest.raises(ReceiptRefused, match=r"the server lists less: 0\.4"):
        release.receipt()


def test_a_key_of_somebody_else_is_refused(
    connect: Connect, scene: Scene, tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = tmp_path / "other.pub"
    key.write_bytes(signatures.public_pem(Ed25519PrivateKey.generate()))
    release = connect(scene.reader, signing_key=key).release(scene.release.code)
    with pytest.raises(ReceiptRefused, match="key"):
        release.receipt()
    key.write_text("no key")
    with pytest.raises(ReceiptRefused, match="no Ed25519 public key"):
        connect(scene.reader, signing_key=key)


# --- what goes wrong ----------------------------------------------------------------------------------------
def test_a_revoked_token_says_what_to_do(server: str, scene: Scene) -> None:
    token, text = token_of(scene.reader)
    with Client(server, token=text) as client:
        assert client.me().username == "reader"
        accounts.revoke_token(user=scene.reader, token=token)
        with pytest.raises(
            TokenRefused, match="Create a new one under Your account"
        ) as refused:
            client.me()
    assert refused.value.status == 401
    with pytest.raises(ValueError, match="not copied as a whole"):
        Client(server, token="synthweb_…")


def test_a_release_that_is_withdrawn_says_so(connect: Connect, scene: Scene) -> None:
    client = connect(scene.reader)
    release = client.release(scene.release.code)
    sample = release.sample(10)
    grant = scene.release.grants.get()
    releases.revoke(actor=scene.release.created_by, grant=grant)
    for ask in (release.first_rows, release.receipt, sample.pandas, lambda: release.sample(5)):
        with pytest.raises(
            ReleaseUnavailable, match="it was shared with you, and is no longer"
        ):
            ask()
    with pytest.raises(ReleaseUnavailable, match="does not exist or is not shared with you"):
        client.release(scene.release.code)


def test_a_server_of_another_version_is_named(
    connect: Connect, scene: Scene, settings: Settings
) -> None:
    client = connect(scene.reader)
    settings.REST_VERSION = "1.7"
    with pytest.warns(NewerServer, match=r"version 1\.7"):
        client.me()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert client.me().username == "reader"  # said once
    settings.REST_VERSION = "2.0"
    with pytest.raises(IncompatibleServer, match="install a newer synthweb-client"):
        client.me()
    settings.REST_VERSION = "0.9"
    with pytest.raises(IncompatibleServer, match="install an older synthweb-client"):
        client.me()


def test_an_interface_that_is_gone_is_a_newer_server_and_no_missing_release(
    connect: Connect, scene: Scene, settings: Settings
) -> None:
    settings.REST_VERSION = "2.0"
    settings.ROOT_URLCONF = "tests.client.newer_server"
    with pytest.raises(IncompatibleServer, match="install a newer synthweb-client"):
        connect(scene.reader).release(scene.release.code)


def test_a_server_of_another_kind_is_no_missing_release(
    connect: Connect, live_server: LiveServer, scene: Scene
) -> None:
    """Its pages are not below /api/, as those of any other web server."""
    elsewhere = f"{live_server.url}/static"
    with (
        Client(elsewhere, token=token_of(scene.reader)[1]) as client,
        pytest.raises(IncompatibleServer, match="it is no synthweb server"),
    ):
        client.release(scene.release.code)


def test_a_seed_that_is_a_secret_is_not_shown_by_accident(
    connect: Connect, scene: Scene
) -> None:
    sample = connect(scene.reader).release(scene.release.code).sample(5)
    assert sample.facts.seed
    assert sample.facts.seed not in f"{sample!r} {sample.facts!r}"


def test_a_refused_request_names_what_to_mend(connect: Connect, scene: Scene) -> None:
    release = connect(scene.reader).release(scene.release.code)
    with pytest.raises(ServerRefused) as refused:
        release.sample(0)
    assert [error.pointer for error in refused.value.errors] == ["/rows"]
    assert "/rows" in str(refused.value)


def test_a_server_that_limits_requests_is_asked_again_when_it_says(
    connect: Connect, scene: Scene, settings: Settings
) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        settings.REST_PER_MINUTE = settings.REST_PER_MINUTE | {"token": 0}

    client = connect(scene.reader, retries=Retries(wait=wait))
    settings.REST_PER_MINUTE = settings.REST_PER_MINUTE | {"token": 1}
    assert [client.me().username for _ in range(3)] == ["reader"] * 3
    assert len(waited) == 1
    assert 1 <= waited[0] <= 60
    # A pause longer than the caller accepts is an error at once.
    settings.REST_PER_MINUTE = settings.REST_PER_MINUTE | {"token": 1}
    hasty = connect(scene.reader, retries=Retries(longest=0, wait=wait))
    with pytest.raises(Busy, match="Come back after"):
        [hasty.me() for _ in range(3)]
    assert len(waited) == 1


def test_estimates_are_waited_for(connect: Connect, scene: Scene) -> None:
    from synthweb.runs import ranges
    from synthweb.runs.models import RangesJob

    before = [
        (column.name, column.figures)
        for column in connect(scene.reader).release(scene.release.code).estimates()
    ]
    ExpectedRanges.objects.all().delete()
    waited: list[float] = []

    def wait(seconds: float) -> None:
        """A worker takes what was asked for."""
        waited.append(seconds)
        ranges.compute(code=RangesJob.objects.latest("pk").code)
        connection.close()

    release = connect(scene.reader, retries=Retries(wait=wait)).release(scene.release.code)
    assert [(column.name, column.figures) for column in release.estimates()] == before
    assert waited == [2]


def test_first_rows_are_waited_for(connect: Connect, scene: Scene) -> None:
    from synthweb.releases.models import FirstLook
    from synthweb.runs import ranges
    from synthweb.runs.models import RangesJob

    before = connect(scene.reader).release(scene.release.code).first_rows()
    FirstLook.objects.all().delete()
    waited: list[float] = []

    def wait(seconds: float) -> None:
        """A worker takes what was asked for."""
        waited.append(seconds)
        ranges.compute(code=RangesJob.objects.latest("pk").code)
        connection.close()

    release = connect(scene.reader, retries=Retries(wait=wait)).release(scene.release.code)
    assert release.first_rows() == before
    assert len(waited) == 1


def test_a_token_goes_unencrypted_to_this_machine_alone() -> None:
    with pytest.raises(ValueError, match="unencrypted"):
        Client("http://data.example.org", token="t")
    for server in ("http://127.0.0.1:8000", "http://localhost", "https://data.example.org"):
        Client(server, token="t").close()


# --- connections --------------------------------------------------------------------------------------------
class Proxy:
    """A port in front of the server that breaks what it is told to break, and passes on the rest."""

    def __init__(self, server: str) -> None:
        self.behaviour: list[str] = []
        host, _, port = server.removeprefix("http://").partition(":")
        self._server = (host, int(port))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed before
            self._socket.shutdown(socket.SHUT_RDWR)  # ends the wait for a connection
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self._serve(client, self.behaviour.pop(0) if self.behaviour else "pass")

    def _serve(self, client: socket.socket, behaviour: str) -> None:
        with client:
            request = self._request(client)
            if behaviour == "busy":
                client.sendall(
                    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nContent-Length: 0\r\n"
                    b"Connection: close\r\n\r\n"
                )
                return
            if behaviour == "break":
                return
            answer = self._answer(request)
            if behaviour == "lose":
                return
            head, _, body = answer.partition(b"\r\n\r\n")
            if behaviour == "cut":
                body = body[: len(body) // 2]
            lines = [
                line
                for line in head.split(b"\r\n")
                if not line.lower().startswith((b"content-length", b"connection"))
            ]
            size = len(answer.partition(b"\r\n\r\n")[2])
            length = f"Content-Length: {size}".encode()
            client.sendall(
                b"\r\n".join([*lines, length, b"Connection: close"]) + b"\r\n\r\n" + body
            )

    def _request(self, client: socket.socket) -> bytes:
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(65_536)
        head, _, body = request.partition(b"\r\n\r\n")
        wanted = [
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        ]
        while len(body) < sum(wanted):
            body += client.recv(65_536)
        # So that the server ends its answer by ending the connection.
        return head.replace(b"keep-alive", b"close") + b"\r\n\r\n" + body

    def _answer(self, request: bytes) -> bytes:
        with socket.create_connection(self._server) as server:
            server.sendall(request)
            answer = b""
            while data := server.recv(65_536):
                answer += data
        return answer


@pytest.fixture
def proxy(server: str) -> Iterator[Proxy]:
    made = Proxy(server)
    yield made
    made.close()


def test_failed_attempts_are_repeated_and_a_sample_is_asked_for_once(
    proxy: Proxy, scene: Scene
) -> None:
    waited: list[float] = []
    retries = Retries(first=1, wait=waited.append)
    with Client(proxy.url, token=token_of(scene.reader)[1], retries=retries) as client:
        proxy.behaviour[:] = ["busy", "break", "break", "pass"]
        release = client.release(scene.release.code)
        assert waited[0] == 3  # what the server asked for
        assert (
            1 <= waited[1] <= 2 <= waited[2] <= 4
        )  # twice as long each time, less at most half
        # The answer is lost after the server acted on the request.
        before = Sample.objects.count()
        proxy.behaviour[:] = ["lose", "pass"]
        sample = release.sample(30)
        assert Sample.objects.count() == before + 1
        assert KeptAnswer.objects.count() == 1
        # A table that is cut short is fetched again from its beginning.
        proxy.behaviour[:] = ["cut", "pass"]
        assert len(sample.pandas()) == 30


def test_a_server_that_stays_away_is_named_after_the_last_attempt(
    proxy: Proxy, scene: Scene, tmp_path: Path
) -> None:
    waited: list[float] = []
    retries = Retries(attempts=3, wait=waited.append)
    with Client(proxy.url, token=token_of(scene.reader)[1], retries=retries) as client:
        sample = client.release(scene.release.code).sample(30)
        proxy.behaviour[:] = ["cut"] * 3
        with pytest.raises(ConnectionFailed, match="check the address and the network"):
            sample.save(tmp_path / "table.csv")
        assert not list(tmp_path.glob("*.csv"))
        proxy.behaviour[:] = ["busy"] * 3
        with pytest.raises(Busy, match="Come back after 3 seconds"):
            client.me()
        proxy.close()
        with pytest.raises(ConnectionFailed, match="does not answer"):
            client.me()
    assert len(waited) == 6


def test_a_key_of_ones_own_gives_the_same_sample(connect: Connect, scene: Scene) -> None:
    release = connect(scene.reader).release(scene.release.code)
    one, two = (release.sample(40, key="november") for _ in range(2))
    assert one.facts == two.facts
    with pytest.raises(ServerRefused) as refused:
        release.sample(41, key="november")
    assert refused.value.code == "key-reused"


# --- files of a release -------------------------------------------------------------------------------------
def test_a_bundle_is_verified_as_a_whole_before_it_appears(
    connect: Connect, scene: Scene, settings: Settings, tmp_path: Path
) -> None:
    key = tmp_path / "signing.pub"
    key.write_bytes(
        signatures.public_pem(signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE)))
    )
    release = connect(scene.reader, signing_key=key).release(scene.release.code)
    seen: list[Progress] = []
    path = tmp_path / "bundle.zip"
    receipt = release.save_bundle(path, progress=seen.append)
    assert receipt.digest == scene.release.receipt["digest"]
    assert any("The bundle is whole" in sentence for sentence in receipt.sentences)
    assert seen[-1] == Progress(received=path.stat().st_size, rows=None, total_rows=None)
    assert verify_bundle(path).core == receipt.digest
    files = {file.name for file in tmp_path.iterdir() if file.is_file()}
    assert files == {"signing.pub", "bundle.zip"}


def test_a_bundle_with_one_byte_changed_does_not_appear(
    connect: Connect, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = connect(scene.reader).release(scene.release.code)
    pieces = ZipStream.close

    def changed(stream: ZipStream) -> Iterator[bytes]:
        directory = b"".join(pieces(stream))
        # The comment of the archive is the digest of all before it.
        yield directory[:-1] + (b"0" if directory[-1:] != b"0" else b"1")

    monkeypatch.setattr(ZipStream, "close", changed)
    with pytest.raises(ReceiptRefused, match="the bundle does not verify"):
        release.save_bundle(tmp_path / "bundle.zip")
    assert not list(tmp_path.glob("*.zip"))


def test_the_report_and_the_noisy_tables_arrive_whole(
    connect: Connect, scene: Scene, tmp_path: Path
) -> None:
    release = connect(scene.reader).release(scene.release.code)
    page = release.save_report(tmp_path / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    facts = json.loads(release.save_report(tmp_path / "report.json").read_text("utf-8"))
    assert facts["code"] == release.code
    core = {"alternateIdentifier": facts["proof"]["core"]}
    assert any(
        core.items() <= each.items() for each in release.datacite()["alternateIdentifiers"]
    )
    rows = pd.read_csv(release.save_noisy_tables(tmp_path / "noisy.csv"))
    table = pd.read_parquet(release.save_noisy_tables(tmp_path / "noisy.parquet"))
    assert len(rows) == len(table) > 0
    with pytest.raises(ValueError, match=r"end the name in \.html or \.json"):
        release.save_report(tmp_path / "report.pdf")


def test_a_file_that_differs_from_its_digest_is_fetched_again_and_then_refused(
    server: str, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carried, "repr_digest", lambda _: "sha-256=:" + "A" * 43 + "=:")
    waited: list[float] = []
    retries = Retries(attempts=2, wait=waited.append)
    with Client(server, token=token_of(scene.reader)[1], retries=retries) as client:
        release = client.release(scene.release.code)
        with pytest.raises(ConnectionFailed, match="SHA-256 differs"):
            release.save_report(tmp_path / "report.html")
    assert len(waited) == 1
    assert not list(tmp_path.glob("*.html"))


def test_files_that_a_worker_has_to_prepare_are_waited_for(
    server: str, scene: Scene, tmp_path: Path
) -> None:
    ExpectedRanges.objects.all().delete()
    FirstLook.objects.all().delete()
    waited: list[float] = []

    def work(seconds: float) -> None:
        waited.append(seconds)
        job = RangesJob.objects.exclude(state=RangesJob.State.FINISHED).latest("pk")
        ranges.compute(code=job.code)

    retries = Retries(wait=work)
    with Client(server, token=token_of(scene.reader)[1], retries=retries) as client:
        client.release(scene.release.code).save_report(tmp_path / "report.html")
    assert waited == [2.0]


# --- the same rows on one's own machine ---------------------------------------------------------------------
def test_the_program_of_a_release_draws_its_first_rows_byte_for_byte(
    server: str, connect: Connect, scene: Scene, tmp_path: Path
) -> None:
    release = connect(scene.reader).release(scene.release.code)
    first = release.first_rows()
    sample = release.sample(100, seed=first.seed)
    expected = sample.save(tmp_path / "expected.csv").read_bytes()
    text = token_of(scene.reader)[1]
    done = _recreated(server, scene, text, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "rows.csv").read_bytes() == expected
    assert "verified: epsilon = 0.99999" in done.stdout
    table = pd.read_csv(io.BytesIO(expected), dtype=str, keep_default_na=False)
    shown = [["" if cell is None else cell for cell in row] for row in first.rows]
    assert table.to_numpy().tolist() == shown
    # Any other sample by its rows and seed.
    mine = release.sample(130, seed="mine")
    done = _recreated(server, scene, text, tmp_path, "--rows", "130", "--seed", "mine")
    assert done.returncode == 0
    saved = mine.save(tmp_path / "mine.csv").read_bytes()
    assert (tmp_path / "rows.csv").read_bytes() == saved


def test_the_program_draws_chosen_rows_again(server: str, scene: Scene, tmp_path: Path) -> None:
    document = {"where": [{"column": "region", "values": ["north"]}]}
    sample = releases.draw_selected(
        user=scene.reader,
        release=scene.release,
        selection=RowSelection.from_json(document),
        rows=25,
        seed="chosen",
    )
    (tmp_path / "selection.json").write_text(json.dumps(sample.selection))
    options = ("--rows", "25", "--seed", "chosen", "--selection", "selection.json")
    done = _recreated(server, scene, token_of(scene.reader)[1], tmp_path, *options)
    assert (done.returncode, done.stderr) == (0, "")
    drawn_here = (tmp_path / "rows.csv").read_text()
    assert drawn_here == "".join(tables.stream_csv(sample))
    assert drawn_here.count("north") == 25


def test_the_program_refuses_another_receipt_or_model(
    server: str, scene: Scene, tmp_path: Path
) -> None:
    text = token_of(scene.reader)[1]
    program = _program(server, scene, text, tmp_path)
    source = program.read_text()
    digest = scene.release.receipt["digest"]
    assert source.count(digest) == 1
    for old, new, reason in (
        (digest, "0" * 64, "does not prove its claim"),
        ("MODEL = '", "MODEL = '0", "the model is not the one"),
    ):
        program.write_text(source.replace(old, new))
        done = _run(program, text, tmp_path)
        assert done.returncode == 1
        assert reason in done.stderr
    program.write_text(source)
    assert "set the environment variable TOKEN" in _run(program, "", tmp_path).stderr
    assert not (tmp_path / "rows.csv").exists()


def _program(server: str, scene: Scene, token: str, folder: Path) -> Path:
    import httpx

    address = f"{server}/api/v1/releases/{scene.release.code}/recreate.py"
    answer = httpx.get(address, headers={"Authorization": f"Bearer {token}"})
    assert answer.headers["Content-Type"].startswith("text/x-python")
    path = folder / "recreate.py"
    path.write_text(answer.text)
    return path


def _run(
    program: Path, token: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    from tests.client import ROOT

    return subprocess.run(
        [sys.executable, str(program), "rows.csv", *options],
        cwd=folder,
        env={"PATH": "/usr/bin", "PYTHONPATH": f"{INSTALLED}:{ROOT}", "TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def _recreated(
    server: str, scene: Scene, token: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    return _run(_program(server, scene, token, folder), token, folder, *options)
