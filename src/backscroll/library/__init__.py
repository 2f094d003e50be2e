"""What one can do. The only way in: a door calls this, and nothing below it."""

from backscroll.library.doctor import Health, HomeHealth, Sighting, examine
from backscroll.library.homes import open_homes
from backscroll.library.inspect import Inspection, Trouble, find_transcripts, inspect

__all__ = [
    "Health",
    "HomeHealth",
    "Inspection",
    "Sighting",
    "Trouble",
    "examine",
    "find_transcripts",
    "inspect",
    "open_homes",
]
