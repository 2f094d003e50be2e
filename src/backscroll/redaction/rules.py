"""The table of rules: patterns of secrets, and the checks that tell secrets beside telling words from code.

Patterns are RE2, run over UTF-8 bytes. A pattern with a group hides what the group matches, one without hides all of
the match. No pattern may match the byte 0xff, which marks hidden secrets: that is why classes that take anything name
it.
"""

from typing import Final

from backscroll.redaction.checks import (
    is_account,
    is_argument,
    is_bearer,
    is_chosen,
    is_cookie,
    is_drawn,
    is_mail,
    is_password,
    is_phrase,
    is_said,
    is_stated,
    is_url_password,
    is_words,
)
from backscroll.redaction.commands import (
    ACCOUNT_COMMANDS,
    ACCOUNT_HINTS,
    KEY_COMMANDS,
    PASSWORD_COMMANDS,
    SET_CHOSEN,
    SET_DRAWN,
)
from backscroll.redaction.keys import HEAD, HEADLESS, PUTTY, PUTTY_SUM, UNFRAMED, key_end
from backscroll.redaction.names import (
    BETWEEN,
    CHOSEN,
    DRAWN,
    PHRASE,
    PUBLIC,
    QUOTE,
    SPACE,
    SPELLED_BETWEEN,
    SPELLED_QUOTE,
    START,
    Q,
)
from backscroll.redaction.rule import Rule
from backscroll.redaction.tokens import TOKENS

__all__ = ["RULES", "VERSION", "Rule"]

VERSION: Final = 3
"""Incremented whenever the rules change what they mask."""


def _beside(name: str, shortest: int, also: str = "") -> tuple[str, ...]:
    """Return the patterns of a value next to its name, in any language: the most certain first."""
    name = rf"(?i:{name})"
    plain = rf"([^\s\"'`\\,;<>\[\](){{}}\xff{also}]{{{shortest},}})"
    inside = rf"[^\s\"<>\xff]{{{shortest},400}}?"
    return (
        rf"{name}{SPELLED_BETWEEN}({inside}){SPELLED_QUOTE}",
        rf"{name}{BETWEEN}{plain}",
        # XML: an element, a resource with a name, a setting with its value, a property list.
        rf"<(?:[\w.-]+:)?[\w.-]*{name}(?:\s[^<>\xff]*)?>\s*([^\s<>\xff]{{{shortest},}})\s*<\\*/",
        rf"&lt;(?:[\w.-]+:)?[\w.-]*{name}&gt;\s*([^\s<>&\xff]{{{shortest},}})\s*&lt;",
        rf"{START}(?i:name|key)\s*=\s*{QUOTE}[\w.:-]*{name}{QUOTE}[^<>\xff]{{0,80}}>\s*([^\s<>\xff]{{{shortest},}})\s*<\\*/",
        rf"{START}(?i:name|key)\s*=\s*{QUOTE}[\w.:-]*{name}{QUOTE}[^<>\xff]{{0,80}}?\bvalue\s*=\s*{QUOTE}({inside}){QUOTE}",
        rf"(?i:<key>)[\w.-]*{name}(?i:</key>){SPACE}*<string>\s*([^\s<>\xff]{{{shortest},}})\s*<\\*/",
        # A list of settings, as in YAML or JSON, with the name of each on the line before.
        rf"{START}(?i:name|key){Q}\s*:\s*{Q}[\w.:-]*{name}{Q},?{SPACE}+(?:-\s+)?{Q}value{Q}\s*:\s*{Q}{plain}",
    )


def _in_quotes(name: str) -> tuple[str, ...]:
    """Return the patterns of a value between quotation marks: it may have anything in it, spaces too."""
    begin = rf"(?i:{name})(?:{Q}[\])]?\s*(?::=|=>|={{1,3}}|:)|{Q}\s*,)\s*"
    return tuple(
        rf"{begin}{mark}([^\n\\{stop}\xff]{{8,300}}){mark}"
        for mark, stop in ((r"\"", r"\""), ("'", "'"), (r"\\+\"", r"\""), (r"\\+'", "'"), ("&quot;", r"&\""))
    )


# ruff: noqa: ISC004 - long patterns continue in the next line
RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "private-key", "a private key: PEM, OpenSSH or PGP, also escaped or cut off", (HEAD,), ("private key",),
        extend=key_end,
    ),
    Rule(
        "private-key", "a private key without its first lines, or in PuTTY's format",
        (HEADLESS, UNFRAMED, PUTTY, PUTTY_SUM),
        ("private key", "b3blbnnzac1rzxktdje", "aqiba", "private-lines", "private-mac"),
    ),
    *TOKENS,
    Rule(
        "url-password", "a password in a URL, such as a database URL",
        (
            r"(?i:[a-z][a-z0-9+.-]*://)[^\s/:@\"'<>\\\xff]*:([^\s/\"'<>\xff]{4,})@",
            r"(?i:[a-z][a-z0-9+.-]*://)[^\s/:@\"'<>\\?#\xff]*:([^\s@\"'<>\\?#\xff]{4,})@[A-Za-z0-9\[]",
        ),
        check=is_url_password,
    ),
    Rule(
        "connection-password", "a password in a connection string",
        (
            r"(?i:(?:server|host|data source|user id|uid|database|initial catalog)\s*=[^;\n\"'\xff]*;"
            r"(?:[^;\n\"'\xff]*;)*?\s*(?:password|pwd)\s*=\s*)\{?([^;\s\"'\\{}\xff]+)",
        ),
        ("password", "pwd"), check=is_password,
    ),
    Rule(
        "authorization", "the value of an authorization header",
        (
            rf"(?i:authorization){QUOTE}?\s*(?:=>|[:=,])\s*{QUOTE}?"
            r"(?i:(?:bearer|basic|token|digest|apikey|api-key|key|negotiate|bot)\s+)?"
            r"([^\s\"'`\\,;<>\[\](){}$\xff]{8,})",
        ),
        ("authorization",), check=is_bearer, unless=PUBLIC, wraps=True,
    ),
    Rule(
        "bearer-token", "a bearer token",
        (r"(?i:bearer)\s+([A-Za-z0-9._~+/=-]{16,})",), ("bearer",), check=is_bearer, wraps=True,
    ),
    Rule(
        "basic-account", "a user name and password in base64, for basic authentication or a registry",
        (
            r"(?i:basic)\s+([A-Za-z0-9+/]{8,}={0,2})",
            rf"(?:{START}|_)auth{QUOTE}?\s*[:=]\s*{QUOTE}?([A-Za-z0-9+/]{{8,}}={{0,2}})",
        ),
        check=is_account,
    ),
    Rule(
        "command-password", "a name and password for a command", ACCOUNT_COMMANDS, ACCOUNT_HINTS, check=is_password
    ),
    Rule("command-password", "a password passed to a command", PASSWORD_COMMANDS, check=is_argument),
    Rule(
        "command-key", "a key or token passed to a command",
        KEY_COMMANDS, check=is_drawn, unless=PUBLIC, wraps=True,
    ),
    Rule(
        "cookie", "the cookies of a request or response",
        (
            rf"(?i:cookie){QUOTE}?\s*(?:[:=,]|\s)\s*{QUOTE}?"
            r"([A-Za-z0-9_.$-]+=[^\s;,\"'\\<>(){}\[\]\xff]{8,}(?:;\s*[^\s;,\"'\\<>\xff]+)*)",
            rf"{START}curl\s[^\n\xff]*?\s(?:-b|--cookie)[ =]?{Q}"
            r"([A-Za-z0-9_.$-]+=[^\s;,\"'\\<>(){}\[\]\xff]{8,}(?:;\s*[^\s;,\"'\\<>\xff]+)*)",
        ),
        ("cookie", r"curl\s"), check=is_cookie,
    ),
    Rule(
        "password-file", "a password in .pgpass or .netrc",
        (
            r"(?m:^|[^A-Za-z0-9_.:/@*-]|\\n)(?:[A-Za-z0-9*][A-Za-z0-9.*-]*:(?:54[0-9]{2}|6432)"
            r"|(?:\*|localhost|[A-Za-z0-9-]+\.[A-Za-z0-9.-]+):\*):[^\s:\xff]+:[^\s:\xff]+:"
            r"([^\s:\"'`\\\xff]{4,}(?:\\:[^\s:\"'`\\\xff]*)*)(?:[\s\"'`\\]|$)",
            rf"{START}machine{SPACE}+\S+{SPACE}+login{SPACE}+\S+{SPACE}+password{SPACE}+([^\s\"'\\\xff]{{4,}})",
        ),
        (r":54\d\d:", ":6432:", r":\*:", r"machine\s", r"machine\\"), check=is_stated,
    ),
    Rule(
        "sql-password", "a password in an SQL statement",
        (
            rf"{START}(?i:password|identified(?:\s+with\s+\S+)?\s+by)\s*[\s(]\s*(?:[NE]?\\*')([^'\n\\\xff]{{4,}})'",
            rf"{START}(?i:identified(?:\s+with\s+\S+)?\s+by)\s*\\*\"([^\"\n\\\xff]{{4,}})",
        ),
        ("password", "identified"), check=is_chosen,
    ),
    Rule(
        "assigned-secret", "a quoted value assigned to a passphrase",
        _in_quotes(PHRASE), check=is_words,
    ),
    Rule(
        "assigned-secret", "a quoted value assigned to a password",
        _in_quotes(CHOSEN), check=is_phrase,
    ),
    Rule(
        "assigned-secret", "a value assigned to a password",
        (*_beside(CHOSEN, 6), SET_CHOSEN), check=is_chosen,
    ),
    Rule(
        "assigned-secret", "a value assigned to a secret, token or key",
        (*_beside(DRAWN, 12, "&"), SET_DRAWN), check=is_drawn, unless=PUBLIC, wraps=True,
    ),
    Rule(
        "said-password", "a password or token stated in a sentence",
        (
            rf"{START}(?i:(?:password|passphrase|passwd|pwd|passcode)(?:\s+for\s+\S+)?\s+(?:is|was|to|will be)[: ]\s*)"
            r"[\"'`]?([^\s\"'`\\,;<>\[\](){}\xff]{7,}[^\s\"'`\\,;.<>\[\](){}\xff])",
            rf"{START}(?i:(?:token|secret|api key|apikey|access key)\s+(?:is|was)[: ]\s*)"
            r"[\"'`]?([^\s\"'`\\,;<>\[\](){}\xff]{12,})",
        ),
        check=is_said, wraps=True,
    ),
    Rule(
        "email", "an e-mail address",
        (r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",), ("@",),
        check=is_mail, optional=True,
    ),
)  # fmt: skip
"""All rules, in the order in which they are tried: the most certain first."""
