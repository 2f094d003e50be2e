"""The library of the real sessions, for all tests that only read it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings


@pytest.fixture(scope="session")
def corpus_settings(corpus: Path, corpus_built: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("corpus")
    shutil.copytree(corpus_built, folder / "library")
    return Settings(homes=(corpus / "home",), library=folder / "library", file=folder / "settings.toml")


@pytest.fixture
def corpus_library(corpus: Path, corpus_settings: Settings) -> Iterator[Library]:
    with local_library(corpus_settings, [Home(corpus / "home")]) as library:
        yield library
