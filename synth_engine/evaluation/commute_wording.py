"""Texts on what the figures of commutes show and how to read them: for a release alone, and for
a comparison with the real table."""

from __future__ import annotations

from synth_engine.evaluation.wording import Explanation

PRICE_OF_RELEASE = (
    "Nothing. It is made from the released model alone, which was paid for once: looking again, at any "
    "place and distance, tells nothing more about anybody and costs no privacy budget."
)
PRICE_OF_COMPARISON = (
    "No privacy budget, because none of it may leave this page: it is computed on real data and is not "
    "differentially private. Every opening is written to the audit log. Choosing between releases or "
    "settings afterwards is a use of the data that no budget covers, and receipts of later releases say so."
)

_POINTS = (
    "Distances are great circles between public points; with latitude and longitude, between the centres of "
    "public cells."
)
_SQUARES = "Squares of a grid are named by a letter from north to south and a number from west to east."
_ENDS = "The colours end at 1 of 100 records."
_NOISE = (
    "Noise and prior of the release are in every number, so small ones may be nothing but that."
)

_READINGS: dict[str, Explanation] = {
    "all": {
        "title": "How far all records go",
        "what": f"The share of records that go at most so far. {_POINTS}",
        "how": "The dashed orange curve is synthetic. Nine of ten implicates, tables of the same size "
        "drawn anew from this synthetic one, lie within the shaded band: differences smaller than it mean "
        "nothing. The band does not hold what noise and prior of the release did to the curve itself.",
    },
    "near": {
        "title": "How far those go who start near a place",
        "what": f"The same of records that start within the chosen distance of the chosen point. {_POINTS}",
        "how": "Read it like the curve of all. Fewer records make the band wider, and what the release "
        "added weighs more.",
    },
    "averages": {
        "title": "Average commute by destination",
        "what": "Each mark is a destination: across, how many records end there (the public total where "
        "the description has one), up, how far they came on average.",
        "how": "Destinations with few records scatter more, in any table. With public totals, what a "
        "prior added pulls small destinations to long averages, and the largest stay where they are. "
        f"{_NOISE}",
    },
    "short": {
        "title": "Average of short commutes by destination",
        "what": "The same of those commutes alone that are not longer than the chosen distance.",
        "how": "A few far ones move an average of all commutes much; here they are left out, so this one "
        "says how well the neighbourhood of a destination is kept.",
    },
    "errors": {
        "title": "Error of the average commute, by number of workers",
        "what": "By how much the synthetic average commute of a destination is off, by how many real "
        "records end there: of all commutes, and of short ones.",
        "how": "A box holds the middle half of the destinations, its line is the median, and the whiskers "
        "leave out a twentieth at each end. Lower is better; small destinations are nearly always worse. "
        "The number weighted by workers counts every record once, so the large ones rule it.",
    },
    "flows": {
        "title": "From where to where",
        "what": "The largest flows between parts of the area. A line is as wide as the root of the records "
        "along it; a circle stands for those who stay in their part.",
        "how": "A line bends to the left of those who go along it, so that both directions are seen. "
        "Point at the middle of a line for its number. Outlines are public: hulls of public points, or "
        f"the box of a place. {_SQUARES} {_NOISE}",
    },
    "density": {
        "title": "Where records end",
        "what": "Destinations of all records, by squares of a fine public grid.",
        "how": "The darker a square, the more records end there; each step of the scale is ten times as "
        f"many. {_NOISE}",
    },
    "density-near": {
        "title": "Where those go who start near a place",
        "what": "Destinations of the records that start within the chosen distance of the chosen point.",
        "how": "Read it like the map of all destinations. Few squares far away can be what the release "
        "added.",
    },
    "density-few": {
        "title": "Where records end",
        "what": "Destinations of all records. The area of a circle is the number of records that end there.",
        "how": "Large circles are drawn first, so that small ones are seen; point at one for its number. "
        f"{_NOISE}",
    },
    "density-near-few": {
        "title": "Where those go who start near a place",
        "what": "Destinations of the records that start within the chosen distance of the chosen point, as "
        "areas of circles.",
        "how": f"Read it like the map of all destinations. {_NOISE}",
    },
    "flows-difference": {
        "title": "From where to where",
        "what": "The flows between parts of the area whose shares of all records differ most. A line is as "
        "wide as the root of the difference; a circle stands for those who stay in their part.",
        "how": "Red flows have more synthetic records than real ones, blue ones fewer, grey ones no more "
        f"than chance. Point at the middle of a line for its number. {_SQUARES} {_NOISE}",
    },
    "density-difference": {
        "title": "Where records end",
        "what": "The share of records that end in each square, synthetic minus real.",
        "how": "Red squares have more synthetic records than real ones, blue ones fewer, grey has no more "
        f"than chance. {_ENDS} {_NOISE}",
    },
    "density-near-difference": {
        "title": "Where those go who start near a place",
        "what": "Of the records that start within the chosen distance of the chosen point, the share that "
        "ends in each square, synthetic minus real.",
        "how": "Red squares have more synthetic records than real ones, blue ones fewer, grey has no more "
        f"than chance. {_ENDS} {_NOISE}",
    },
    "density-few-difference": {
        "title": "Where records end",
        "what": "The share of records that end at each destination, synthetic minus real, as colour. The "
        "area of a circle is the larger of both numbers of records.",
        "how": "Red has more synthetic records than real ones, blue fewer, grey no more than chance. "
        f"{_ENDS} {_NOISE}",
    },
    "density-near-few-difference": {
        "title": "Where those go who start near a place",
        "what": "The same of the records that start within the chosen distance of the chosen point.",
        "how": "Red has more synthetic records than real ones, blue fewer, grey no more than chance. "
        f"{_ENDS} {_NOISE}",
    },
    "matrix": {
        "title": "Origins and destinations",
        "what": "Records from each part of the area (up) to each (across). The parts are public, and "
        "chosen above.",
        "how": "The darker a cell, the more records. The table has the largest ones first, the CSV file "
        f"all. {_SQUARES} {_NOISE}",
    },
}

_BESIDE_REAL = {
    "all": "Solid blue is real; the dotted line marks the largest gap, the distance of Kolmogorov and "
    "Smirnov.",
    "near": "Solid blue is real; the dotted line marks the largest gap.",
    "averages": "Solid blue is real, open orange is synthetic.",
    "short": "Solid blue is real, open orange is synthetic.",
    "flows": "Real flows are slate blue, synthetic ones orange, at one scale.",
    "density": "Real records are slate blue, synthetic ones orange, at one scale.",
    "density-near": "Real records are slate blue, synthetic ones orange, at one scale.",
    "density-few": "Real records are slate blue, synthetic ones orange, at one scale.",
    "density-near-few": "Real records are slate blue, synthetic ones orange, at one scale.",
    "matrix": (
        "Here the shares are subtracted: red has more synthetic records than real ones, blue fewer, grey no "
        "more than chance. "
    )
    + _ENDS,
}


def reading(key: str, *, beside_real: bool) -> Explanation:
    """The texts of one figure."""
    text = _READINGS[key]
    # The page of a release has no real curve, so its texts must not explain one.
    if not beside_real or key not in _BESIDE_REAL:
        return text
    return {**text, "how": f"{_BESIDE_REAL[key]} {text['how']}"}
