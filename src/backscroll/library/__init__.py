"""What one can do. The only way in: a door calls this, and nothing below it."""

from backscroll.conversation import Agent, Branch, Chat
from backscroll.library.browse import Filter, Reading, Shelf
from backscroll.library.doctor import Health, HomeHealth, Sighting, examine
from backscroll.library.homes import open_homes
from backscroll.library.inspect import Inspection, Trouble, find_transcripts, inspect

__all__ = [
    "Agent",
    "Branch",
    "Chat",
    "Filter",
    "Health",
    "HomeHealth",
    "Inspection",
    "Reading",
    "Shelf",
    "Sighting",
    "Trouble",
    "examine",
    "find_transcripts",
    "inspect",
    "open_homes",
]
