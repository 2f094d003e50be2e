"""What the user has set: options, environment and settings file, put together into one frozen value."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backscroll.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """Where to read from and where our own data lives."""

    homes: tuple[Path, ...]
    """Homes that were named; empty for the one that Claude Code itself would use."""
    library: Path
    file: Path
    """The settings file, whether it exists or not."""


def load_settings(
    homes: Sequence[Path] = (), library: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Options first, then the environment, then the settings file, then the default."""
    file = settings_file(environment)
    written = _read(file)
    from_environment = environment.get("BACKSCROLL_LIBRARY")
    return Settings(
        homes=tuple(homes) or tuple(_path(file, "homes", name) for name in _list(file, written, "homes")),
        library=library
        or (Path(from_environment) if from_environment else None)
        or (_path(file, "library", written["library"]) if "library" in written else None)
        or _default_library(),
        file=file,
    )


def settings_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the settings file is looked for."""
    if named := environment.get("BACKSCROLL_SETTINGS"):
        return Path(named)
    import platformdirs

    return platformdirs.user_config_path("backscroll", appauthor=False) / "settings.toml"


def _default_library() -> Path:
    import platformdirs

    return platformdirs.user_data_path("backscroll", appauthor=False)


def _read(file: Path) -> dict[str, Any]:
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read the settings file {file}: {error}", "mend the file, or remove it") from error
    if unknown := sorted(written.keys() - {"homes", "library"}):
        raise UsageError(f"unknown setting in {file}: {', '.join(unknown)}", "the settings are: homes, library")
    return written


def _list(file: Path, written: dict[str, Any], name: str) -> list[object]:
    value = written.get(name, [])
    if not isinstance(value, list):
        raise UsageError(f"{name} in {file} must be a list of paths", f'write {name} = ["/path/to/.claude"]')
    return value


def _path(file: Path, name: str, value: object) -> Path:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} in {file} must be a path in quotes", f"mend {name} in that file")
    return Path(value).expanduser()
