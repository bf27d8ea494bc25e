"""The operator's pages say everything there is: each setting, each check, each command."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from synthweb.lib import env
from synthweb.pages import errors_page
from tests import bill_of_materials

ROOT = Path(__file__).resolve().parents[2]
SETTINGS_PAGE = (ROOT / "docs" / "settings.md").read_text()
DEPLOYMENT_PAGE = (ROOT / "docs" / "deployment.md").read_text()
SETTING = re.compile(r"\b(?:SYNTHWEB_[A-Z_]+|DATABASE_URL(?:_FILE)?)\b")
SECRETS = re.findall(r"\bsecret\(\s*\"(\w+)\"", (ROOT / "synthweb" / "settings.py").read_text())
CODE = [
    ROOT / "synthweb" / "settings.py",
    *(ROOT / "synthweb" / "local").glob("*.py"),
]


def _in_code() -> set[str]:
    found = {name for path in CODE for name in SETTING.findall(path.read_text())}
    # lib.env.secret puts them together.
    found |= {f"{name}_FILE" for name in SECRETS}
    return {name for name in found if not name.endswith("_")}


def _rows(page: str) -> set[str]:
    """The names in the first column of the tables of a page."""
    return set(re.findall(r"^\| `([A-Za-z_.0-9]+)` \|", page, flags=re.MULTILINE))


def test_every_setting_is_on_the_page_and_nothing_else() -> None:
    documented = {name for name in _rows(SETTINGS_PAGE) if SETTING.fullmatch(name)}
    assert documented == _in_code()


def test_every_check_is_on_the_page_and_nothing_else() -> None:
    in_code = {
        id_
        for path in (ROOT / "synthweb").rglob("checks.py")
        for id_ in re.findall(r'id="(synthweb\.[EW]\d+)"', path.read_text())
    }
    assert in_code
    assert {name for name in _rows(SETTINGS_PAGE) if name.startswith("synthweb.")} == in_code


def test_every_command_is_on_the_page_and_nothing_else() -> None:
    commands = {
        path.stem
        for path in (ROOT / "synthweb").glob("*/management/commands/*.py")
        if not path.stem.startswith("_")
    }
    assert _rows(DEPLOYMENT_PAGE.split("\n## Commands\n")[1]) == commands


def test_every_error_of_the_code_is_on_the_page_with_its_repair() -> None:
    """The page parses single calls; here whole modules are parsed."""
    listed = {(rule.text, rule.repair) for rule in errors_page.rules()}
    raised = [
        (str(node.args[0].value), {word.arg: word.value for word in node.keywords})
        for folder in errors_page.FOLDERS
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in errors_page.TITLES
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    expected = {
        (text, str(repair.value))
        for text, given in raised
        if isinstance(repair := given.get("repair"), ast.Constant)
    }
    assert len(expected) > 100
    assert sorted(expected - listed) == []
    page = errors_page.page()
    cells = (text.replace("|", "\\|").replace("<", "&lt;") for row in listed for text in row)
    assert [text for text in cells if text not in page and "\n" not in text] == []


def test_every_refusal_has_a_code_with_a_meaning() -> None:
    rows = [line for line in errors_page.page().splitlines() if line.startswith("| `")]
    assert len(rows) > 10
    assert not [line for line in rows if re.search(r"\| +\|", line)]


def test_every_setting_of_the_compose_file_is_known() -> None:
    used = set(
        SETTING.findall(
            (ROOT / "docker-compose.yml").read_text() + (ROOT / ".env.example").read_text()
        )
    )
    assert used <= _in_code() | env.COMPOSE_SETTINGS


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|/|mailto:)([^)#\s]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_every_package_of_the_engine_and_every_app_stands_in_the_layout() -> None:
    layout = (ROOT / "ARCHITECTURE.md").read_text().split("```")[1]
    for package in ("synth_engine", "synthweb"):
        parts = [path for path in (ROOT / package).iterdir() if not path.name.startswith("__")]
        names = [f"{path.name}/" if path.is_dir() else path.name for path in parts]
        assert [name for name in sorted(names) if name not in layout] == []


def test_every_family_of_methods_stands_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    families = [
        path.parent.name
        for path in (ROOT / "synth_engine" / "mechanisms").glob("*/__init__.py")
    ]
    assert len(families) > 3
    assert [name for name in families if f"`{name}/`" not in text] == []


def test_every_law_that_is_tested_stands_beside_its_proof() -> None:
    # Tests of queries stand in the table of notes, those of mechanisms in the notes themselves.
    notes = "".join(path.read_text() for path in (ROOT / "docs" / "proofs").glob("*.md"))
    laws = sorted(path.name for path in (ROOT / "tests" / "privacy").glob("test_law_of_*.py"))
    assert len(laws) > 20
    assert [name for name in laws if name not in notes] == []


def test_modules_that_the_architecture_names_by_their_package_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text))
    assert len(named) > 10
    roots = (ROOT, ROOT / "synth_engine", ROOT / "synthweb")
    assert [
        path for path in sorted(named) if not any((root / path).exists() for root in roots)
    ] == []


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_that_the_front_pages_name_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    named = set(
        re.findall(
            r"`((?:docs|examples|synth_engine|synthweb|tests|bench|static)/[\w./-]+)`", text
        )
    )
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_requirements_are_pinned_and_name_no_address() -> None:
    for name in ("requirements.txt", "tests/requirements.txt"):
        lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
        for line in filter(None, lines):
            assert line == "-r ../requirements.txt" or re.match(
                r"[A-Za-z0-9_.-]+==[\w.]+( ;.*)?$", line
            ), line


def test_the_lock_has_the_versions_of_the_requirements_with_hashes() -> None:
    """`async-timeout` is for Python 3.11.0 to 3.11.2 alone, and `cloudpickle` comes with another package."""

    def pins(name: str) -> dict[str, str]:
        lines = [
            line.split("#")[0].strip(" \\\n") for line in (ROOT / name).read_text().splitlines()
        ]
        pinned = [line.split(";")[0].strip().split("==") for line in lines if "==" in line]
        return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in pinned}

    locked, required = pins("requirements.lock"), pins("requirements.txt")
    assert set(required) - set(locked) <= {"async-timeout"}, "run `make lock`"
    assert set(locked) - set(required) <= {"cloudpickle"}, "run `make lock`"
    assert {name: locked[name] for name in required if name in locked} == {
        name: version for name, version in required.items() if name in locked
    }, "run `make lock`"
    text = (ROOT / "requirements.lock").read_text()
    assert len(
        re.findall(r"^[a-z0-9].*\\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    ) == len(locked)


def test_the_bill_of_materials_has_the_extra_of_traces_as_optional() -> None:
    always, extra = (
        bill_of_materials.packages(ROOT / name)
        for name in ("requirements.lock", "deploy/traces.txt")
    )
    assert "django" in dict(always)
    assert "opentelemetry-sdk" in dict(extra)
    assert not always & extra
    # The tool writes names as the files do, or as packages call themselves.
    components = [
        {"type": "library", "name": name.replace("-", "_"), "version": version}
        for name, version in sorted(always | extra)
    ]
    bill = bill_of_materials.with_scopes({"bomFormat": "CycloneDX", "components": components})
    assert bill["bomFormat"] == "CycloneDX"
    scopes = {
        (each["name"].replace("_", "-"), each["version"]): each["scope"]
        for each in bill["components"]
    }
    assert scopes == dict.fromkeys(always, "required") | dict.fromkeys(extra, "optional")
    for wrong in (components[1:], [*components, components[0] | {"version": "0"}]):
        with pytest.raises(ValueError, match="differ"):
            bill_of_materials.with_scopes({"components": wrong})
    recipe = re.search(
        r"^sbom:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert recipe
    for part in ("requirements.lock", "deploy/traces.txt", "tests.bill_of_materials"):
        assert part in recipe[1]


def test_each_direct_requirement_has_its_reason() -> None:
    for name in ("requirements.txt", "tests/requirements.txt"):
        direct = (ROOT / name).read_text().split("# --- asked for by those")[0].splitlines()
        bare = [
            line
            for line in direct
            if "==" in line and not line.startswith("#") and "  # " not in line
        ]
        assert not bare
