"""The parameters of methods that grow trees, in plain words."""

from __future__ import annotations

from synth_engine.plans.parameters import ParameterRule, ParameterSchema

MAX_DEPTH = 64
STOP = 4
"""Noise scales up to which a count is not handed on."""

THRESHOLD: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 10**9,
    "default": 0,
    "title": "Threshold",
    "description": "A node is opened from so many noisy records on. 0: as many as let noise alone open "
    "less than one child of an empty node; less than that is allowed, with a warning.",
}
GROWING: ParameterRule = {
    "type": "number",
    "minimum": 0.05,
    "maximum": 0.9,
    "default": 0.5,
    "title": "Share for growing",
    "description": "Part of epsilon by which nodes are opened. 0.02 goes to the number of records, the "
    "rest to the counts where the tree ends.",
}
CLEAN: ParameterRule = {
    "type": "number",
    "minimum": 0,
    "maximum": 20,
    "default": 2,
    "title": "Clean-up",
    "description": "Counts under so many noise scales become zero; the others are scaled to the noisy "
    "number of records.",
}
PARTIAL: ParameterRule = {
    "type": "string",
    "enum": ["completed", "whole", "marked"],
    "default": "completed",
    "title": "Beginnings of texts",
    "x-labels": {
        "completed": "Completed by public texts",
        "whole": "As if they were whole",
        "marked": "With the mark … behind them",
    },
    "description": "How a text is written of which only the beginning was found. Public texts are the "
    "completions of the description; where it has none, or none that begins so, the beginning is taken as "
    "whole.",
}
DEPTH_OF_BUDGET: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 1000,
    "default": 0,
    "title": "Depth of the tree",
    "description": "Every depth costs the same. 0: 8 for points, 20 for texts, or as deep as the "
    "description goes; with classes as deep as epsilon and the number of records bear.",
}
DEPTH_OF_CELLS: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 64,
    "default": 0,
    "title": "Depth of the tree",
    "description": "How often cells are cut at most. 0: as epsilon and the number of records bear.",
}
HALVING: ParameterRule = {
    "type": "string",
    "enum": ["all", "one"],
    "default": "all",
    "title": "Halving",
    "x-labels": {
        "all": "Along all coordinates at once",
        "one": "Along one coordinate after another",
    },
    "description": "How a cell is cut: homes and places of work along all four at once give 16 parts, "
    "along one 2.",
}
PLACED: ParameterRule = {
    "type": "string",
    "enum": ["density", "points", "anywhere"],
    "default": "density",
    "title": "Records within a cell",
    "x-labels": {
        "density": "On public points, by their weights",
        "points": "On public points, each as likely as another",
        "anywhere": "Anywhere in the cell",
    },
    "description": "Where the description has public points. Columns of codes are always on them.",
}
TOGETHER: ParameterRule = {
    "type": "string",
    "enum": ["attached", "product"],
    "default": "attached",
    "title": "Further columns",
    "x-labels": {
        "attached": "By areas of the tree",
        "product": "In the tree itself, all columns together",
    },
    "description": "Columns beside places or texts are counted by parts of the tree, which serves many of "
    "them; or they divide the tree as places and signs do, class by class of their partitions, which keeps "
    "two or three columns far closer together.",
}
DEPTH_OF_COUNTS: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": MAX_DEPTH,
    "default": 0,
    "title": "Depth of the tree",
    "description": "Every depth costs the same part of epsilon. 0: as epsilon and the number of records "
    "bear.",
}
STOP_SCALES: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 1000,
    "default": STOP,
    "title": "Where to stop",
    "description": "Counts of so many noise scales or fewer are not divided further. 0: down to single "
    "records.",
}
DISCOUNT: ParameterRule = {
    "type": "string",
    "enum": ["chance", "evenly", "fullest"],
    "default": "chance",
    "title": "Set aside",
    "x-labels": {
        "chance": "Records by chance, whichever they are",
        "evenly": "The same number from every place, or text",
        "fullest": "From the places, or texts, that have most",
    },
    "description": "Which records an opened node sets aside before its children are looked at. All three "
    "cost the same: by chance larger children pay more, evenly rare places and texts go first, from the "
    "fullest frequent ones pay for the rest.",
}
DISCOUNT_RECORDS: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 10**9,
    "default": 0,
    "title": "Records set aside",
    "description": "How many records an opened node sets aside. More leave fewer for deeper nodes and make "
    "each decision cheaper, so that its noise is smaller. 0: the least that the proof allows; less than "
    "that is refused.",
}
PARTS: ParameterRule = {
    "type": "integer",
    "minimum": 1,
    "maximum": 100,
    "default": 1,
    "title": "Parts of a record",
    "description": "Each record counts as so many parts, which are set aside one by one, so that less than "
    "a record can be. It is paid for as that many, so that the noise grows with it.",
}


def schema(**rules: ParameterRule) -> ParameterSchema:
    """The JSON schema of these parameters, in this order."""
    return {"type": "object", "properties": rules, "additionalProperties": False}


def published(**own: ParameterRule) -> ParameterSchema:
    """The JSON schema of a published rule: its own parameters before those that all share."""
    return schema(**own, threshold=THRESHOLD, growing=GROWING, clean=CLEAN, partial=PARTIAL)
