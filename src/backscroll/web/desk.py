"""What the server holds: libraries to read from, one for each request that runs at the same time."""

from collections.abc import Sequence

from backscroll.library import Browser, Home
from backscroll.library.pool import Pool
from backscroll.settings import Settings


class Desk(Pool):
    """Where requests come to be answered."""

    def __init__(self, settings: Settings, homes: Sequence[Home]) -> None:
        super().__init__(settings, homes)
        self.browser = Browser()
