"""The page of other synthesizers: what it says of what ran, of what did not, and of what cannot."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import peers
from bench.peers import Cell, Environments


def figures(pairs: float, fit: float = 2.0) -> peers.Figures:
    return {
        "tvd1": 0.01,
        "tvd2": pairs,
        "tvd3": 2 * pairs,
        "hgb_auc": 0.9,
        "fit": fit,
        "rows": 0.25,
        "memory": 300.0,
    }


def cells() -> list[Cell]:
    return [
        Cell("adult", "1", peers.HERE, "auto", (figures(0.02), figures(0.04, 3.0))),
        Cell("adult", "1", "dpmm", "mst", (figures(0.06),)),
        Cell("adult", "1", "dpmm", "aim", reason="more than 1200 CPU s"),
        Cell("adult", "10", "dpmm", "mst", reason=peers.NOT_RUN),
    ]


def test_the_page_has_means_numbers_of_releases_and_reasons() -> None:
    page = peers.page(cells(), picture="images/peers.svg")
    row = (
        "| 1 | synth_engine `auto` | 0.0100 | 0.0300 | 0.0600 | 0.900 | 2.5 | 0.2 | 300.0 | 2 |"
    )
    assert row in page
    assert "| 1 | dpmm `aim` | more than 1200 CPU s | | | | | | | 0 |" in page
    assert "Not run yet: dpmm mst (ε 10)." in page
    assert "| 10 | dpmm `mst`" not in page
    assert "![Error of pairs by method](images/peers.svg)" in page
    assert "differ by up to 50 % between releases" in page


def test_the_picture_has_a_bar_for_each_method_that_ran_the_nearest_first() -> None:
    drawn = ElementTree.fromstring(peers.chart(cells(), data="adult", epsilon="1"))
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[1:] == ["synth_engine auto", "0.0300", "dpmm mst", "0.0600"]
    nothing = ElementTree.fromstring(peers.chart([], data="adult", epsilon="1"))
    assert len(list(nothing.iter("{http://www.w3.org/2000/svg}text"))) == 1


def test_a_program_that_is_not_there_says_what_it_needs(tmp_path: Path) -> None:
    assert Environments(tmp_path).missing("dpmm") == ""
    words = Environments(tmp_path).missing("private_pgm")
    assert words == "needs a checkout of github.com/ryan112358/private-pgm"
    (tmp_path / "private_pgm").mkdir()
    assert Environments(tmp_path, checkouts=tmp_path).missing("private_pgm") == ""


@pytest.mark.parametrize("peer", [peer for peer in peers.PEERS if peer != peers.HERE])
def test_each_peer_has_pinned_packages_and_a_program(peer: str) -> None:
    pinned = (peers.PROGRAMS / f"{peer}.txt").read_text().split()
    assert pinned
    assert all("==" in package for package in pinned if not package.startswith("#"))
    assert (peers.PROGRAMS / f"with_{peer}.py").is_file()


def test_figures_belong_to_the_version_of_the_packages_that_made_them(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    versions = {peer: environments.version(peer) for peer in peers.PEERS}
    assert len(set(versions.values())) == len(versions)
    assert json.dumps(versions) == json.dumps(
        {peer: environments.version(peer) for peer in peers.PEERS}
    )
