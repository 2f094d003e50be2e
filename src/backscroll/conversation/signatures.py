"""Signatures of errors: the line that names the error, without the parts that differ from case to case.

Also the kind of a shell command, so that retries of a command are recognised.
"""

import re
from typing import Final

MAX_SIGNATURE_LENGTH: Final = 160
LONGEST_LINE: Final = 1_000
"""Characters of a line that are used for a signature."""
SEARCHED: Final = 10_000
"""Characters that are examined at the beginning of a text, and at its end."""


def signature_of(text: str) -> str:
    """Return the pattern of an error: equal for errors that differ in paths, numbers, names in quotes and ids only."""
    line = _telling_line(text)[:LONGEST_LINE]
    if EXIT_CODE.fullmatch(line):
        return line.removeprefix("Error: ")
    for pattern, stand_in in PARTS:
        line = pattern.sub(stand_in, line)
    return " ".join(line.split())[:MAX_SIGNATURE_LENGTH].rstrip()


def is_telling(signature: str) -> bool:
    """Whether a signature identifies an error: an exit code alone is equal for errors that have nothing in common."""
    return bool(signature) and EXIT_CODE.fullmatch(signature) is None


def command_kind(command: str) -> str:
    """Return the first program of a shell command that does something, with its subcommand, as in `git commit`."""
    for part in BETWEEN.split(command.strip()):
        words = [word for word in part.split() if not ASSIGNMENT.match(word)]
        while words and (words[0] in AROUND or (words[0][:1] in "-0123456789" and len(words) > 1)):
            words = words[1:]
        if not words or words[0] in MOVING:
            continue
        program = words[0].strip("\"'(){}").rsplit("/", 1)[-1]
        below = [word for word in words[1:] if SUBCOMMAND.fullmatch(word)] if program in HAVE_SUBCOMMANDS else []
        return " ".join([program, *below[: 2 if below[:1] in (["run"], ["exec"]) else 1]])
    return command.split(maxsplit=1)[0] if command.strip() else ""


def _telling_line(text: str) -> str:
    """Return the most informative line: the exception of a traceback, or the first line of the best kind."""
    if len(text) > 2 * SEARCHED:
        text = f"{text[:SEARCHED]}\n{text[-SEARCHED:]}"
    text = COLOURS.sub("", text)
    is_of_client = text.lstrip().startswith("<tool_use_error>")
    text = QUOTED_INPUT.sub("", WRAPPING.sub("", text))
    lines = [TASK.sub("", line.strip()) for line in text.splitlines()]
    informative = [line for line in lines if line and not EXIT_CODE.fullmatch(line)]
    if not informative:
        return next((line for line in lines if line), "")
    if is_of_client:
        return _with_next(informative, informative[0])
    if TRACE.search(text):
        raised = [line for line in informative if EXCEPTION.match(line)]
        if raised:
            return raised[-1]
    plain = [line for line in informative if not CHAFF.match(line)]
    for kind in (STRONG, WEAK):
        match = next((line for line in plain if kind.search(line)), None)
        if match:
            return _with_next(informative, match)
    exit_code = next((line for line in lines if EXIT_CODE.fullmatch(line)), None)
    return next(iter(plain), None) or next(filter(SUMMARY.match, informative), None) or exit_code or informative[0]


def _with_next(lines: list[str], line: str) -> str:
    """Return a line, with the next one if it only announces an error."""
    at = lines.index(line)
    return f"{line} {lines[at + 1]}" if line.endswith(("issue:", "issues:")) and at + 1 < len(lines) else line


COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WRAPPING: Final = re.compile(r"</?(?:tool_use_error|error|stderr|stdout|system-reminder)>")
QUOTED_INPUT: Final = re.compile(r"\nString: .*", re.DOTALL)
"""A failed edit repeats the text that it should have replaced."""
TASK: Final = re.compile(r"^\[[\w:.-]+\] +(?=\S)")
"""Task runners put the name of the task before each line."""
EXIT_CODE: Final = re.compile(r"(?:Error: )?[Ee]xit code \d+")
TRACE: Final = re.compile(r"Traceback \(most recent call last\)")
EXCEPTION: Final = re.compile(r"(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Exit|Interrupt|Warning|Failure)\b(?::|$)")
SUMMARY: Final = re.compile(r"(?:ERROR task failed|FAIL(?:ED)?\b|make(?:\[\d+\])?: \*\*\*)")
CHAFF: Final = re.compile(
    r"\$ |# |\?\s+\S+\s+\[no test files\]|ok\s|[-=─_*+.\s]+$|=== |(?:From|To) \S+$|Auto-merging |Rebasing \(|hint: "
    r"|PASS\b|ERROR task failed|FAIL(?:ED)?(?:\s+\S+\s+(?:[\d.]+s|\[build failed\]))?$|make(?:\[\d+\])?: \*\*\*|[✓✔] "
)
"""Lines that accompany errors and say nothing about them."""
STRONG: Final = re.compile(
    r"^(?i:error|fatal|panic|abort(?:ed)?)\b|(?<![\w-])(?i:error)(?:\[\w+\]| \w+)?:|\b[A-Z]\w*(?:Error|Exception)\b"
    r"|\bE(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|CONN\w+|TIMEDOUT|ADDRINUSE|PIPE|MFILE|NOSPC|INVAL)\b"
    r"|\bnpm (?:ERR!|error)"
    r"|^--- FAIL|^FAILED |^CONFLICT |^[✗✘×] |command not found|[Nn]o such file|[Pp]ermission denied|timed out"
    r"|[Nn]ot [Ff]ound\b|does not exist|^\S+\.\w+:\d+:\d+: "
)
WEAK: Final = re.compile(
    r"(?i)^\S+\.\w+:\d+: (?!: #)|\b(?:\w*error|\w*exception|failed|failure|fails?|denied|no such|cannot|can't|could not"
    r"|unable|invalid|unknown|undefined|unexpected|missing|refused|expected|must)\b"
)
PARTS: Final = (
    (re.compile(r"(\b(?:Available|Valid|Known|Supported|Possible|possible|valid) [\w -]{1,30}:).*"), r"\1 …"),
    (re.compile(r"Did you mean \S+?\?(?=\s|$)"), "Did you mean <name>?"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}\b"), "<id>"),
    (re.compile(r"\b(?:toolu|msg|req)_\w+"), "<id>"),
    (re.compile(r"\bID: \S+"), "ID: <id>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]+://\S+"), "<url>"),
    (re.compile(r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    # Quotes that belong together: an apostrophe inside a word is none.
    (
        re.compile(
            r"(?<!\w)(?:\"[^\"\n]{0,200}\"|'[^'\n]{1,200}'|`[^`'\n]{1,200}[`']|“[^”\n]{1,200}”|‘[^’\n]{1,200}’)(?!\w)"
        ),
        "<name>",
    ),
    (re.compile(r"(?<![\w<])(?:[A-Za-z]:(?=[/\\]))?(?:[~.@\w-]*[/\\])+[\w.@+*-]*"), "<path>"),
    (re.compile(r"(?<![\w.<>/-])[\w.-]+\.[A-Za-z]\w{0,5}(?=[:(]\d)"), "<path>"),
    (re.compile(r"(?<=<path>)::[\w:]+(?:\[[^\]]*\])?"), "::<name>"),
    (re.compile(r"(?<=--- FAIL: )\S+"), "<name>"),
    (
        re.compile(
            r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b|\b(?=[0-9a-f]{0,40}\d)(?=[0-9a-f]{0,40}[a-f])[0-9a-f]{7,40}\b"
        ),
        "<hex>",
    ),
    # The numbers of kinds of errors stay: TS2304, G104, HTTP 404.
    (re.compile(r"(?<![A-Z\d])(?<!HTTP )(?<![Cc]ode )\d+(?:[.,]\d+)*"), "<n>"),
)

BETWEEN: Final = re.compile(r"&&|\|\||[;\n|]")
ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
SUBCOMMAND: Final = re.compile(r"[a-z][a-z0-9:_-]*")
AROUND: Final = frozenset(
    {"sudo", "time", "timeout", "env", "nohup", "nice", "exec", "command", "then", "do", "!", "("}
)
"""Words before the actual program."""
MOVING: Final = frozenset({"cd", "pushd", "popd", "set", "export", "source", ".", "echo", "sleep", "true", "#"})
"""Programs that only prepare for the next."""
HAVE_SUBCOMMANDS: Final = frozenset({
    "apt", "apt-get", "aws", "brew", "bun", "bundle", "cargo", "composer", "deno", "docker", "docker-compose", "dotnet",
    "flutter", "gcloud", "gh", "git", "go", "gradle", "helm", "jj", "just", "kubectl", "make", "mise", "mvn", "nix",
    "npm", "npx", "pip", "pip3", "pnpm", "poetry", "python", "python3", "rails", "rake", "rustup", "swift", "systemctl",
    "task", "terraform", "turbo", "uv", "yarn",
})  # fmt: skip
