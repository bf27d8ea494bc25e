"""Its command."""

import argparse
import sys
from typing import Any

from synth_engine.commands.arguments import add_command


def add(words: Any) -> None:
    add_command(words, "greet", greet, about="greet whoever asks")


def greet(_options: argparse.Namespace) -> None:
    sys.stdout.write("Good morning\n")
