"""Everything a user can do. Doors call this package, and below it only the values of `conversation` and `records`.

Import a name from the module that defines it; the names here are values from below that the doors handle.
"""

from backscroll.files.homes import Home
from backscroll.store.reader import Facets, Hit, StatementResult, StoredChat

__all__ = ["Facets", "Hit", "Home", "StatementResult", "StoredChat"]
