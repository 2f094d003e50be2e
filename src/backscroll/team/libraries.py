"""The libraries of the server: one for each person, made of what their devices sent.

A person's library is what their own machine would have: an archive, an index, marks. Nothing of another person is in
it, so nothing of another person can be found in it, counted in it, or taken for a copy. What others shared is read in
their libraries, limited to the shared chats, with the marks of the reader.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from backscroll.files.source_key import owner_of
from backscroll.library import Home
from backscroll.library.library import Library
from backscroll.library.local import index_folder, local_library
from backscroll.library.pool import LibraryOpener
from backscroll.settings import Settings

PEOPLE: Final = "people"


def settings_of(data: Path, handle: str) -> Settings:
    """Where the library of a person lies."""
    folder = data / PEOPLE / handle
    return Settings(homes=(), library=folder, file=folder / "settings.toml", terminal=(), require_key="never")


def settings_of_device(data: Path, device: str) -> Settings:
    """Where the library lies that a device sends to."""
    return settings_of(data, owner_of(device))


def own_library(data: Path, handle: str) -> Library:
    """The library of a person, to be brought up to date."""
    return local_library(settings_of(data, handle), [])


def open_own(settings: Settings, homes: Sequence[Home]) -> Library:
    """The library of a person, to be read."""
    return local_library(settings, homes, keeps=False)


def opener_of_shared(data: Path, owner: str, chats: Sequence[str]) -> LibraryOpener:
    """Opens what an owner shared, for a reader whose settings are given."""
    theirs = settings_of(data, owner)

    def opened(settings: Settings, homes: Sequence[Home]) -> Library:
        return local_library(settings, homes, index_folder(theirs), keeps=False, only_chats=chats)

    return opened


def settings_of_reader(data: Path, reader: str, owner: str) -> Settings:
    """The settings under which a reader sees what an owner shared: marks of the reader, texts of the owner."""
    from dataclasses import replace

    return replace(settings_of(data, reader), archive=data / PEOPLE / owner / "archive")
