"""The library of the real sessions: read and indexed once, for all tests that only read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings


@pytest.fixture(scope="session")
def corpus_settings(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("corpus")
    settings = Settings(homes=(corpus / "home",), library=folder / "library", file=folder / "settings.toml")
    with local_library(settings, [Home(corpus / "home")]) as library:
        library.update()
    return settings


@pytest.fixture
def corpus_library(corpus: Path, corpus_settings: Settings) -> Iterator[Library]:
    with local_library(corpus_settings, [Home(corpus / "home")]) as library:
        yield library
