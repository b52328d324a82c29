"""Display names of joints and methods."""

import re

from ropes.methods.recipes.variants import BESIDE_ROPES


def joint_label(joint: str) -> str:
    """The Panda's joints as the paper's tables head them ("joint 4"); any other arm's by their own names."""
    panda = re.fullmatch(r"panda_joint(\d)", joint)
    return f"joint {panda[1]}" if panda else joint


def method_label(method: str) -> str:
    """What stands beside method ropes in Table 1 by its objective; every other method by its own name."""
    return BESIDE_ROPES.get(method, method)


def capitalised(words: str) -> str:
    """With a capital first; names within stay as they are."""
    return words[0].upper() + words[1:]
