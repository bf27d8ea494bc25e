"""deploy/systemd runs what docker-compose.yml runs, hands nobody more keys, and leaves nobody more of the
machine.

Our own reading of the units checks that everywhere. Where `systemd-analyze` is installed, it checks the units
as well: that it understands every line, and that it rates each service as well protected.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from synthweb import settings as shipped
from tests.architecture.test_compose import (
    MAY_KNOW,
    OURS,
    OWNERS,
    PRIVATE,
    ROOT,
    SERVICES,
    SINGLE_SERVICE_SETTINGS,
)

FOLDER = ROOT / "deploy" / "systemd"
UNITS = {path.name: path.read_text() for path in sorted(FOLDER.iterdir())}
NAMES = (*OURS, *OWNERS)
PLACE = "/opt/synthweb"
KEYS = {
    "secret_key": "secret.key",
    "vault_public": "vault.pub",
    "vault_private": "worker/vault.key",
    "preview_public": "preview.pub",
    "preview_private": "web/preview.key",
    "content_key": "web/content.key",
    "signing_private": "web/signing.key",
}
"""Secret of compose → its file below the folder of keys."""
REQUIRED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "PrivateUsers": "yes",
    "CapabilityBoundingSet": "",
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "InaccessiblePaths": "-/etc/synthweb",
    "UMask": "0077",
    "User": "synthweb",
}
SECTIONS = {"Unit", "Service", "Timer", "Install"}
WORST = "20"  # of systemd's rating, in tenths: 0 is closed, 100 is open


def lines_of(text: str) -> list[tuple[str, str, str]]:
    """(section, directive, value) of each line of a unit; ValueError for a line that is none."""
    found, section = [], ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if head := re.fullmatch(r"\[(\w+)\]", line):
            section = head[1]
            if section not in SECTIONS:
                raise ValueError(f"no such section: {line}")
            continue
        name, equals, value = line.partition("=")
        if not equals or not section or not re.fullmatch(r"[A-Z]\w+", name):
            raise ValueError(f"no directive: {line}")
        found.append((section, name, value))
    return found


def service(name: str) -> dict[str, list[str]]:
    """Directive → its values, of a service of compose."""
    found: dict[str, list[str]] = {}
    for section, directive, value in lines_of(UNITS[f"synthweb-{name}.service"]):
        if section == "Service":
            found.setdefault(directive, []).append(value)
    return found


def command_of(name: str) -> list[str]:
    """What a unit runs, with the words and the address of a container."""
    [line] = service(name)["ExecStart"]
    instead = {"127.0.0.1:8000": "0.0.0.0:8000"}
    words = [instead.get(word, word) for word in line.replace("%%", "%").split()]
    return [words[0].removeprefix(f"{PLACE}/.venv/bin/"), *words[1:]]


def test_every_service_of_compose_has_a_unit() -> None:
    assert {f"synthweb-{name}.service" for name in NAMES} == {
        name for name in UNITS if name.endswith(".service")
    }
    assert set(UNITS) - {f"synthweb-{name}.service" for name in NAMES} == {
        "synthweb.target",
        "synthweb-backup.timer",
    }


@pytest.mark.parametrize("name", [*OURS, "migrate"])
def test_units_run_what_containers_run(name: str) -> None:
    expected = list(SERVICES[name]["command"])
    if name == "beat":  # an empty word is written otherwise there
        expected[-2:] = ["--pidfile="]
    assert command_of(name) == expected


def test_backups_run_at_night_and_write_where_they_may() -> None:
    command = command_of("backup")
    assert command[:3] == ["python", "manage.py", "backup"]
    assert service("backup")["ReadWritePaths"] == [command[3]]
    assert "OnCalendar=*-*-* 02:30:00" in UNITS["synthweb-backup.timer"]


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_handed_more_keys_than_in_compose(name: str) -> None:
    handed = {
        value.partition(":")[2].removeprefix("/etc/synthweb/keys/")
        for value in service(name).get("LoadCredential", [])
    }
    assert handed == {KEYS[secret] for secret in MAY_KNOW[name]}
    files = [
        path
        for value in service(name)["Environment"]
        for path in re.findall(r"=%d/(\S+)", value)
    ]
    assert sorted(files) == sorted(path.rpartition("/")[2] for path in handed)


@pytest.mark.parametrize("name", NAMES)
def test_every_service_is_shut_in(name: str) -> None:
    directives = service(name)
    assert {key: directives.get(key, ["missing"])[-1] for key in REQUIRED} == REQUIRED
    most = re.search(r"\d+[gm]", str(SERVICES[name]["mem_limit"]))
    assert most is not None
    assert directives["MemoryMax"] == [most[0].upper()]
    assert directives["TasksMax"] == ["256"]
    # Who calls other machines in compose, and nobody else.
    outside = name == "worker-notifications"
    assert directives.get("IPAddressDeny", []) == ([] if outside else ["any"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_decrypted_is_swapped_neither_here_nor_in_compose(name: str) -> None:
    decrypts = bool(PRIVATE & MAY_KNOW[name])
    assert service(name).get("MemorySwapMax", []) == (["0"] if decrypts else [])
    of_compose = SERVICES[name]
    assert (of_compose.get("mem_swappiness"), of_compose.get("memswap_limit")) == (
        (0, of_compose["mem_limit"]) if decrypts else (None, None)
    )


@pytest.mark.parametrize("name", NAMES)
def test_settings_reach_every_unit_and_secrets_the_one_that_has_them_in_compose(
    name: str,
) -> None:
    files = [value.removeprefix("-") for value in service(name)["EnvironmentFile"]]
    assert files[0] == "/etc/synthweb/synthweb.env"
    page = (ROOT / "docs" / "deployment.md").read_text()
    said = dict(
        re.findall(r"^\| (.*?) \| [^|]* \| `(/etc/synthweb/\S+)` \|$", page, re.MULTILINE)
    )
    own = {
        setting
        for settings, file in said.items()
        if file in files[1:]
        for setting in re.findall(r"`(\w+)`", settings)
    }
    assert set(files[1:]) <= set(said.values())
    assert own == {
        setting for setting, services in SINGLE_SERVICE_SETTINGS.items() if name in services
    } | ({"DATABASE_URL"} if name in OWNERS else set())


def test_the_children_of_a_worker_are_not_asked_to_stop() -> None:
    """Celery's children die of SIGTERM, in the middle of a draw, too. The time for stopping is that of
    compose."""
    workers = [name for name in NAMES if name.startswith("worker-")]
    assert len(workers) == 3
    for name in workers:
        assert service(name)["KillMode"] == ["mixed"]
        seconds = str(SERVICES[name].get("stop_grace_period", "10s")).removesuffix("s")
        assert service(name)["TimeoutStopSec"] == [seconds]


def test_workers_that_compute_start_with_loops_that_root_compiled() -> None:
    page = " ".join((ROOT / "docs" / "deployment.md").read_text().split())
    for name in ("worker-confidential", "worker-default"):
        # Beside the code, which no service writes: `ProtectSystem`
        folder = f"{PLACE}/{shipped.COMPILED.relative_to(ROOT)}"
        assert service(name)["WorkingDirectory"] == [PLACE]
        assert (
            f'NUMBA_CACHE_DIR={folder} .venv/bin/python -c "from synth_engine import jit'
            in page
        )
        assert "/tmp/numba" in "\n".join(service(name)["Environment"])


def test_a_line_that_is_no_directive_is_found() -> None:
    with pytest.raises(ValueError, match="no directive"):
        lines_of("[Unit]\nprivate tmp\n")
    with pytest.raises(ValueError, match="no such section"):
        lines_of("[Servce]\nUser=x\n")


@pytest.fixture
def units(tmp_path: Path) -> list[str]:
    """The units where their programs are, which systemd looks for."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for program in ("python", "gunicorn", "celery"):
        (programs / program).symlink_to(sys.executable)
    for name, text in UNITS.items():
        (tmp_path / name).write_text(text.replace(PLACE, str(tmp_path)))
    return [str(tmp_path / name) for name in UNITS]


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: our own reading above checks the units")
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def test_systemd_understands_every_line(units: list[str]) -> None:
    done = analyze("verify", "--man=no", *units)
    assert (done.returncode, done.stderr) == (0, "")
    spoilt = Path(units[-1])
    spoilt.write_text(spoilt.read_text().replace("Description", "Descripton"))
    assert "Descripton" in analyze("verify", "--man=no", str(spoilt)).stderr


def test_systemd_rates_every_service_as_protected(units: list[str]) -> None:
    for unit in units:
        if unit.endswith(".service"):
            done = analyze("security", "--offline=true", f"--threshold={WORST}", unit)
            assert done.returncode == 0, done.stdout[-500:]
