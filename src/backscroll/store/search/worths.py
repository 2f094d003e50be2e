"""The worth of each node of a query for the rank of a passage: a number, with any engine.

An engine adds up the worths of the nodes that match a passage, and multiplies the sum by the factor of the passage,
which depends on its role and length. Both follow from the data alone: the rarity of a word is counted over existing
passages, never over those that an engine still remembers. All of these numbers are multiples of 1/1024, so that their
sums are exact, in every engine and in any order. Pure.
"""

import math
from collections.abc import Callable
from typing import Final

from backscroll.store.search import nodes

STEPS: Final = 1024
"""Worths and factors are multiples of 1/STEPS: engines count with seven digits."""
DIGITS: Final = 3
"""The decimal places of a score."""


def weighed(node: nodes.Node, rarity: Callable[[str], float], factor: float = 1.0) -> nodes.Node:
    """Return the query with the worth of each part; a part without a worth only decides whether a passage matches."""
    match node:
        case nodes.HasWord(word):
            return nodes.Worth(node, exact(factor * rarity(word)))
        case nodes.HasPhrase(words):
            return nodes.Worth(node, exact(factor * sum(map(rarity, words))))
        case nodes.HasBeginning():
            return nodes.Worth(node, exact(factor))
        case nodes.Weighed(part, more):
            return weighed(part, rarity, factor * more)
        case nodes.Worth(part, score):
            return nodes.Worth(part, exact(factor * score))
        case nodes.SomeOf(parts):
            return nodes.SomeOf(tuple(weighed(part, rarity, factor) for part in parts))
        case nodes.EachOf(parts, but_not, also):
            counted = tuple(weighed(part, rarity, factor) for part in parts)
            return nodes.EachOf(counted, but_not, tuple(weighed(part, rarity, factor) for part in also))
        case _:
            return node


def exact(number: float) -> float:
    """Return the nearest number that adds up exactly."""
    return round(number * STEPS) / STEPS


def rarity_of(frequency: int, total: int) -> float:
    """Return the weight of a word that is in `frequency` of all passages: the rarer, the higher."""
    return math.log(1 + (max(0, total - frequency) + 0.5) / (frequency + 0.5))
