"""Every command of the engine that a page shows as an example runs, one after another as the page has them,
on small tables of the same shapes. A page with an example that has no folder here fails."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import linking
from synth_engine import cli
from tests import documented, tiny_data
from tests.documented import ROOT, Command

EXAMPLES: dict[str, list[Command]] = {}
for _command in documented.commands():
    if _command.engine is not None and _command.is_example:
        EXAMPLES.setdefault(_command.page, []).append(_command)
MOST_ROWS = 1_000
READ_RECEIPTS = ("gazetteer", "fit")
"""Commands to which a file of these names is given, and not written by them."""
"""Pages draw a million; each row is drawn as the others are."""


def run(arguments: list[str]) -> int:
    try:
        return cli.main(arguments)
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def json_of(page: str) -> list[str]:
    """The JSON documents that a page shows."""
    return re.findall(r"```json\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def released(*more: str) -> None:
    """A release of the people in this folder."""
    tiny_data.people(Path())
    tiny_data.described_people(Path())
    release = "synthesize people.csv --domain domain.json --mechanism independent --epsilon 1"
    assert run([*release.split(), "--out", "first.csv", *more]) == 0


def with_examples() -> None:
    tiny_data.examples(Path())


def with_words_of_the_licence() -> None:
    with_examples()
    words = re.findall("[A-Za-z]+", (ROOT / "LICENSE").read_text())
    Path("words.csv").write_text("\n".join(["term", *words, ""]))


def with_baskets() -> None:
    tiny_data.baskets(Path("retail.dat.gz"))
    Path("baskets.json").write_text(json_of("docs/baskets.md")[1])


def with_people_and_commutes() -> None:
    tiny_data.people(Path())
    tiny_data.commutes(Path())
    [jobs] = [each for each in json_of("docs/command-line.md") if "h_geocode" in each]
    Path("jobs.domain.json").write_text(jobs)


def with_people() -> None:
    tiny_data.people(Path())
    tiny_data.described_people(Path())


def with_people_of_another_year() -> None:
    with_people()
    survey = Path("people.csv").read_text().replace("age", "AGEP", 1)
    Path("survey_2023.csv").write_text(survey)


def with_linked_tables() -> None:
    linking.write_files(Path())


def with_a_model_of_adult() -> None:
    with_examples()
    release = (
        "synthesize examples/adult.csv.gz --domain examples/adult.domain.json --mechanism mst"
    )
    loss = "--epsilon 1 --delta 1e-9 --out first.csv --model model.json"
    assert run([*release.split(), *loss.split()]) == 0
    [scenario] = [each for each in json_of("docs/test-data.md") if "individual-unf" in each]
    Path("hiring.json").write_text(scenario)


def with_answers_of_all_pairs() -> None:
    """Answers with so little noise that every regression is offered."""
    tiny_data.people(Path())
    tiny_data.described_people(Path())
    release = "synthesize people.csv --domain domain.json --mechanism contingency-table --epsilon 1000"
    files = "--out first.csv --receipt receipt.json --answers answers.npz"
    assert run([*release.split(), *files.split()]) == 0


PREPARED: dict[str, Callable[[], object]] = {
    "README.md": with_examples,
    "docs/baskets.md": with_baskets,
    "docs/command-line.md": with_people_and_commutes,
    "docs/description.md": lambda: released("--model", "model.json"),
    "docs/fits.md": with_answers_of_all_pairs,
    "docs/implicates.md": with_people,
    "docs/linking.md": with_linked_tables,
    "docs/python.md": lambda: None,
    "docs/references.md": with_people_of_another_year,
    "docs/rest.md": lambda: released("--receipt", "receipt.json"),
    "docs/test-data.md": with_a_model_of_adult,
    "examples/README.md": with_words_of_the_licence,
}
"""What a reader of the page has in the folder before the first command."""


def confirmed() -> None:
    """What the page tells its reader to do with a draft."""
    draft = json.loads(Path("domain.json").read_text())
    for attribute in draft["attributes"]:
        attribute["provenance"] = "declared"
    Path("domain.json").write_text(json.dumps(draft))


def found_everything() -> None:
    """What somebody's pipeline finds."""
    shutil.copy("changes.csv", "found.csv")


THEN: dict[str, Callable[[], object]] = {"domain": confirmed, "scenario": found_everything}
"""What the reader does after a command, before the next one."""


def small(arguments: tuple[str, ...]) -> Iterator[str]:
    of_rows = False
    for word in arguments:
        large = of_rows and word.isdigit() and int(word) > MOST_ROWS and arguments[0] != "link"
        yield str(MOST_ROWS) if large else word
        of_rows = word == "--rows"


def test_every_page_with_examples_has_a_folder_here() -> None:
    assert set(EXAMPLES) == set(PREPARED)
    assert sum(map(len, EXAMPLES.values())) > 30


@pytest.mark.parametrize("page", sorted(EXAMPLES))
def test_the_examples_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    PREPARED[page]()
    for command in EXAMPLES[page]:
        assert command.engine is not None
        arguments = list(small(command.engine))
        # Pages show one way after another; what is there already is what an earlier one wrote.
        for name, following in itertools.pairwise(arguments):
            if name in ("--out", "--receipt", "--model") and arguments[0] not in READ_RECEIPTS:
                Path(following).unlink(missing_ok=True)
        assert run(arguments) == 0, command.text
        for name, following in itertools.pairwise(arguments):
            if name == "--out":
                assert Path(following).stat().st_size > 0, command.text
        THEN.get(arguments[0], lambda: None)()
