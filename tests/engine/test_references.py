"""Public reference tables: LODES files as they are, bad coordinates, and what becomes points and
partitions."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from synth_engine import cli, references
from synth_engine.domain import Domain
from synth_engine.domain import read as read_domain
from synth_engine.errors import DomainError, TableError
from synth_engine.references import Reference, ReferenceSource, Roles
from tests import shared

XWALK = """tabblk2020,st,cty,trct,bgrp,ctycsub,ctycsubname,blklatdd,blklondd,createdate
440010301001008,44,44001,44001030100,440010301001,4400105140,"Barrington town, RI",41.7501,-71.3201,20230321
440010301002009,44,44001,44001030100,440010301002,4400105140,"Barrington town, RI",41.7503,-71.3203,20230321
440010302002001,44,44001,44001030200,440010302002,4400105140,"Barrington town, RI",41.7301,-71.3001,20230321
440030201001001,44,44003,44003020100,440030201001,4400318640,"Coventry town, RI",41.6901,-71.5601,20230321
"""
BLOCKS = [line.split(",")[0] for line in XWALK.splitlines()[1:]]
SOURCE = ReferenceSource(name="crosswalk", version="2020", sha256="0" * 64)
NAMES = ["tract", "town", "county"]
PLACES = Roles(code="code", latitude="lat", longitude="lon")


def crosswalk() -> Reference:
    text = references.unpacked(gzip.compress(XWALK.encode()))
    roles = references.recognise(references.read_sheet(text).names)
    assert roles is not None
    return references.read(text, roles=roles)


def of_places(*lines: str, roles: Roles = PLACES, header: str = "code,lat,lon") -> Reference:
    return references.read("\n".join([header, *lines]).encode(), roles=roles)


def test_a_crosswalk_of_lodes_is_read_as_it_is() -> None:
    found = crosswalk()
    assert found.codes == tuple(BLOCKS)
    assert found.kind == "gazetteer"
    assert found.at is not None
    assert found.at[3] == (41.6901, -71.5601)
    assert list(found.parents) == ["block group", "tract", "town", "county", "state"]
    assert found.parents["tract"] == (
        "44001030100",
        "44001030100",
        "44001030200",
        "44003020100",
    )
    assert Reference.from_json(found.to_json()) == found


def test_names_of_parts_are_kept_with_them_and_go_where_their_codes_are_used() -> None:
    found = crosswalk()
    called = {"4400105140": "Barrington town, RI", "4400318640": "Coventry town, RI"}
    assert found.names == {"town": called}
    assert Reference.from_json(found.to_json()) == found
    of_blocks = references.fitting(found, BLOCKS, column="home")
    towns, counties = references.partitions_of(
        of_blocks, BLOCKS, column="home", source=SOURCE, names=["town", "county"]
    )
    assert towns["names"] == called and "names" not in counties
    assert "names" not in references.points_of(of_blocks, BLOCKS, column="home", source=SOURCE)
    few = list(called)[:1]
    of_towns = references.fitting(found, few, column="home")
    assert of_towns.level == "town"
    assert references.points_of(of_towns, few, column="home", source=SOURCE)["names"] == {
        few[0]: called[few[0]]
    }
    assert found.coarsened("town").names == {"": called} and found.coarsened("tract").names == {
        "town": called
    }


def test_names_are_those_of_the_first_line_and_of_partitions_alone() -> None:
    roles = Roles(code="code", parents=(("town", "t"),), names=(("town", "n"),))
    lines = ("a,1, Warren ", "b,1,Bristol", "c,2,", "d,,Nowhere")
    assert of_places(*lines, roles=roles, header="code,t,n").names == {"town": {"1": "Warren"}}
    assert roles.to_json()["names"] == [["town", "n"]] and "names" not in PLACES.to_json()
    with pytest.raises(TableError, match="line 3, column 'n': a name is no text"):
        of_places("a,1,Warren", f"b,2,{'x' * 201}", roles=roles, header="code,t,n")
    with pytest.raises(TableError, match="names of parts of no partition"):
        Roles(code="code", parents=(("town", "t"),), names=(("county", "n"),))


def test_lines_of_an_earlier_release_are_summed_by_their_code() -> None:
    text = b"w_geocode,h_geocode,S000,SA01\n1,44,2,2\n1,45,1,0\n2,44,3,1\n"
    roles = references.recognise(references.read_sheet(text).names)
    assert roles is not None
    found = references.read(text, roles=roles)
    assert (found.codes, found.weights, found.kind) == (("44", "45"), (5.0, 1.0), "density")


def test_the_public_files_of_rhode_island_are_read() -> None:
    text = references.unpacked(shared.needs("data/lodes_ri/ri_xwalk.csv.gz").read_bytes())
    roles = references.recognise(references.read_sheet(text).names)
    assert roles is not None
    found = references.read(text, roles=roles)
    assert (
        len(found),
        len(set(found.parents["tract"])),
        len(set(found.parents["block group"])),
    ) == (25_181, 246, 817)


# --- what is written in coordinates -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (["a,-125.1,41.2", "b,-124.3,40.9"], "swapped"),
        (["a,41.5,-71.4", "b,0,0"], r"line 3, column 'lat': a point is at \(0, 0\)"),
        (["a,41.5,-71.4", "b,,-71.4"], "line 3, column 'lat': a coordinate is missing"),
        (["a,41°49'12\"N,71°24'W"], "degrees and minutes"),
        (["a,41 49.2,-71 24.8"], "degrees and minutes"),
        (["a,41.82N,71.41W"], "direction"),
        (["a,4149.2,-7124.8"], "degrees and minutes written together"),
        (["a,41.5,-71.4", "b,99.0,-71.4"], "line 3, column 'lat': a coordinate is beyond 90"),
        (["a,41.5,-191.4"], "column 'lon': a coordinate is beyond 180"),
        (["a,nan,-71.4"], "no number of degrees"),
        (["a,inf,-71.4"], "no number of degrees"),
        (["a,1e999,-71.4"], "beyond 90|no number"),
        (["a,41.5,-71.4", "a,41.6,-71.4"], "line 3, column 'code': a code stands in two lines"),
        (["a,41.5,-71.4", ",41.6,-71.4"], "line 3, column 'code': a code is empty"),
        (["a,41.5"], "line 2: a line has another number of cells"),
        ([], "no line below its header"),
        (['"a,41.5,-71.4'], "quotation mark"),
    ],
)
def test_a_bad_place_is_named_by_its_line_and_no_value_is_repeated(
    lines: list[str], rule: str
) -> None:
    with pytest.raises(TableError, match=rule) as caught:
        of_places(*lines)
    assert caught.value.repair
    for line in lines:
        assert not any(
            cell and len(cell) > 3 and cell in caught.value.text for cell in line.split(",")
        )


def test_swapped_columns_are_noticed_by_their_names_and_points_in_the_antarctic_by_advice() -> (
    None
):
    with pytest.raises(TableError, match="seem to be swapped"):
        of_places("a,41.5,-71.4", roles=Roles(code="code", latitude="lon", longitude="lat"))
    anonymous = Roles(code="code", latitude="p", longitude="q")
    swapped = of_places("a,-71.4,41.5", roles=anonymous, header="code,p,q")
    sound = of_places("a,41.5,-71.4", roles=anonymous, header="code,p,q")
    assert "swapped" in references.advice(swapped)
    assert references.advice(sound) == ""


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (gzip.compress(XWALK.encode())[:-20], "ends too early|damaged"),
        (b"\x1f\x8b" + b"\0" * 40, "damaged"),
        ("cöde,lat".encode("latin-1"), "UTF-8"),
        (b"code,code\n", "one name"),
        (b"code,,lat\n", "every column"),
        (b"", "every column"),
    ],
)
def test_a_file_that_is_no_table_is_refused(data: bytes, rule: str) -> None:
    with pytest.raises(TableError, match=rule):
        references.read_sheet(references.unpacked(data))


def test_a_file_that_unpacks_without_end_is_refused() -> None:
    with pytest.raises(TableError, match="larger than 128 MB"):
        references.unpacked(gzip.compress(bytes(200 * 2**20), compresslevel=1))


@pytest.mark.parametrize("weight", ["-1", "x", "nan", "inf", "", "１"])
def test_a_weight_that_is_no_number_is_refused(weight: str) -> None:
    with pytest.raises(
        TableError, match="line 3, column 'w': a weight is no number of 0 or more"
    ):
        of_places("a,1", f"b,{weight}", roles=Roles(code="code", weight="w"), header="code,w")


@pytest.mark.parametrize(
    "roles",
    [
        {"code": "a"},
        {"code": "a", "latitude": "b"},
        {"code": "a", "latitude": "b", "longitude": "b"},
        {"code": "a", "parents": (("t", "b"), ("t", "c"))},
        {"code": "a", "weight": "b", "adds": True, "parents": (("t", "c"),)},
    ],
)
def test_roles_that_say_nothing_or_contradict_each_other_are_refused(
    roles: dict[str, Any],
) -> None:
    with pytest.raises(TableError):
        Roles(**roles)


# --- what is said of a column -------------------------------------------------------------------------------
def test_blocks_get_points_and_every_partition_that_says_something() -> None:
    reference = crosswalk()
    values = [BLOCKS[2], BLOCKS[0], BLOCKS[3]]
    found = references.fitting(reference, values, column="home")
    points = references.points_of(found, values, column="home", source=SOURCE)
    assert points["at"] == {
        values[0]: [41.7301, -71.3001], values[1]: [41.7501, -71.3201], values[2]: [41.6901, -71.5601]
    }  # fmt: skip
    assert points["source"] == {"name": "crosswalk", "version": "2020", "sha256": "0" * 64}
    assert references.worthwhile(found) == [
        "town",
        "county",
    ]  # each of the others has a part a value, or one for all
    [town] = references.partitions_of(
        found, values, column="home", source=SOURCE, names=["town"]
    )
    assert town["of"] == dict(
        zip(values, ["4400105140", "4400105140", "4400318640"], strict=True)
    )


def test_values_that_are_parts_of_a_partition_lie_in_the_middle_of_what_they_hold() -> None:
    values = ["44003020100", "44001030100"]
    found = references.fitting(crosswalk(), values, column="home")
    assert found.level == "tract"
    at = references.points_of(found, values, column="home", source=SOURCE)["at"]
    assert at["44001030100"] == [41.7502, -71.3202]
    assert set(found.reference.parents) == {
        "town",
        "county",
        "state",
    }  # a tract is in one town, and not in one block group


def test_a_middle_is_by_weight_and_weights_add_up() -> None:
    lines = ["a,41,-71,1,x", "b,42,-72,3,x", "c,43,-73,0,y"]
    roles = Roles(
        code="code", latitude="lat", longitude="lon", weight="w", parents=(("part", "p"),)
    )
    whole = of_places(*lines, roles=roles, header="code,lat,lon,w,p").coarsened("part")
    assert whole.codes == ("x", "y")
    assert whole.at == ((41.75, -71.75), (43.0, -73.0))
    assert whole.weights == (4.0, 0.0)


def test_a_declared_value_that_the_gazetteer_lacks_is_named_by_its_place_in_the_list() -> None:
    values = [BLOCKS[0], "449999999999999", BLOCKS[1], "448888888888888"]
    with pytest.raises(
        DomainError, match=r"column 'home': 2 of 4 declared values.*value 2 of the list"
    ) as caught:
        references.fitting(crosswalk(), values, column="home")
    assert "449999999999999" not in caught.value.text


def test_codes_that_lost_their_leading_zeros_are_told_apart() -> None:
    reference = of_places("01001,32.5,-86.6", "01003,30.7,-87.7", "10001,39.1,-75.6")
    with pytest.raises(DomainError, match="leading zeros"):
        references.fitting(reference, ["1001", "10001"], column="home")


def test_a_code_that_is_also_a_marker_of_missing_values_is_refused() -> None:
    with pytest.raises(
        DomainError, match=r"column 'home': a code .* also a marker of missing values"
    ):
        references.fitting(
            of_places("a,41,-71", "-9,42,-71"), ["a"], column="home", missing=["-9"]
        )


def test_a_partition_that_does_not_cover_is_refused() -> None:
    roles = Roles(code="code", parents=(("town", "t"),))
    reference = of_places("a,x", "b,", roles=roles, header="code,t")
    found = references.fitting(reference, ["a", "b"], column="home")
    assert references.worthwhile(found) == []
    with pytest.raises(
        DomainError, match="partition 'town' does not cover 1 of 2 declared values"
    ):
        references.partitions_of(
            found, ["a", "b"], column="home", source=SOURCE, names=["town"]
        )
    with pytest.raises(
        DomainError, match="no partition 'county' of these codes; choose among town"
    ):
        references.partitions_of(
            found, ["a", "b"], column="home", source=SOURCE, names=["county"]
        )


def test_an_earlier_release_gives_weights_and_a_place_that_it_lacks_needs_one() -> None:
    points = {"column": "home", "at": {"a": [41.0, -71.0], "b": [42.0, -71.0]}}
    density = of_places(
        "a,5", "z,1", roles=Roles(code="code", weight="w", adds=True), header="code,w"
    )
    with pytest.raises(DomainError, match="weight of 1 of 2 places is 0"):
        references.weighted(points, density)
    assert references.weighted(points, density, floor=0.5)["at"] == {
        "a": [41.0, -71.0, 5],
        "b": [42.0, -71.0, 0.5],
    }
    with pytest.raises(
        DomainError, match="2 of 2 declared values are not in the reference table"
    ):
        references.weighted(
            {"column": "home", "at": {"p": [1.0, 1.0], "q": [1.0, 2.0]}}, density
        )


# --- many codes ---------------------------------------------------------------------------------------------
def test_a_column_may_have_more_than_10000_codes_where_all_of_them_have_points() -> None:
    def domain(number: int, *, placed: bool) -> Domain:
        values = [f"{each:05}" for each in range(number)]
        at = {value: [41 + place / 1e5, -71.0] for place, value in enumerate(values)}
        return Domain.from_json(
            {
                "attributes": [
                    {
                        "name": "home",
                        "kind": "categorical",
                        "values": values,
                        "outside": "clamp",
                    }
                ],
                "points": [{"column": "home", "at": at}] if placed else [],
            }
        )

    assert domain(65_537, placed=True).sizes == {"home": 65_537}
    with pytest.raises(
        DomainError, match=r"column 'home': more than 10,000 codes; .*by points"
    ):
        domain(10_001, placed=False)


def test_the_middle_of_all_blocks_is_where_their_state_is() -> None:
    state = crosswalk().coarsened("state")
    assert state.at is not None
    [(latitude, longitude)] = state.at
    assert math.isclose(latitude, 41.73015)
    assert math.isclose(longitude, -71.37515)


# --- the command line ---------------------------------------------------------------------------------------
def test_a_crosswalk_writes_values_points_and_partitions_into_a_description(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "xwalk.csv.gz").write_bytes(gzip.compress(XWALK.encode()))
    described = tmp_path / "domain.json"
    towns = {
        "name": "work",
        "kind": "categorical",
        "values": ["4400105140", "4400318640"],
        "other": True,
    }
    described.write_text(
        json.dumps({"attributes": [{"name": "home", "kind": "categorical"}, towns]})
    )
    for column in ("home", "work", "home"):  # twice is once
        said = [
            "gazetteer",
            str(tmp_path / "xwalk.csv.gz"),
            "--column",
            column,
            "--domain",
            str(described),
        ]
        assert cli.main(said) == 0, capsys.readouterr().err
    domain = read_domain(described)
    assert domain.sizes == {"home": 5, "work": 3}
    assert [(each.column, each.name) for each in domain.partitions] == [
        ("home", name) for name in NAMES
    ]
    assert dict(domain.partitions[0].source)["name"] == "xwalk.csv.gz"
    assert len(domain.points) == 2
    assert cli.main([*said[:3], "age", *said[4:]]) == 2
    assert "column 'age': no such column" in capsys.readouterr().err


def test_a_place_whose_columns_are_swapped_says_so() -> None:
    north = {"name": "lat", "kind": "number", "low": 41.1, "high": 42.1}
    east = {"name": "lon", "kind": "number", "low": -125, "high": -71}
    document = {
        "attributes": [north, east],
        "places": [{"name": "home", "latitude": "lon", "longitude": "lat"}],
    }
    with pytest.raises(
        DomainError,
        match="column 'lon': the latitude and the longitude of a place seem to be swapped",
    ):
        Domain.from_json(document)
    minutes = {**north, "low": 4106.0, "high": 4206.0}
    right = [{"name": "home", "latitude": "lat", "longitude": "lon"}]
    with pytest.raises(DomainError, match="column 'lat': a latitude beyond 90 degrees"):
        Domain.from_json({"attributes": [minutes, east], "places": right})
    Domain.from_json({"attributes": [north, east], "places": right})


def test_a_reference_fills_one_bare_column_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference, domain = tmp_path / "xwalk.csv", tmp_path / "domain.json"
    reference.write_text(XWALK)
    bare = [{"name": name, "kind": "categorical"} for name in ("home", "work")]
    domain.write_text(
        json.dumps({"attributes": bare, "repeats": {"column": "jobs", "most": 5_000}})
    )
    said = ["gazetteer", str(reference), "--domain", str(domain), "--column"]
    assert cli.main([*said, "home"]) == 0
    assert "no value is listed yet of work" in capsys.readouterr().err
    assert cli.main([*said, "work"]) == 0
    assert capsys.readouterr().err == ""
    found = read_domain(domain)
    assert [each.column for each in found.points] == ["home", "work"]
    assert found.repeats is not None


@pytest.mark.parametrize(
    ("attributes", "rule"),
    [
        ([{"name": "work", "kind": "categorical"}], "no such column"),
        (
            [{"name": "home", "kind": "integer", "low": 0, "high": 9}],
            "not described as categories",
        ),
    ],
)
def test_a_column_that_no_reference_speaks_of_is_told_apart(
    attributes: list[Any], rule: str
) -> None:
    with pytest.raises(DomainError, match=rule):
        references.described(
            {"attributes": attributes}, crosswalk(), column="home", source=SOURCE
        )
