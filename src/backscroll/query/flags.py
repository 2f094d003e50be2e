"""Guess whether a `-` in a query excludes a word, or begins an option of a command to search for, as in `rm -rf`.

A dash excludes, unless a word cannot be meant: one letter, a number, or a short option after a command. Where it does
not exclude, the answer says so.
"""

import re
from typing import Final

NAME: Final = re.compile(r"-(?P<name>[A-Za-z0-9][\w.,=+-]*)(?=[\s)]|\Z)", re.ASCII)
WORD_BEFORE: Final = re.compile(r"(?:^|\s)(?!(?:OR|AND|NOT)\s)[\w.+-]{2,}\s+\Z")
MAX_LOOKBACK: Final = 200
"""Characters to look back for a word."""
MAX_SHORT_FLAGS: Final = 3
"""The most letters of an option that may have vowels, such as `-la`."""
VOWELS: Final = re.compile("[aeiou]", re.IGNORECASE)
COMMANDS: Final = frozenset(
    "apt awk aws bash brew cargo cat chmod chown cmake cp curl cut date df diff dig docker du echo env export gcloud "
    "git grep head helm journalctl kill kubectl ln ls lsof make mkdir mount mv mysql nc netstat node npm npx patch "
    "ping pip pkill pnpm printf ps psql pytest python python3 redis-cli rg rm rsync scp sed sh sort sqlite3 ssh sudo "
    "systemctl tail tar tee touch tr uniq unzip uv wc wget xargs yarn zip zsh".split()
)
"""Commands with short options, such as `-rf`."""
LONG_OPTION_COMMANDS: Final = frozenset("clang ffmpeg find g++ gcc go java javac openssl terraform".split())
"""Commands with long options after one dash, such as `-name`."""


def flag_at(text: str, start: int) -> str | None:
    """Return the name of the option that begins with the dash at `start`; None if the dash excludes the next word."""
    option = NAME.match(text, start)
    if option is None:
        return None
    name = option["name"]
    if name[0].isdigit():
        return name
    before = {word.lstrip("+(") for word in text[:start].lower().split()}
    if len(name) == 1:
        is_after_word = WORD_BEFORE.search(text, max(0, start - MAX_LOOKBACK), start)
        return name if is_after_word or before & COMMANDS else None
    is_short = len(name) <= MAX_SHORT_FLAGS or VOWELS.search(name) is None
    return name if before & LONG_OPTION_COMMANDS or (is_short and before & COMMANDS) else None
