"""docker-compose.yml runs what the local installation runs, and nobody there knows more than they must."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from synthweb.local import processes
from synthweb.local.paths import Places

ROOT = Path(__file__).resolve().parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())[
    "services"
]
OURS = ("web", "worker-confidential", "worker-default", "worker-notifications", "beat")
DOCKERFILE = (ROOT / "Dockerfile").read_text()
# What an image does as root before it becomes its own user.
ROOT_NEEDS = {"postgres": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]}
MAY_KNOW = {
    "web": {"secret_key", "vault_public", "preview_private", "content_key", "signing_private"},
    "worker-confidential": {"vault_private", "preview_public"},
    "worker-default": set(),
    "worker-notifications": set(),
    "beat": set(),
    "migrate": set(),
}
# It copies all of an installation, and writes nothing that is not encrypted.
MAY_KNOW["backup"] = set().union(*MAY_KNOW.values())
REDIS_PASSWORD = "${REDIS_PASSWORD:?set it in .env}"
OWNERS = ("migrate", "backup")
"""Who connects as the owner of the tables: whoever changes them, and whoever copies all of them."""


def _local(name: str) -> list[str]:
    """What the local installation runs, without its interpreter and with the addresses of a container."""
    places = Places(Path("/tmp"))
    found = {process.name: process for process in processes.application(places, listener=3)}[
        name
    ]
    command = found.command[2:]  # python -m
    instead = {"fd://3": "0.0.0.0:8000", str(places.run / "beat"): "/tmp/beat"}
    return [instead.get(part, part) for part in command]


@pytest.mark.parametrize("name", OURS)
def test_containers_run_what_runs_locally(name: str) -> None:
    assert SERVICES[name]["command"] == _local(name)


def test_the_image_starts_the_web_server_by_itself() -> None:
    command = re.search(r"^CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)
    assert command is not None
    assert yaml.safe_load(command[1]) == _local("web")


@pytest.mark.parametrize("name", sorted(MAY_KNOW))
def test_nobody_knows_more_keys_than_they_must(name: str) -> None:
    service = SERVICES[name]
    assert set(service.get("secrets", [])) == MAY_KNOW[name]
    named = {
        value.removeprefix("/run/secrets/")
        for value in service["environment"].values()
        if str(value).startswith("/run/secrets/")
    }
    assert named == MAY_KNOW[name]


@pytest.mark.parametrize("name", sorted(MAY_KNOW))
def test_a_service_lacks_exactly_the_private_keys_that_are_withheld_locally(name: str) -> None:
    if name in OWNERS:
        return
    local = {
        process.name: process
        for process in processes.application(Places(Path("/tmp")), listener=3)
    }[name]
    private = {*processes.WEB_KEYS, *processes.TABLE_KEYS}
    assert private - set(SERVICES[name]["environment"]) == set(local.withheld)


def test_only_the_web_has_djangos_secret() -> None:
    for name in MAY_KNOW:
        environment = SERVICES[name]["environment"]
        assert ("SYNTHWEB_SECRET_KEY_FILE" in environment) == (name in ("web", "backup"))
        assert ("SYNTHWEB_SECRET_KEY" in environment) == (name != "web")


def test_every_service_of_ours_speaks_to_postgres_and_redis() -> None:
    for name in MAY_KNOW:
        environment = SERVICES[name]["environment"]
        assert environment["DATABASE_URL"].startswith("postgres://")
        assert environment["SYNTHWEB_BROKER"] == f"redis://:{REDIS_PASSWORD}@redis:6379/0"
        assert environment["SYNTHWEB_DEMO_USERS"].endswith(":-false}")


def test_only_migrations_and_backups_connect_as_the_owner_of_the_tables() -> None:
    for name in MAY_KNOW:
        environment = SERVICES[name]["environment"]
        owns = name in OWNERS
        role = "synthweb" if owns else environment["DATABASE_URL"].split("//")[1].split(":")[0]
        assert environment["DATABASE_URL"].startswith(f"postgres://{role}:")
        assert (role == SERVICES["postgres"]["environment"]["POSTGRES_USER"]) is owns
        assert ("SYNTHWEB_APPLICATION_PASSWORD" in environment) is (name == "migrate")
        assert ("POSTGRES_PASSWORD" in str(environment)) is owns
    assert SERVICES["web"]["environment"]["DATABASE_URL"].startswith(
        f"postgres://{SERVICES['migrate']['environment']['SYNTHWEB_APPLICATION_ROLE']}:"
    )


def test_the_workers_wait_for_migrations_and_get_time_to_finish() -> None:
    for name in OURS:
        assert (
            SERVICES[name]["depends_on"]["migrate"]["condition"]
            == "service_completed_successfully"
        )
    seconds = int(SERVICES["worker-confidential"]["stop_grace_period"].removesuffix("s"))
    local = {p.name: p for p in processes.application(Places(Path("/tmp")), listener=3)}[
        "worker-confidential"
    ]
    assert seconds >= local.patience


def test_only_the_web_can_be_reached_from_outside() -> None:
    reachable = {
        name
        for name, service in SERVICES.items()
        if "ports" in service or "outside" in service["networks"]
    }
    assert reachable == {"web"}


def test_only_the_worker_of_notifications_calls_other_machines() -> None:
    calling = {name for name, service in SERVICES.items() if "outgoing" in service["networks"]}
    assert calling == {"worker-notifications"}
    assert not SERVICES["worker-notifications"].get("volumes")
    for name in MAY_KNOW:
        knows = "SYNTHWEB_EMAIL_PASSWORD" in SERVICES[name]["environment"]
        assert knows == (name == "worker-notifications")


def test_containers_run_as_nobody_special() -> None:
    assert re.search(r"^USER synthweb$", DOCKERFILE, flags=re.MULTILINE)
    for name in MAY_KNOW:
        assert SERVICES[name]["read_only"] is True
        assert SERVICES[name]["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_service_has_few_rights_and_bounds(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == ROOT_NEEDS.get(name, [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert 0 < service["pids_limit"] <= 512
    assert re.search(r"\b\d+(g|m)\b", str(service["mem_limit"]))
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}
    assert "privileged" not in service
    assert all("size=" in mounted for mounted in service.get("tmpfs", []) if name in MAY_KNOW)


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_every_service_that_stays_says_whether_it_is_well(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert check["interval"] and check["timeout"] and check["retries"]
    if name.startswith("worker-"):
        assert f"--destination {name.removeprefix('worker-')}@" in check["test"][1]


def test_what_the_web_writes_has_a_volume() -> None:
    mounted = {volume.split(":")[1] for volume in SERVICES["web"]["volumes"]}
    checkpoints = "${SYNTHWEB_CHECKPOINTS_FOLDER:-./checkpoints}:/checkpoints:ro"
    mounted.discard(checkpoints.split(":")[1])
    assert checkpoints in SERVICES["web"]["volumes"]
    assert mounted == {"/data/vault", "/data/previews", "/data/spool"}
    assert all(f" {folder}" in DOCKERFILE for folder in mounted)


def test_the_service_of_backups_reads_and_changes_nothing() -> None:
    service = SERVICES["backup"]
    data = [volume for volume in service["volumes"] if "/data/" in volume]
    assert len(data) == 3
    assert all(volume.endswith(":ro") for volume in data)
    assert service["profiles"] == ["backup"]
    assert "postgresql-client" in DOCKERFILE


def test_redis_keeps_nothing_and_evicts_nothing() -> None:
    command = SERVICES["redis"]["command"]
    local = processes.redis(Places(Path("/tmp"))).command
    for option, value in (
        ("--save", ""),
        ("--appendonly", "no"),
        ("--maxmemory-policy", "noeviction"),
    ):
        assert command[command.index(option) + 1] == value
        assert local[local.index(option) + 1] == value


def test_nobody_reaches_the_broker_without_its_password() -> None:
    command = SERVICES["redis"]["command"]
    assert command[command.index("--requirepass") + 1] == REDIS_PASSWORD
    assert "\nREDIS_PASSWORD=\n" in (ROOT / ".env.example").read_text()


def test_logs_of_every_service_go_to_another_machine_by_tls() -> None:
    services = yaml.safe_load((ROOT / "deploy" / "compose-logs.yml").read_text())["services"]
    assert set(services) == set(SERVICES)
    for service in services.values():
        assert set(service) == {"logging"}
        options = service["logging"]["options"]
        assert service["logging"]["driver"] == "syslog"
        assert options["syslog-address"].startswith("tcp+tls://${SYNTHWEB_LOG_HOST:?")
        assert "syslog-tls-skip-verify" not in options
        # A log host that is away must not stop whoever logs.
        assert options["mode"] == "non-blocking"


def test_each_container_compiles_for_itself() -> None:
    """Compiled code is loaded as it is found: whoever writes the folder of another service runs code as that service."""
    folder = re.search(r"NUMBA_CACHE_DIR=(\S+)", DOCKERFILE)
    assert folder is not None
    for name in OURS:
        assert any(place.startswith("/tmp:") for place in SERVICES[name]["tmpfs"])
        assert not any(":/tmp" in volume for volume in SERVICES[name].get("volumes", []))
    assert folder[1].startswith("/tmp/")


def test_the_image_has_compiled_loops_that_no_container_can_write() -> None:
    folder = re.search(r"SYNTHWEB_COMPILED=(\S+)", DOCKERFILE)
    assert folder is not None
    made = f'RUN NUMBA_CACHE_DIR={folder[1]} python -c "from synth_engine import jit; jit.warm_up()"'
    # As root, of the source where it lies at run time, which its index names.
    assert (
        DOCKERFILE.index("COPY synth_engine")
        < DOCKERFILE.index(made)
        < DOCKERFILE.index("USER synthweb")
    )
    for name in OURS:
        assert SERVICES[name]["read_only"] is True
        places = [*SERVICES[name]["tmpfs"], *SERVICES[name].get("volumes", [])]
        assert not any(folder[1] in place for place in places)
        assert "SYNTHWEB_COMPILED" not in SERVICES[name]["environment"]
