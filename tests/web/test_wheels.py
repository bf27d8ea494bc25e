"""The wheels of a release, away from the checkout: in an environment of their own the application makes its
database and answers, with its pages and files. Libraries are those of the tests, so that nothing is
downloaded."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from synthweb.lib import shipped
from tests import release

pytestmark = [pytest.mark.slow, pytest.mark.same_on_every_database]
PACKAGES = {"synth_engine", "synthweb", "synthweb_client"}
# What the installed application says of itself: pages, a page of the documentation, a static file and German.
PROGRAM = """
import json, os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
import django
django.setup()
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from django.utils import translation
from synthweb.lib import shipped
from synthweb.pages import docs
client = Client(headers={"host": "localhost"})
with translation.override("de"):
    german = translation.gettext("Releases")
print(json.dumps({
    "installed": shipped.IS_INSTALLED,
    "root": str(shipped.ROOT),
    "alive": client.get("/livez").status_code,
    "sign in": client.get("/account/login/").status_code,
    "docs": len(docs.pages()),
    "css": finders.find("css/report.css"),
    "plotly": finders.find("vendor/plotly-figures.min.js"),
    "german": german,
}))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "dist"
    release.make(folder)
    return folder


@pytest.fixture(scope="module")
def python(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of a fresh environment with the three wheels."""
    folder = tmp_path_factory.mktemp("wheels") / "venv"
    venv.create(folder, with_pip=False)
    interpreter = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    offline = ("--no-deps", "--no-index")
    wheels = [str(wheel) for wheel in made.glob("*.whl")]
    subprocess.run(
        [*pip, "--python", str(interpreter), "install", *offline, *wheels],
        check=True,
        timeout=900,
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def ran(python: Path, folder: Path, *arguments: str) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SYNTHWEB", "DJANGO", "PYTHON", "DATABASE"))
    }
    environment |= {"SYNTHWEB_VAR": str(folder / "var"), "HOME": str(folder)}
    done = subprocess.run(
        [str(python), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_release_has_three_wheels_two_verifiers_and_the_sum_of_each(made: Path) -> None:
    names = {path.name for path in made.iterdir()}
    wheels = {name for name in names if name.endswith(".whl")}
    assert {name.split("-")[0] for name in wheels} == PACKAGES
    # One version of everything.
    assert len({name.split("-")[1] for name in wheels}) == 1
    assert names - wheels == {"verify_receipt.py", "verify_ledger.py", release.SUMS}
    for line in (made / release.SUMS).read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((made / name).read_bytes()).hexdigest() == digest


def test_a_wheel_holds_no_file_of_a_run_and_none_of_the_tests(made: Path) -> None:
    for wheel in made.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        assert not [
            name
            for name in names
            if "__pycache__" in name or name.split("/")[0] in ("tests", "bench", "var")
        ]


def test_the_application_asks_for_the_engine_of_its_version_and_pinned_packages(
    made: Path,
) -> None:
    (wheel,) = made.glob("synthweb-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        lines = archive.read(name).decode().splitlines()
    needed = [
        Requirement(line.removeprefix("Requires-Dist: "))
        for line in lines
        if line.startswith("Requires-Dist: ")
    ]
    assert all("==" in str(each.specifier) for each in needed)
    engine = next(each for each in needed if each.name == "synth-engine")
    assert str(engine.specifier) == f"=={wheel.name.split('-')[1]}"


def test_the_installed_application_makes_its_database_and_answers(
    python: Path, tmp_path: Path
) -> None:
    keys = "from synthweb.local import keys, paths; keys.make(paths.of_this_machine().keys)"
    ran(python, tmp_path, "-c", keys)
    ran(python, tmp_path, "-m", "synthweb.local.manage", "migrate", "--no-input", "-v", "0")
    said = json.loads(ran(python, tmp_path, "-c", PROGRAM).splitlines()[-1])
    place = python.parents[1]
    assert said["installed"] and not shipped.IS_INSTALLED
    for file in ("root", "css", "plotly"):
        assert Path(said[file]).is_relative_to(place), file
    assert (said["alive"], said["sign in"]) == (200, 200)
    assert said["docs"] > 50
    assert said["german"] != "Releases"
    assert "run" in ran(python, tmp_path, "-m", "synthweb.local", "--help")
