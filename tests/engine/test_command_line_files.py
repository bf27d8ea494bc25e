"""Files that the command line writes: nothing is overwritten unasked, nothing half written is left whatever
ends the command, and a disk that fills costs no receipt. Disks are small by a limit on files (RLIMIT_FSIZE),
processes are real."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from synth_engine import cli, outputs

ROOT = Path(__file__).parents[2]
DOMAIN = {
    "attributes": [
        {
            "name": "job",
            "kind": "categorical",
            "values": ["clerk", "smith", "cook"],
            "other": True,
        }
    ]
}
SAID = "name another file, or add --overwrite"
DRAWN_FOR_LONG = "30000000"  # rows: more than are drawn before a signal comes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 300 people and its domain."""
    (tmp_path / "people.csv").write_text("job\n" + "clerk\nsmith\ncook\n" * 100)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    return tmp_path


def asked(folder: Path, *more: str) -> list[str]:
    names = ("people.csv", "domain.json", "out.csv", "receipt.json")
    people, domain, out, receipt = (str(folder / name) for name in names)
    shared = ["--mechanism", "independent", "--epsilon", "0.5", "--rows", "20"]
    return [
        "synthesize",
        people,
        "--domain",
        domain,
        *shared,
        "--out",
        out,
        "--receipt",
        receipt,
        *more,
    ]


def left(folder: Path) -> list[str]:
    """What a command has written."""
    return sorted({path.name for path in folder.iterdir()} - {"people.csv", "domain.json"})


# --- overwriting --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("taken", ["out.csv", "receipt.json", "model.json"])
def test_an_output_that_exists_is_refused_before_anything_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], taken: str
) -> None:
    """Failed before: it was replaced without a word."""
    (folder / taken).write_text("mine")
    command = asked(folder, "--model", str(folder / "model.json"))
    assert cli.main(command) == 2
    option = {"out.csv": "--out", "receipt.json": "--receipt", "model.json": "--model"}[taken]
    assert capsys.readouterr().err == f"error: the file of {option} exists; {SAID}\n"
    assert left(folder) == [taken]
    assert (folder / taken).read_text() == "mine"
    assert cli.main([*command, "--overwrite"]) == 0
    assert left(folder) == ["model.json", "out.csv", "receipt.json"]
    assert "mine" not in (folder / taken).read_text()
    assert cli.main(["verify", str(folder / "receipt.json")]) == 0


COMMANDS = {
    "sample": ["sample", "{model}", "--seed", "1", "--out", "{taken}.csv"],
    "describe": ["describe", "{model}", "--out", "{taken}.json"],
    "verifier": ["verifier", "--out", "{taken}.py"],
    "compare": [
        "compare",
        "{people}",
        "{people}",
        "--domain",
        "{domain}",
        "--out",
        "{taken}.json",
    ],
    "compare as a page": [
        "compare",
        "{people}",
        "{people}",
        "--domain",
        "{domain}",
        "--out",
        "{taken}.html",
    ],
    "domain": ["domain", "{people}", "--out", "{taken}.json"],
    "form": ["form", "{people}", "--out", "{taken}.json"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_overwrites_a_file_unasked(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    model = folder / "model.json"
    assert cli.main(asked(folder, "--model", str(model))) == 0
    places = {"model": model, "people": folder / "people.csv", "domain": folder / "domain.json"}
    command = [word.format(taken=folder / "taken", **places) for word in COMMANDS[name]]
    taken = Path(command[-1])
    taken.write_text("mine")
    capsys.readouterr()
    assert cli.main(command) == 2
    assert capsys.readouterr().err == f"error: the file of --out exists; {SAID}\n"
    assert taken.read_text() == "mine"
    assert cli.main([*command, "--overwrite"]) == 0
    assert taken.read_text() != "mine"


def test_an_output_is_never_an_input_nor_another_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "people.csv").read_bytes()
    os.link(folder / "people.csv", folder / "again.csv")
    command = asked(folder, "--overwrite")
    for other in ("people.csv", "again.csv", "receipt.json"):
        changed = [
            str(folder / other) if word.endswith("out.csv") else word for word in command
        ]
        wanted = "two of the files are the same" if other.endswith("csv") else "another format"
        assert cli.main(changed) == 2
        assert wanted in capsys.readouterr().err
    same = str(folder / "receipt.json")
    assert cli.main([*command, "--model", same]) == 2
    assert "two of the files are the same" in capsys.readouterr().err
    people = str(folder / "people.csv")
    assert cli.main(["domain", people, "--out", people, "--overwrite"]) == 2
    assert (folder / "people.csv").read_bytes() == before


def test_a_file_that_appears_meanwhile_is_not_replaced(folder: Path) -> None:
    with outputs.pending(folder / "out.csv", overwrite=False) as file:
        file.write("ours")
        (folder / "out.csv").write_text("theirs")
        with pytest.raises(outputs.InputError, match="exists by now"):
            file.keep()
    assert left(folder) == ["out.csv"]
    assert (folder / "out.csv").read_text() == "theirs"


def test_without_hard_links_an_output_is_kept_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    outputs.replace(
        folder / "one", lambda path: path.write_text("ours") and None, overwrite=False
    )
    assert (folder / "one").read_text() == "ours"
    with pytest.raises(outputs.InputError, match="exists by now"):
        outputs.replace(
            folder / "one", lambda path: path.write_text("other") and None, overwrite=False
        )
    assert left(folder) == ["one"]


# --- a full disk --------------------------------------------------------------------------------------------
def limited(folder: Path, *command: str, size: int) -> subprocess.CompletedProcess[str]:
    """A command on a disk that takes no file beyond `size` bytes."""
    return subprocess.run(
        [sys.executable, "-m", "synth_engine", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def test_a_disk_that_fills_after_the_draw_keeps_receipt_and_model_and_says_what_was_spent(
    folder: Path,
) -> None:
    """Failed before: no receipt, "check space and rights", exit code 2, which says that nothing was drawn."""
    done = limited(folder, *asked(folder, "--rows", "2000000"), size=4_000_000)
    assert done.returncode == 1, done.stderr
    assert done.stderr == (
        "error: the table could not be written, but epsilon = 0.5 was spent; free space, then draw it from "
        "the model in out.csv.model.json by the command sample, which costs nothing more\n"
    )
    assert left(folder) == ["out.csv.model.json", "receipt.json"]
    assert cli.main(["verify", str(folder / "receipt.json")]) == 0
    assert json.loads((folder / "receipt.json").read_text())["sample"] is None
    out = str(folder / "out.csv")
    assert (
        cli.main(["sample", str(folder / "out.csv.model.json"), "--rows", "7", "--out", out])
        == 0
    )


def test_a_disk_without_room_for_the_receipt_is_found_before_anything_is_spent(
    folder: Path,
) -> None:
    done = limited(folder, *asked(folder), size=10_000)
    assert done.returncode == 2
    assert "there is no room for" in done.stderr
    assert left(folder) == []


def test_what_fails_once_noise_may_have_been_drawn_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from synth_engine.mechanisms import independent

    def lost(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(independent.IndependentPlan, "fit", lost)
    assert cli.main(asked(folder)) == 1
    assert "MemoryError" in (said := capsys.readouterr().err)
    assert "noise may have been drawn, so count epsilon = 0.5 as spent" in said
    assert left(folder) == []


# --- signals ------------------------------------------------------------------------------------------------
def started(
    *command: str, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "synth_engine", *command],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_signals,
    )


def _heed_signals() -> None:
    """Whoever runs the tests may ignore signals, as under nohup, and processes inherit that."""
    for number in ENDS:
        signal.signal(number, signal.SIG_DFL)


def wait(happened: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


ENDS = {
    signal.SIGINT: outputs.INTERRUPTED,
    signal.SIGTERM: -signal.SIGTERM,
    signal.SIGHUP: -signal.SIGHUP,
}


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_leaves_nothing_half_written_and_what_was_paid_for_is_there(
    folder: Path, number: signal.Signals
) -> None:
    """Failed before: SIGTERM and SIGHUP left `.out.csv.…`, and there was no receipt of what was spent."""
    process = started(
        *asked(folder, "--rows", DRAWN_FOR_LONG, "--model", str(folder / "model.json"))
    )
    try:
        wait(
            lambda: any(path.stat().st_size > 10_000 for path in folder.glob(".out.csv.*")),
            process,
        )
        process.send_signal(number)
        assert process.communicate(timeout=120) == ("", "")
        assert process.returncode == ENDS[number]
    finally:
        process.kill()
        process.wait()
    assert left(folder) == ["model.json", "receipt.json"]
    assert cli.main(["verify", str(folder / "receipt.json")]) == 0


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_while_modules_are_imported_ends_quietly(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Failed before: Ctrl-C gave a traceback."""
    mark = tmp_path / "mark"
    slow = f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(600)\n"
    (tmp_path / "argparse.py").write_text(slow)
    process = started("mechanisms", environment={"PYTHONPATH": str(tmp_path)})
    try:
        wait(mark.exists, process)
        process.send_signal(number)
        assert process.communicate(timeout=120) == ("", "")
        assert process.returncode == ENDS[number]
    finally:
        process.kill()
        process.wait()


def test_a_command_under_nohup_goes_on_after_its_terminal_is_gone(folder: Path) -> None:
    script = (
        "import signal, sys, os; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.executable, "
        "sys.argv[1:])"
    )
    command = [sys.executable, "-m", "synth_engine", *asked(folder, "--rows", "400000")]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    try:
        wait(lambda: any(folder.glob(".out.csv.*")), process)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.wait()
    assert "out.csv" in left(folder)
