"""The user's settings: options, environment and settings file combined into one frozen value."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from backscroll.disk import read_own
from backscroll.errors import UsageError

RequireKey = Literal["auto", "always", "never"]
ForgetAnswer = Literal["ask", "agree"]
LARGEST_SETTINGS: Final = 1 << 20


@dataclass(frozen=True)
class Settings:
    """The folders to read from, the place of our own data, and the user's choices."""

    homes: tuple[Path, ...]
    """The chosen homes; empty means the home that Claude Code itself would use."""
    library: Path
    file: Path
    """The settings file, whether it exists or not."""
    caches: tuple[Path, ...] = ()
    """Further cache folders with the logs of the first clients."""
    apps: tuple[Path, ...] | None = ()
    """The data folders of Claude's desktop app whose homes are read; None if the user has not decided yet."""
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
    """Model → rates, in USD per million tokens; always with `input` and `output`."""
    require_key: RequireKey = "auto"
    """Whether the viewer asks for a key on loopback too; `auto`: if other people can log in to this machine."""
    terminal: tuple[str, ...] | None = None
    """The command line that starts a terminal for the viewer; empty: never, None: the terminal of the desktop."""
    pager: str | None = None
    """The command of the pager, empty for none; None: the value of $PAGER, else less."""
    archive: Path | None = None
    """The archive, if it is not in the library: on a team server, a reader of a shared chat uses its owner's."""
    forget: ForgetAnswer = "ask"
    """Whether a chat that was forgotten on another machine is forgotten here at once, or only if the user agrees."""
    is_demo: bool = False
    """Whether these settings point to the sample conversations instead of the user's own."""


def load_settings(
    homes: Sequence[Path] = (), library: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Combine the settings: options first, then the environment, then the settings file, then the default."""
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
        caches=tuple(_path(file, "caches", name) for name in _list(file, written, "caches")),
        apps=_apps(file, written) if not homes else (),
        prices=_prices(file, written.get("prices", {})),
        require_key=_require_key(file, written.get("web", {})),
        terminal=_terminal(file, written.get("web", {})),
        pager=_pager(file, written.get("pager")),
        forget=_forget(file, written.get("sync", {})),
    )


def settings_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the settings file."""
    if named := environment.get("BACKSCROLL_SETTINGS"):
        return Path(named)
    import platformdirs

    return platformdirs.user_config_path("backscroll", appauthor=False) / "settings.toml"


def _default_library() -> Path:
    import platformdirs

    return platformdirs.user_data_path("backscroll", appauthor=False)


def _read(file: Path) -> dict[str, Any]:
    try:
        text = read_own(file, LARGEST_SETTINGS).decode()
        import tomllib  # after reading: most users have no such file, and should not wait for the import

        written = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # not readable, not UTF-8, or not TOML
        raise UsageError(f"cannot read the settings file {file}: {error}", "correct the file, or remove it") from error
    if unknown := sorted(written.keys() - set(NAMES)):
        raise UsageError(f"unknown setting in {file}: {', '.join(unknown)}", f"the settings are: {', '.join(NAMES)}")
    return written


def _list(file: Path, written: dict[str, Any], name: str) -> list[object]:
    value = written.get(name, [])
    if not isinstance(value, list):
        raise UsageError(f"{name} in {file} must be a list of paths", f'write {name} = ["/path/to/folder"]')
    return value


def _path(file: Path, name: str, value: object) -> Path:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} in {file} must be a path in quotes", f"correct {name} in that file")
    return Path(value).expanduser()


def _apps(file: Path, written: dict[str, Any]) -> tuple[Path, ...] | None:
    return tuple(_path(file, "apps", name) for name in _list(file, written, "apps")) if "apps" in written else None


def _require_key(file: Path, value: object) -> RequireKey:
    choices = get_args(RequireKey)
    hint = f"write [web], and below it require_key = {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    if not isinstance(value, dict):
        raise UsageError(f"web in {file} must be a table", hint)
    if unknown := sorted(value.keys() - {"require_key", "terminal"}):
        raise UsageError(f"unknown setting in [web] in {file}: {', '.join(unknown)}", hint)
    chosen = value.get("require_key", "auto")
    for choice in choices:
        if chosen == choice:
            return cast(RequireKey, choice)
    raise UsageError(f"require_key in {file} must be one of {', '.join(choices)}", hint)


def _terminal(file: Path, value: Mapping[str, object]) -> tuple[str, ...] | None:
    words = value.get("terminal")
    if words is None:
        return None
    if isinstance(words, str):
        import shlex

        try:
            return tuple(shlex.split(words))
        except ValueError:  # a quotation that does not end
            words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise UsageError(
            f"terminal in {file} must be a command", 'write [web], and below it terminal = "gnome-terminal --"'
        )
    return tuple(words)


def _forget(file: Path, value: object) -> ForgetAnswer:
    hint = 'write [sync], and below it forget = "ask" or "agree"'
    if not isinstance(value, dict):
        raise UsageError(f"sync in {file} must be a table", hint)
    if unknown := sorted(value.keys() - {"forget"}):
        raise UsageError(f"unknown setting in [sync] in {file}: {', '.join(unknown)}", hint)
    chosen = value.get("forget", "ask")
    for choice in get_args(ForgetAnswer):
        if chosen == choice:
            return cast(ForgetAnswer, choice)
    raise UsageError(f"forget in {file} must be ask or agree", hint)


def _pager(file: Path, value: object) -> str | None:
    if value is False:
        return ""
    if value is not None and not isinstance(value, str):
        raise UsageError(f"pager in {file} must be a command or false", 'write pager = "less -S", or pager = false')
    return value


def _prices(file: Path, value: object) -> dict[str, dict[str, float]]:
    if not isinstance(value, dict):
        raise UsageError(f"prices in {file} must be tables", PRICES_HINT)
    return {model: _rates(file, model, rates) for model, rates in value.items()}


def _rates(file: Path, model: str, value: object) -> dict[str, float]:
    where = f"the price of {model} in {file}"
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a table", PRICES_HINT)
    if unknown := sorted(value.keys() - set(RATES)):
        raise UsageError(f"unknown rate in {where}: {', '.join(unknown)}", f"the rates are: {', '.join(RATES)}")
    if missing := [name for name in RATES[:2] if name not in value]:
        raise UsageError(f"{where} lacks: {', '.join(missing)}", PRICES_HINT)
    for name, rate in value.items():
        if not _is_rate(rate):
            raise UsageError(
                f"{name} in {where} must be USD per million tokens, with at most three decimals",
                f"write {name} = 1.25",
            )
    return value


def _is_rate(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return False
    # Three decimals are whole nanodollars for a token, so that all sums stay exact.
    return 0 <= value < HIGHEST_RATE and round(value, 3) == value


NAMES: Final = ("apps", "homes", "caches", "library", "pager", "prices", "sync", "web")
RATES: Final = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
HIGHEST_RATE: Final = 1_000_000
PRICES_HINT: Final = 'write [prices."claude-opus-4-5"], and below it input = 5.0 and output = 25.0'
