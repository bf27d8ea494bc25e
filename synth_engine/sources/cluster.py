"""Counting on the workers of a cluster: Dask `distributed` or Spark.

The process of the run encodes the table to encrypted parts in a folder that all machines see. Workers count
parts and send tables back. Questions and tables are encrypted with a key that lies in a file on every
machine, so that no scheduler, log or spill file of the cluster holds anything that can be read. A worker
never raises: what an exception says could quote a code. Noise and accounting stay in the process of the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from synth_engine.errors import SpecError, SynthError
from synth_engine.indexing import contingency, count_loops
from synth_engine.indexing.contingency import CountPlan, Table
from synth_engine.sources import parts
from synth_engine.sources.parts import (
    EncodedParts,
    PartColumns,
    PartError,
    PartFolder,
    PartSum,
)
from synth_engine.threads import Thread

Answer = TypeVar("Answer")
MOST_TASKS = 256
"""Tasks of one question; each counts several parts of a larger table."""
PATIENCE = 300.0
"""Seconds for which no task of a question may end. How long all of them take does not matter."""
FIRST_ANSWER = 60.0
"""Seconds until a cluster answers, and until it has a worker for the question."""
_LOOKED_AT_EVERY = 0.5
"""Seconds after which Spark is asked again how far a question is."""
_BEGINNING = threading.Lock()
"""Held while a session of Spark begins: there is one in a process."""
_NONCE = 12
_KEY_BYTES = 32


class ClusterError(SynthError):
    """A cluster cannot be used, or failed. The message names no code and no count."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster. kind: which library. address: of Dask's scheduler, or Spark's master. folder: where parts
    are, which all machines see under this path. key_file: 32 bytes that workers have under the same path."""

    kind: Literal["dask", "spark"]
    address: str
    folder: Path
    key_file: Path

    def require(self) -> None:
        """Ask a worker whether it is there, has the same code, the key, and the folder; it reads no record.
        Errors: SpecError, ClusterError."""
        if not self.address:
            raise SpecError("counting on a cluster needs its address")
        if not self.folder.is_dir():
            raise SpecError("the folder of the cluster is not there", repair="make it")
        master = read_key(self.key_file)
        folder = PartFolder(self.folder)
        (folder.path / "probe").write_bytes(b"")
        try:
            for _ in self.ask([_Task.probe(folder.path).sealed(master)], master):
                pass
        finally:
            folder.remove()

    def ask(self, messages: Sequence[bytes], master: bytes) -> Iterator[_Reply]:
        """The replies to some messages, in any order. Errors: ClusterError."""
        send = _with_dask if self.kind == "dask" else _with_spark
        for raw in send(self.address, messages, str(self.key_file)):
            yield _Reply.opened(raw, master)


class ClusterSource(PartColumns):
    """Columns in encrypted parts that the workers of a cluster count."""

    def __init__(
        self,
        encoded: EncodedParts,
        *,
        folder: PartFolder,
        sizes: Mapping[str, int],
        cluster: Cluster,
    ) -> None:
        super().__init__(encoded, folder=folder, sizes=sizes)
        self._cluster = cluster

    def count(self, names: Sequence[str], plan: CountPlan) -> list[Table]:
        master = read_key(self._cluster.key_file)
        number = len(self._parts.rows)
        question = secrets.token_bytes(16)
        tasks = [
            _Task(
                code=fingerprint(),
                question=question,
                folder=self._parts.folder,
                secret=self._parts.secret,
                rows=self._parts.rows,
                parts=tuple(several),
                names=tuple(names),
                plan=plan,
            )
            for several in parts.chunks(number, -(-number // MOST_TASKS) or 1)
        ]
        total = PartSum(plan, self._parts.rows)
        for reply in self._cluster.ask([task.sealed(master) for task in tasks], master):
            if reply.question != question:
                raise ClusterError("the cluster answered another question; start the run again")
            total.add(reply.parts, reply.tables)
        return total.tables()


def read_key(path: Path) -> bytes:
    """The key of a cluster. Errors: SpecError."""
    try:
        mode, key = path.stat().st_mode, path.read_bytes()
    except OSError:
        raise SpecError(
            "the key file of the cluster cannot be read",
            repair="write 32 random bytes to it, on every machine under the same path",
        ) from None
    if len(key) != _KEY_BYTES or mode & 0o077:
        raise SpecError(
            "the key file of the cluster has not 32 bytes, or others than its owner can read it",
            repair="write 32 random bytes to it, and give it the mode 600",
        )
    return key


@cache
def fingerprint() -> str:
    """A digest of the code that counts: machines that count together must agree on it."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}{np.__version__}".encode())
    for module in (parts, contingency, count_loops, sys.modules[__name__]):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class _Task:
    """What a worker is asked: to count some parts, or none where it is only asked whether it could. It is
    never printed."""

    code: str
    question: bytes
    folder: Path
    secret: bytes
    rows: list[int]
    parts: tuple[int, ...]
    names: tuple[str, ...]
    plan: CountPlan

    @classmethod
    def probe(cls, folder: Path) -> _Task:
        return cls(
            code=fingerprint(),
            question=b"",
            folder=folder,
            secret=b"",
            rows=[],
            parts=(),
            names=(),
            plan=CountPlan((), ()),
        )

    def sealed(self, master: bytes) -> bytes:
        # The code stands outside: another version may not be able to read what is inside.
        code = self.code.encode()
        return code + _seal(pickle.dumps(self), master, code)

    def reply(self) -> _Reply:
        """Count the parts, one after the other. Errors: PartError."""
        if not self.parts:
            return _Reply(self.question, (), [])
        encoded = EncodedParts(self.folder, self.secret, self.rows)
        total = PartSum(self.plan, self.rows)
        for part in self.parts:
            total.add([part], parts.count_part(encoded, part, self.names, self.plan))
        return _Reply(self.question, self.parts, total.so_far())


@dataclass(frozen=True)
class _Reply:
    """Tables of some parts."""

    question: bytes
    parts: tuple[int, ...]
    tables: list[Table]

    @classmethod
    def opened(cls, raw: bytes, master: bytes) -> _Reply:
        """Errors: ClusterError for what a worker could not do."""
        status, content = raw[:1], raw[1:]
        if status != _DONE:
            raise ClusterError(_REASONS.get(status, _REASONS[_FAILED]))
        try:
            # authenticated by the cluster's key
            reply = pickle.loads(_open(content, master, b"reply"))  # noqa: S301
        except InvalidTag:
            raise ClusterError(_REASONS[_OTHER_KEY]) from None
        if not isinstance(reply, cls):
            raise ClusterError(_REASONS[_FAILED])
        return reply


_DONE, _FAILED, _OTHER_CODE, _OTHER_KEY, _NO_PART, _NO_MEMORY = (
    bytes([number]) for number in range(6)
)
_REASONS = {
    _FAILED: "a worker of the cluster failed; look at its machine, and start the run again",
    _OTHER_CODE: "a worker of the cluster has another version of the engine, of Python or of NumPy; "
    "install the same on all machines",
    _OTHER_KEY: "a worker of the cluster has another key, or none; copy the key file to all machines",
    _NO_PART: "a worker of the cluster does not see the folder of parts, or a part was changed; mount the "
    "same folder on all machines",
    _NO_MEMORY: "a worker of the cluster has too little memory for these tables; give it more, or ask for "
    "fewer cells",
}


def answer(message: bytes, key_file: str) -> bytes:
    """What runs on a worker. It returns what it found, encrypted, or one byte that says why it found
    nothing."""
    code = fingerprint().encode()
    if message[: len(code)] != code:
        return _OTHER_CODE
    try:
        master = read_key(Path(key_file))
        # authenticated by the cluster's key
        task = pickle.loads(_open(message[len(code) :], master, code))  # noqa: S301
        if not task.folder.is_dir():
            return _NO_PART
        return _DONE + _seal(pickle.dumps(task.reply()), master, b"reply")
    except (SpecError, InvalidTag):
        return _OTHER_KEY
    except PartError:
        return _NO_PART
    except MemoryError:
        return _NO_MEMORY
    except Exception:  # noqa: BLE001 - what it says could quote a code, and clusters log what is raised
        return _FAILED


def _seal(content: bytes, master: bytes, purpose: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    key = parts.derived_key(master, b"messages")
    return nonce + AESGCM(key).encrypt(nonce, content, purpose)


def _open(sealed: bytes, master: bytes, purpose: bytes) -> bytes:
    key = parts.derived_key(master, b"messages")
    return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], purpose)


def _with_dask(address: str, messages: Sequence[bytes], key_file: str) -> Iterator[bytes]:
    """Replies of the workers of a Dask scheduler. It gives tasks of a worker that is lost to another one."""
    try:
        import distributed
    except ImportError:
        raise _missing("distributed", "dask") from None
    reached = False
    try:
        with distributed.Client(  # type: ignore[no-untyped-call]
            address, timeout=FIRST_ANSWER, set_as_default=False
        ) as client:
            client.wait_for_workers(1, timeout=FIRST_ANSWER)
            reached = True
            ended: SimpleQueue[Any] = SimpleQueue()
            # Dask drops tasks whose futures nobody holds.
            futures = client.map(answer, messages, key_file=key_file, pure=False, retries=2)
            for future in futures:
                future.add_done_callback(ended.put)
            for _ in futures:
                yield ended.get(timeout=PATIENCE).result(timeout=PATIENCE)
    except Exception:  # noqa: BLE001 - it may quote an address, a path or a task
        raise ClusterError(_LOST if reached else _UNREACHED) from None


def _with_spark(address: str, messages: Sequence[bytes], key_file: str) -> Iterator[bytes]:
    """Replies of the workers of a Spark master."""
    spark = _session(address)
    try:
        frame = spark.createDataFrame(
            [(bytearray(message),) for message in messages], "message binary"
        )
        asked = frame.repartition(len(messages)).mapInArrow(_in_arrow(key_file), "reply binary")
        replies = _collected(spark.sparkContext, asked)
    except Exception as error:
        # A master that gave the application up never takes it again, and one that waits for workers would
        # take them from the next question. That one begins another application.
        with contextlib.suppress(Exception):
            spark.stop()
        if isinstance(error, ClusterError):
            raise
        raise ClusterError(_LOST) from None
    yield from replies


def _session(address: str) -> Any:
    """The session of Spark in this process; it begins without workers. address: of the master. Errors:
    SpecError, ClusterError."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise _missing("pyspark", "spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers may miss PyArrow
    builder = SparkSession.builder.appName("synth-engine").master(address)
    for name, value in _SPARK.items():
        builder = builder.config(name, value)
    if address.startswith("local"):
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")

    def begin() -> Any:
        with _BEGINNING:
            try:
                return builder.getOrCreate()
            except Exception:
                # Spark would offer the application that no master took to the next question.
                if (context := SparkContext._active_spark_context) is not None:
                    context.stop()
                raise

    begun = _in_background(begin)
    try:
        return begun.result(FIRST_ANSWER)
    except Exception:  # noqa: BLE001 - it may quote an address
        # Where it begins after all, it would hold workers for nobody.
        begun.add_done_callback(_stop)
        raise ClusterError(_UNREACHED) from None


def _collected(context: Any, asked: Any) -> list[bytes]:
    """The replies that a frame of Spark holds. Spark alone waits for workers without end. context: the
    application. Errors: ClusterError where no task begins, or none ends for too long; whatever Spark
    raises."""
    question = secrets.token_hex(8)

    def collect() -> list[Any]:
        context.setJobGroup(question, "counts")  # of this thread alone
        rows: list[Any] = asked.collect()
        return rows

    rows = _in_background(collect)
    before, since = _Progress(begun=False, ended=0), time.monotonic()
    while not wait([rows], timeout=_LOOKED_AT_EVERY).done:
        now = _Progress.of(context, question)
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > (PATIENCE if now.begun else FIRST_ANSWER):
            raise ClusterError(_LOST if now.begun else _UNREACHED)
    return [bytes(row[0]) for row in rows.result()]


@dataclass(frozen=True, kw_only=True)
class _Progress:
    """How far Spark is with a question. begun: whether a worker took any task. ended: tasks that are done;
    one that failed is tried again and is none of them."""

    begun: bool
    ended: int

    @classmethod
    def of(cls, context: Any, question: str) -> _Progress:
        """context: the application. question: the group of its jobs."""
        tracker = context.statusTracker()
        jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(question))
        numbers = {stage for job in jobs if job is not None for stage in job.stageIds}
        stages = [stage for stage in map(tracker.getStageInfo, numbers) if stage is not None]
        ended = sum(stage.numCompletedTasks for stage in stages)
        others = sum(stage.numActiveTasks + stage.numFailedTasks for stage in stages)
        return cls(begun=ended + others > 0, ended=ended)


def _in_background(work: Callable[[], Answer]) -> Future[Answer]:
    """What a function returns or raises, from a thread that does not keep the process when it ends."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            answer.set_exception(error)

    Thread(run)
    return answer


def _stop(begun: Future[Any]) -> None:
    """End a session of Spark that began."""
    with contextlib.suppress(Exception):
        begun.result().stop()


def _in_arrow(key_file: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """`answer` over record batches, as Spark calls it."""

    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from synth_engine.sources.cluster import answer

        for batch in batches:
            replies = [answer(each.as_py(), key_file) for each in batch.column(0)]
            yield pa.record_batch({"reply": pa.array(replies, type=pa.binary())})

    return answers


def _missing(package: str, extra: str) -> SpecError:
    return SpecError(
        f"the package {package} is not installed",
        repair=f"install synth-engine[{extra}], or count on this machine",
    )


_SPARK = {
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "4",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.driver.maxResultSize": "0",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
_UNREACHED = "the cluster does not answer, or has no worker; start it, or count on this machine"
_LOST = "the cluster failed in the middle of counting; look at its machines, and start the run again"
