"""What synthweb does without: an item of a standard about it has nothing to verify as long as these tests
hold (docs/security.md, ASVS)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from synthweb.accounts.models import User
from tests.checks import MYPY

ROOT = Path(__file__).parents[2]
CODE = [path for name in ("synthweb", "synth_engine") for path in (ROOT / name).rglob("*.py")]
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# Each with the packages by which a program of Python has it.
TECHNOLOGIES = {
    "LDAP": ("ldap", "ldap3"),
    "XPath": ("lxml", "xpath", "elementpath"),
    "LaTeX": ("pylatex", "latex"),
    "rich text and templates of users": ("markdown", "jinja2", "mako", "bleach", "nh3"),
    "JNDI": ("jpype", "py4j"),
    "memcached": ("memcache", "pymemcache", "pylibmc"),
    "GraphQL": ("graphql", "graphene", "strawberry", "ariadne"),
    "WebSocket": ("channels", "websocket", "websockets", "wsproto"),
    "SAML": ("saml2", "onelogin", "djangosaml2"),
    "an authorisation server": ("oauth2_provider", "oauthlib", "oidc_provider"),
    "telephone": ("twilio", "phonenumbers", "vonage"),
    "CORS": ("corsheaders",),
}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _imported() -> Iterator[tuple[str, Path]]:
    for path in CODE:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Import):
                yield from ((alias.name, path) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from ((f"{node.module}.{alias.name}", path) for alias in node.names)


def _routes(
    patterns: list[URLPattern | URLResolver] | None = None, before: str = ""
) -> Iterator[str]:
    for each in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _routes(each.url_patterns, route)
        else:
            yield route


@pytest.mark.parametrize("technology", TECHNOLOGIES)
def test_no_program_here_loads_it(technology: str) -> None:
    names = TECHNOLOGIES[technology]
    assert [(name, path) for name, path in _imported() if name.split(".")[0] in names] == []
    apps = {app.split(".")[0] for app in [*settings.INSTALLED_APPS, *settings.MIDDLEWARE]}
    assert apps.isdisjoint(names)


def test_no_address_is_one_of_an_authorisation_server() -> None:
    """Nor is there one for a logout that a provider sends (back-channel)."""
    routes = list(_routes())
    assert len(routes) > 200
    assert [
        route
        for route in routes
        if re.search(r"well-known|oauth|authorize|jwks|backchannel", route)
    ] == []


def test_nobody_is_asked_what_others_may_know() -> None:
    names = {field.name for field in User._meta.get_fields()}
    assert {
        name for name in names if re.search("question|hint|birth|phone|mother", name)
    } == set()


def test_the_linter_refuses_what_runs_text_as_code() -> None:
    """SQL, shells, code and objects that are made of text, in every file of the program; where the rule is
    put aside is listed."""
    made = [
        "import os, pickle, subprocess",
        "import yaml",
        "sql = \"SELECT * FROM t WHERE a = '%s'\" % input()",
        "os.system(input())",
        "subprocess.run(input(), shell=True)",
        "eval(input())",
        "exec(input())",
        "pickle.loads(input().encode())",
        "yaml.load(input(), Loader=yaml.Loader)",
    ]
    command = [
        Path(sys.executable).parent / "ruff",
        "check",
        "--no-cache",
        "--output-format",
        "concise",
    ]
    for file in ("synthweb/made_up.py", "synth_engine/made_up.py"):
        found = subprocess.run(
            [*command, "--stdin-filename", file, "-"],
            input="\n".join(made),
            text=True,
            capture_output=True,
            cwd=ROOT,
            check=False,
        ).stdout
        assert set(re.findall(r" (S\d+) ", found)) >= {
            "S608",
            "S605",
            "S602",
            "S307",
            "S102",
            "S301",
            "S506",
        }
    aside = sorted(
        (path.relative_to(ROOT).as_posix(), rule)
        for path in CODE
        for rule in re.findall(r"noqa: .*?(S102|S301|S307|S506|S60[258])\b", path.read_text())
    )
    assert aside == [
        ("synth_engine/extras/cities/document.py", "S506"),  # a subclass of the safe loader
        ("synth_engine/relational/layout.py", "S608"),
        # Authenticated by the key of the cluster
        ("synth_engine/sources/cluster.py", "S301"),
        ("synth_engine/sources/cluster.py", "S301"),
        ("synth_engine/sources/snapshot.py", "S608"),  # names of columns, quoted
        ("synthweb/backups/database.py", "S608"),  # a table of Django's
    ]


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call whose function is spelled so that `name` fits its beginning or end."""
    for path in CODE:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and re.search(name, ast.unparse(node.func)):
                yield path.relative_to(ROOT).as_posix(), node


def test_what_users_type_is_no_template_and_no_pattern() -> None:
    """Templates are files, and where requests are read every pattern is a constant."""
    assert list(_calls(r"(^|\.)(Template|engines|get_template_from_string)$")) == []
    read = [
        (path, ast.unparse(node))
        for path, node in _calls(r"^re\.")
        if re.search(r"/(\w*views|\w*forms|serialisers)\.py$|/api/", path)
    ]
    assert read
    constant = re.compile(r"^re\.\w+\((r?b?['\"]|[A-Z_]+\b)")
    assert [call for call in read if not constant.match(call[1])] == []


def test_memory_is_managed_but_for_calls_of_the_system() -> None:
    """No code of C is built, and `ctypes` is met where limits of the system are set."""
    assert "ext-modules" not in (ROOT / "pyproject.toml").read_text()
    assert not [
        path
        for suffix in ("c", "cpp", "pyx", "rs")
        for path in (ROOT / "synth_engine").rglob(f"*.{suffix}")
    ]
    assert sorted(
        {path.relative_to(ROOT).as_posix() for name, path in _imported() if name == "ctypes"}
    ) == [
        "synth_engine/readers/sandbox_child.py",
        "synthweb/lib/dumps.py",
        "synthweb/local/supervisor.py",
        "synthweb/releases/drawing.py",
    ]


def test_cryptography_is_that_of_libraries_and_of_today() -> None:
    """Hashes and ciphers are those of this list; SHA-1 is the form of lists of breached passwords alone."""
    hashes = {
        (node.attr, path.relative_to(ROOT).as_posix() if node.attr == "sha1" else "")
        for path in CODE
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "hashlib"
    }
    assert hashes == {
        ("sha256", ""),
        ("sha512", ""),
        ("blake2b", ""),
        ("shake_256", ""),
        ("file_digest", ""),
        ("sha1", "synthweb/accounts/known_passwords.py"),
    }
    primitives = {
        name.rpartition(".")[2]
        for name, _path in _imported()
        if name.startswith("cryptography.")
    }
    assert primitives == {
        *("Fernet", "AESGCM", "Ed25519PrivateKey", "Ed25519PublicKey", "serialization"),
        *("InvalidToken", "InvalidTag", "InvalidSignature", "UnsupportedAlgorithm"),
    }


def test_no_client_certificate_is_asked_for() -> None:
    assert "ssl_verify_client" not in (ROOT / "docs" / "nginx.conf").read_text()


def test_scripts_listen_to_no_other_window_and_pages_load_no_plug_in() -> None:
    texts = {path.name: path.read_text() for path in [*SCRIPTS, *TEMPLATES]}
    assert [
        name
        for name, text in texts.items()
        if re.search(r"postMessage|[\"']message[\"']|<object|<embed|<applet", text)
    ] == []


def test_browsers_keep_a_theme_and_until_one_signs_out_what_was_typed() -> None:
    """By name; passwords and hidden fields are not kept (`static/js/typed.js`), and signing out removes the
    rest."""
    kept = {
        (path.name, kind, key)
        for path in SCRIPTS
        for kind, key in re.findall(
            r"(localStorage|sessionStorage)\.setItem\(([^,]+),", path.read_text()
        )
    }
    assert kept == {
        ("theme.js", "localStorage", "KEY"),
        ("typed.js", "sessionStorage", "key"),
        ("upload.js", "sessionStorage", "BEGUN"),
    }
    typed = (ROOT / "static" / "js" / "typed.js").read_text()
    assert '!["hidden", "password", "file", "submit", "button"].includes(control.type)' in typed
    assert 'event.target.matches("[data-signs-out]")' in typed
    assert all("indexedDB" not in path.read_text() for path in SCRIPTS)


def test_scripts_merge_no_objects_of_users() -> None:
    texts = {path.name: path.read_text() for path in SCRIPTS}
    assert [
        name
        for name, text in texts.items()
        if re.search(r"__proto__|\.prototype\b|setPrototypeOf", text)
    ] == []


def test_types_are_checked() -> None:
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
    assert {"synth_engine", "synthweb"} <= set(checked)
    assert {"synth_engine", "synthweb"} <= set(MYPY)


def test_the_image_has_what_it_names_and_no_repository() -> None:
    text = (ROOT / "Dockerfile").read_text()
    copied = [
        word
        for line in re.findall(r"^(?:COPY|ADD) (.+)$", text, flags=re.MULTILINE)
        for word in line.split()[:-1]
    ]
    assert copied and not {".", "./", ".git"} & set(copied)
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".env", "var", "tests"} <= set(ignored)


def test_nothing_of_other_origins_is_let_in() -> None:
    """No answer has a header of CORS: the one place where headers could be named has none."""
    assert [path for path in CODE if "access-control-allow" in path.read_text().lower()] == []
    assert settings.SESSION_COOKIE_DOMAIN is None and settings.CSRF_COOKIE_DOMAIN is None
