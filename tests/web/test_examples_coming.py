"""The first page says that the examples are on the way, as long as a process loads them, and to demo users
alone."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.accounts.models import User
from synthweb.pages import examples
from synthweb.pages.management.commands import load_demo
from tests import environment

LOADER = """
import sys, time
from pathlib import Path
from synthweb.pages import examples
with examples.loading(Path(sys.argv[1])):
    print("loading", flush=True)
    time.sleep(3600)
"""


@pytest.fixture
def var(tmp_path: Path, settings: object) -> Path:
    (tmp_path / "run").mkdir()
    settings.VAR_DIR = tmp_path  # type: ignore[attr-defined]
    return tmp_path


def test_the_first_page_of_a_demo_user_says_so_while_it_is_true(
    steward: User, browser: Callable[..., Client], var: Path
) -> None:
    def says_so() -> bool:
        return 'data-examples="coming"' in browser(steward).get(reverse("pages:home")).text

    assert not says_so()
    User.objects.filter(pk=steward.pk).update(is_demo=True)
    steward.refresh_from_db()
    assert not says_so()
    with examples.loading(var):
        assert says_so()
    assert not says_so()
    with examples.loading(var):
        User.objects.filter(pk=steward.pk).update(is_demo=False)
        assert not says_so()


def test_it_ends_with_the_process_however_that_ends(var: Path) -> None:
    command = [sys.executable, "-c", LOADER, str(var)]
    running = subprocess.Popen(command, cwd=environment.ROOT, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "loading\n"
    assert examples.are_loading(var)
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    assert not examples.are_loading(var)


def test_the_load_waits_for_the_workers_and_says_for_what(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Failed before: it gave up after five minutes."""
    seconds = iter(range(0, 10_000, 20))
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)), sleep=lambda _seconds: None)
    monkeypatch.setattr(load_demo, "time", clock)
    said, asked = StringIO(), iter(range(100))
    load_demo.Command(stdout=said)._wait("it is read", lambda: next(asked, None) is None)
    assert said.getvalue().splitlines()[-1] == "Waiting until it is read (2000 s so far)."
