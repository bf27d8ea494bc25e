"""docker-compose.yml runs what the local installation runs, and nobody there knows more than they must."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from synthweb import settings as shipped
from synthweb.lib import env
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
    "check": set(),
}
# It copies all of an installation, and writes nothing that is not encrypted.
MAY_KNOW["backup"] = set().union(*MAY_KNOW.values())
PRIVATE = {"vault_private", "preview_private"}
"""Keys that open what people uploaded."""
SINGLE_SERVICE_SETTINGS = {
    "SYNTHWEB_METRICS_TOKEN": {"web"},
    "SYNTHWEB_OIDC_CLIENT_SECRET": {"web"},
    "SYNTHWEB_BREACHED_PASSWORDS_FILE": {"web"},
    "SYNTHWEB_CHECKPOINTS": {"web"},
    "SYNTHWEB_EMAIL_PASSWORD": {"worker-notifications"},
    "SYNTHWEB_CLUSTER": {"worker-confidential"},
    "SYNTHWEB_CLUSTER_FOLDER": {"worker-confidential"},
    "SYNTHWEB_CLUSTER_KEY_FILE": {"worker-confidential"},
    "SYNTHWEB_APPLICATION_ROLE": {"migrate", "backup"},
    "SYNTHWEB_APPLICATION_PASSWORD": {"migrate", "backup"},
    "SYNTHWEB_BACKUP_RECIPIENT": {"migrate", "backup"},
}
"""Settings that one process alone may know or needs, and its services; those of the owner of the tables share
a file with systemd."""
WITH_FILE = {f"{name}_FILE": services for name, services in SINGLE_SERVICE_SETTINGS.items()}
# The file says these itself: addresses of its own services, and places in the container.
COMPOSE_FILE_SETTINGS = {
    "DATABASE_URL",
    "DATABASE_URL_FILE",
    "SYNTHWEB_APPLICATION_PASSWORD",
    "SYNTHWEB_APPLICATION_PASSWORD_FILE",
    "SYNTHWEB_APPLICATION_ROLE",
    "SYNTHWEB_BROKER",
    "SYNTHWEB_BROKER_FILE",
    "SYNTHWEB_SECRET_KEY",
    *(
        f"SYNTHWEB_{name}_FILE"
        for name in (
            "SECRET_KEY",
            "VAULT_PUBLIC_KEY",
            "VAULT_PRIVATE_KEY",
            "PREVIEW_PUBLIC_KEY",
            "PREVIEW_PRIVATE_KEY",
            "CONTENT_KEY",
            "SIGNING_PRIVATE_KEY",
        )
    ),
}
IMAGE_SETTINGS = {"SYNTHWEB_VAR", "SYNTHWEB_STATIC_ROOT"}
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
    if name in (*OWNERS, "check"):
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
    for name in set(MAY_KNOW) - {"check"}:
        environment = SERVICES[name]["environment"]
        assert environment["DATABASE_URL"].startswith("postgres://")
        assert environment["SYNTHWEB_BROKER"] == f"redis://:{REDIS_PASSWORD}@redis:6379/0"
        assert environment["SYNTHWEB_DEMO_USERS"].endswith(":-false}")


def test_only_migrations_and_backups_connect_as_the_owner_of_the_tables() -> None:
    for name in set(MAY_KNOW) - {"check"}:
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
        if "ports" in service or "outside" in service.get("networks", [])
    }
    assert reachable == {"web"}


def test_only_the_worker_of_notifications_calls_other_machines() -> None:
    calling = {
        name for name, service in SERVICES.items() if "outgoing" in service.get("networks", [])
    }
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


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate", "check"}))
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
    passwords = "${SYNTHWEB_BREACHED_PASSWORDS_FILE:-/dev/null}:/run/breached-passwords:ro"
    assert passwords in SERVICES["web"]["volumes"]
    mounted.discard(passwords.split(":")[1])
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
    """Compiled code is loaded as it is found: whoever writes the folder of another service runs code as that
    service."""
    folder = re.search(r"NUMBA_CACHE_DIR=(\S+)", DOCKERFILE)
    assert folder is not None
    for name in OURS:
        assert any(place.startswith("/tmp:") for place in SERVICES[name]["tmpfs"])
        assert not any(":/tmp" in volume for volume in SERVICES[name].get("volumes", []))
    assert folder[1].startswith("/tmp/")


def test_the_image_has_compiled_loops_that_no_container_can_write() -> None:
    folder = f"/app/{shipped.COMPILED.relative_to(ROOT)}"
    made = (
        f'RUN NUMBA_CACHE_DIR={folder} python -c "from synth_engine import jit; jit.warm_up()"'
    )
    # As root, of the source where it lies at run time, which its index names.
    assert (
        DOCKERFILE.index("COPY synth_engine")
        < DOCKERFILE.index(made)
        < DOCKERFILE.index("USER synthweb")
    )
    for name in OURS:
        assert SERVICES[name]["read_only"] is True
        places = [*SERVICES[name]["tmpfs"], *SERVICES[name].get("volumes", [])]
        assert not any("/app" in place for place in places)


# --- settings -----------------------------------------------------------------------------------------------
def _documented() -> set[str]:
    page = (ROOT / "docs" / "settings.md").read_text()
    return set(re.findall(r"^\| `((?:SYNTHWEB|DATABASE)_\w+)` \|", page, flags=re.MULTILINE))


def _set_by_operators(service: str) -> set[str]:
    """The settings of a service whose value is what `.env` says under the same name."""
    return {
        name
        for name, value in SERVICES[service]["environment"].items()
        if re.search(rf"\$\{{{name}:", str(value))
    }


def test_there_are_at_most_sixty_settings() -> None:
    assert 40 < len(_documented()) <= 60


def test_every_setting_of_operators_reaches_the_services_that_need_it() -> None:
    everybodys = (
        _documented()
        - set(SINGLE_SERVICE_SETTINGS)
        - set(WITH_FILE)
        - COMPOSE_FILE_SETTINGS
        - IMAGE_SETTINGS
        - env.LOCAL_SETTINGS
    )
    assert len(everybodys) > 25
    for name in MAY_KNOW:
        assert everybodys - _set_by_operators(name) == set()


def test_what_one_process_alone_may_know_reaches_no_other_one() -> None:
    operators = {
        name: services
        for name, services in (SINGLE_SERVICE_SETTINGS | WITH_FILE).items()
        if name in _documented() - COMPOSE_FILE_SETTINGS
    } | {"SYNTHWEB_BACKUP_RECIPIENT": {"backup"}}
    for name, services in operators.items():
        assert {each for each in MAY_KNOW if name in _set_by_operators(each)} == services, name


def test_services_are_given_nothing_that_is_no_setting() -> None:
    given = {name for service in MAY_KNOW for name in SERVICES[service]["environment"]}
    ours = {name for name in given if name.startswith(("SYNTHWEB_", "DATABASE_"))}
    assert ours <= _documented()


def test_names_of_the_file_alone_are_known_to_the_check_of_names() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    text += (ROOT / "deploy" / "compose-logs.yml").read_text()
    named = set(re.findall(r"\$\{(SYNTHWEB_\w+)", text))
    assert named - _documented() == env.COMPOSE_SETTINGS


def test_all_of_the_settings_file_is_checked_by_who_can_tell_nobody() -> None:
    service = SERVICES["check"]
    assert service["env_file"] == [".env"]
    assert service["network_mode"] == "none"
    assert service["command"] == ["python", "manage.py", "check"]
    assert not {"networks", "volumes", "secrets", "ports"} & set(service)
    assert [name for name in SERVICES if "env_file" in SERVICES[name]] == ["check"]
    started = {name for name, each in SERVICES.items() if "check" in each.get("depends_on", {})}
    assert started == {"migrate"}
    assert (
        SERVICES["migrate"]["depends_on"]["check"]["condition"]
        == "service_completed_successfully"
    )
