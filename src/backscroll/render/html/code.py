"""Syntax highlighting. Unknown, long or unusual code stays plain: highlighting must never cause a wait."""

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from html import escape
from typing import Any, Final, NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class, get_all_lexers
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, Token

from backscroll.render.html.element import NOTHING, Html, el, join, trusted
from backscroll.render.html.time_limit import TimeLimitReached, current_time_limit
from backscroll.render.terminal import clean

Line = list[tuple[str, str]]
"""A line as pieces: the CSS class (see code.css; may be empty) and the text of each."""


def code(text: str, language: str = "", file: str = "", first_line: int | None = None) -> Html:
    """Return a block of code. The language or the file name selects the lexer; `first_line` adds line numbers."""
    lines, note = highlight_with_note(text, language, file)
    caption = el("p", note, class_="code-note muted") if note else NOTHING
    if first_line is None:
        return join([el("pre", el("code", join(map(line_html, lines), "\n")), class_="code", tabindex="0"), caption])
    # The style sheet draws the line numbers, so they are not copied.
    numbered = (
        el("span", line_html(line), class_="line", data_line=number) for number, line in enumerate(lines, first_line)
    )
    block = el("pre", el("code", join(numbered, "\n")), class_="code numbered", tabindex="0")
    return join([block, caption])


def highlight(text: str, language: str = "", file: str = "") -> Html:
    """Highlight code, without the block around it."""
    return join(map(line_html, highlight_lines(text, language, file)), "\n")


def highlight_lines(text: str, language: str = "", file: str = "") -> list[Line]:
    """Highlight the lines of a text. A newline at the end does not start another line."""
    return highlight_with_note(text, language, file)[0]


def highlight_with_note(text: str, language: str = "", file: str = "") -> tuple[list[Line], str]:
    """Return the highlighted lines, and a note for the reader if highlighting took too long."""
    text = normalize_text(text)
    longest = MAX_HIGHLIGHTED if current_time_limit() else LONGEST_UNTIMED
    lexer = get_lexer(language, file) if len(text) <= longest else None
    if lexer is None or is_pathological(text, lexer.name):
        return plain_lines(text), ""
    try:
        lines = (tokenize_short if len(text) <= SHORT_CODE else tokenize_long)(text, lexer)
    except TimeLimitReached:
        return plain_lines(text), PAGE_TOO_SLOW
    return (lines, "") if lines is not None else (plain_lines(text), BLOCK_TOO_SLOW)


def line_html(line: Line) -> Html:
    """Render a line of highlighted pieces."""
    # Without `el`, because there are very many lines; the classes are our own.
    return trusted(
        "".join(
            f'<span class="{kind}">{escape(piece)}</span>' if kind else escape(piece)  #
            for kind, piece in line
        )
    )


def normalize_text(text: str) -> str:
    """Return the text without control characters, and with `\\n` as the only line break."""
    text = text.replace("\r\n", "\n")
    return clean(text.replace("\r", "\n")).removesuffix("\n")


def is_pathological(text: str, language: str) -> bool:
    """Whether a text has very long lines, large gaps, endless words or unclosed comments.

    For such texts, some lexers take quadratic or cubic time. The check is stricter for the `DELICATE` ones.
    """
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE or VOID.search(text):
        return True
    if any(text.count(start) > text.count(end) + 20 for start, end in PAIRS):
        return True
    if language not in DELICATE:
        return False
    return len(text) > MAX_HIGHLIGHTED / 2 or longest > 300 or any(len(run.split()) > 40 for run in SIGNS.split(text))


def parse_language(name: str) -> str:
    """Return the language in the info string of a fence; empty if it cannot be shown."""
    word = name.strip().split(maxsplit=1)[0].strip("{}.").lower() if name.strip() else ""
    return word if len(word) <= 30 and word.isprintable() else ""


def tokenize(text: str, lexer: Lexer) -> list[Line] | None:
    """Run the lexer, and merge neighbouring tokens of one class; None if it takes too long."""
    current = current_time_limit()
    if current is None:
        return tokenize_until(text, lexer, lambda: False)
    with current.block() as is_over:
        return tokenize_until(text, lexer, is_over)


def tokenize_until(text: str, lexer: Lexer, is_over: Callable[[], bool]) -> list[Line] | None:
    """Like `tokenize`, with None as soon as `is_over` returns true."""
    lines: list[Line] = [[]]
    errors = 0
    for count, (_, token, value) in enumerate(lexer.get_tokens_unprocessed(text)):
        if count % 32 == 0 and is_over():
            return None
        errors += token is Token.Error
        if errors > MAX_ERRORS:  # the text is in another language, and each error may have cost a scan of all of it
            return plain_lines(text)
        kind = token_class(token)
        for number, piece in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if not piece:
                continue
            line = lines[-1]
            if line and (line[-1][0] == kind or piece.isspace()):
                line[-1] = (line[-1][0], line[-1][1] + piece)
            else:
                line.append((kind, piece))
    # Some lexers drop or move text that they do not expect.
    is_whole = "\n".join("".join(piece for _, piece in line) for line in lines) == text
    return lines if is_whole else plain_lines(text)


def plain_lines(text: str) -> list[Line]:
    """Return the lines without highlighting."""
    return [[("", line)] for line in text.split("\n")]


# Cached, so that code is highlighted once when a page is reloaded or its chat grows. Two caches bound the size (about
# a million characters each) as well as the number of entries.
tokenize_short: Final = lru_cache(1_000)(tokenize)
tokenize_long: Final = lru_cache(24)(tokenize)


@cache
def token_class(token: Any) -> str:  # noqa: ANN401 (the tokens of pygments have no type)
    """Return the CSS class of a token type, or of its nearest parent that has one."""
    while token is not Token:
        if token in TOKEN_CLASSES:
            return TOKEN_CLASSES[token]
        token = token.parent
    return ""


def get_lexer(language: str, file: str) -> Lexer | None:
    """Return the lexer of a language or file, if it is one of `LANGUAGES`."""
    names = language_names()
    basename = file.replace("\\", "/").rsplit("/", 1)[-1].lower()
    suffix = basename.rpartition(".")[2]
    name = (
        names.aliases.get(parse_language(language))
        or names.files.get(basename)
        or (names.suffixes.get(suffix) if suffix != basename else None)
    )
    return load_lexer(name) if name else None


@cache
def load_lexer(name: str) -> Lexer | None:
    """Load the lexer of that name. Lexers have no state, so they are cached."""
    lexer_class = find_lexer_class(name)
    return lexer_class(stripnl=False, ensurenl=False) if lexer_class else None


class LanguageNames(NamedTuple):
    """The names of lexers, by alias, file name and suffix."""

    aliases: dict[str, str]
    files: dict[str, str]
    suffixes: dict[str, str]


@cache
def language_names() -> LanguageNames:
    """Collect the names of `LANGUAGES`. Plugins are left out: pygments would search the disk for them."""
    names = LanguageNames({}, {}, {})
    for name, aliases, patterns, _ in get_all_lexers(plugins=False):
        if name not in LANGUAGES:
            continue
        for alias in (name, *aliases):
            names.aliases.setdefault(alias.lower(), name)
        for pattern in patterns:
            if pattern.startswith("*.") and not set("*?[") & set(pattern[2:]):
                names.suffixes.setdefault(pattern[2:].lower(), name)
            elif not set("*?[") & set(pattern):
                names.files.setdefault(pattern.lower(), name)
    names.suffixes.update(SUFFIXES)
    names.aliases.update(SUFFIXES)
    return names


def parse_names(names: Iterable[str]) -> frozenset[str]:
    """Split several comma-separated lines into names."""
    return frozenset(name.strip() for line in names for name in line.split(",") if name.strip())


MAX_HIGHLIGHTED: Final = 40_000
LONGEST_UNTIMED: Final = 4_000
"""Most characters highlighted without a clock: short enough for lexers that take quadratic time."""
MAX_ERRORS: Final = 200
BLOCK_TOO_SLOW: Final = "Shown as plain text: highlighting this block takes too long."
PAGE_TOO_SLOW: Final = "Shown as plain text: highlighting stopped after the blocks above took too long."
LONGEST_LINE: Final = 1_000
SHORT_CODE: Final = 1_000
SIGNS: Final = re.compile(r"[^\w\s$]+")
PAIRS: Final = (("/*", "*/"), ("<!--", "-->"), ("[", "]"))
VOID: Final = re.compile(r"\n(?:[ \t]*\n){20}|[ \t]{500}")

TOKEN_CLASSES: Final = {
    Comment: "c-comment",
    Comment.Preproc: "c-keyword",
    Keyword: "c-keyword",
    Keyword.Constant: "c-number",
    Keyword.Type: "c-type",
    Literal: "c-string",
    String: "c-string",
    String.Doc: "c-comment",
    String.Interpol: "",
    Number: "c-number",
    Name: "",
    Name.Attribute: "c-type",
    Name.Builtin: "c-type",
    Name.Class: "c-name",
    Name.Constant: "c-number",
    Name.Decorator: "c-type",
    Name.Exception: "c-type",
    Name.Function: "c-name",
    Name.Namespace: "",
    Name.Tag: "c-name",
    Name.Variable: "",
    Operator.Word: "c-keyword",
    Generic.Heading: "c-name",
    Generic.Subheading: "c-name",
    Generic.Deleted: "c-removed",
    Generic.Inserted: "c-added",
    Generic.Emph: "c-emphasis",
    Generic.Strong: "c-strong",
    Generic.Prompt: "c-keyword",
    Generic.Output: "c-comment",
    Generic.Traceback: "",
    Generic.Error: "c-removed",
}
LANGUAGES: Final = parse_names(
    (
        "Python, Python Traceback, Cython, JavaScript, TypeScript, TSX, JSX, JSON",
        "JSON5, HTML, XML, CSS, SCSS, Sass, LessCss, Vue, Java, Kotlin, Scala, Clojure, C, C++, F#",
        "Objective-C, Swift, Go, Rust, Zig, Nimrod, D, Dart, Haskell, OCaml, Elm, Elixir, Erlang, Ruby, Perl",
        "PHP, Lua, S, Julia, Matlab, Bash, Bash Session, Fish, PowerShell, Batchfile, Makefile, CMake",
        "Docker, Nix, YAML, TOML, INI, Properties, Diff, SQL, PostgreSQL SQL dialect, GraphQL",
        "Protocol Buffer, HTTP, Markdown, TeX, Solidity, GLSL, WebAssembly, LLVM, NASM, GAS, EmacsLisp",
        "Common Lisp, Scheme, Racket, VimL, AppleScript, Nginx configuration file, Django/Jinja",
        "Handlebars, Prolog, VB.net",
    )
)
DELICATE: Final = parse_names(
    ("C, C++, Objective-C, Java, Kotlin, Makefile, Markdown, Matlab, LessCss, HTML, INI, Haskell, Handlebars",)
)
# Includes languages whose own lexer takes cubic time, or scans the whole text before the first token, so that no clock
# can stop it; they use the lexer of a related language.
SUFFIXES: Final = {
    "c#": "Java",
    "cs": "Java",
    "csharp": "Java",
    "gradle": "Java",
    "groovy": "Java",
    "h": "C",
    "hpp": "C++",
    "html+django": "HTML",
    "html+jinja": "HTML",
    "htmldjango": "HTML",
    "inc": "PHP",
    "js": "JavaScript",
    "jsonl": "JSON",
    "jsx": "JSX",
    "m": "Objective-C",
    "mdc": "Markdown",
    "mts": "TypeScript",
    "cts": "TypeScript",
    "pl": "Perl",
    "plist": "XML",
    "pycon": "Python",
    "python-console": "Python",
    "r": "S",
    "s": "GAS",
    "sql": "SQL",
    "svg": "XML",
    "svelte": "Vue",
    "jsonc": "JSON5",
}
