"""Processes that are asked for one thing a line, as JSON, and answer with one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests import services

ROOT = Path(__file__).resolve().parents[2]


class Spoken:
    """A module that was started as a program, and ends with us."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self._name = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=services.ends_with_us(),
        )

    def ask(self, verb: str, *arguments: object) -> Any:
        """What the process returned for a verb."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([verb, arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} has died; see the captured output")
        return json.loads(line)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def answer(verbs: Mapping[str, Callable[..., object]]) -> None:
    """The other side: do what each line asks for, until nobody asks."""
    for line in sys.stdin:
        verb, arguments = json.loads(line)
        print(json.dumps(verbs[verb](*arguments)), flush=True)  # noqa: T201
