"""Everything a user can do. Doors call this package, and nothing below it but the values of `conversation`.

Import a name from the module that defines it; the names here are values from below that the doors handle.
"""

from backscroll.files.homes import Home
from backscroll.records.record import Record
from backscroll.records.sidecars import LiveSession
from backscroll.records.tools import AGENT_TOOLS
from backscroll.store.reader import Hit, StoredChat, Table

__all__ = ["AGENT_TOOLS", "Hit", "Home", "LiveSession", "Record", "StoredChat", "Table"]
