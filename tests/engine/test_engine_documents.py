"""What docs/domain.md and docs/command-line.md say is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from synth_engine import cli, domain
from synth_engine.kinds import KINDS, date_time, identifier

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```json\n(.*?)```", (DOCS / "domain.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_domain_shown_is_one(block: str) -> None:
    document = json.loads(block)
    jsonschema.validate(document, domain.SCHEMA)
    domain.Domain.from_json(document).require_confirmed()


def test_every_kind_and_origin_is_explained() -> None:
    text = (DOCS / "domain.md").read_text()
    for word in [
        *KINDS,
        *domain.PROVENANCES,
        *date_time.UNITS,
        *(f'"{word}"' for word in identifier.REGENERATE),
    ]:
        assert f"`{word}`" in text


def test_commands_and_options_are_those_of_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (DOCS / "command-line.md").read_text()
    synopsis = text.split("```")[1]
    documented = set(re.findall(r"python -m synth_engine (\w+)", synopsis))
    for command in documented:
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        usage = capsys.readouterr().out
        shown = re.search(
            rf"synth_engine {command}\b(.*?)(?=python -m|\Z)", synopsis, flags=re.DOTALL
        )
        assert shown is not None
        options = set(re.findall(r"--[a-z]+", usage)) - {"--help"}
        assert set(re.findall(r"--[a-z]+", shown[1])) == options
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    listed = set(re.findall(r"^    (\w+)\b", capsys.readouterr().out, flags=re.MULTILINE))
    assert listed == documented
