"""Errors that are the same have one signature, those that are not have two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.conversation.signatures import MAX_SIGNATURE_LENGTH, command_kind, signature_of

GO = """Exit code 1
[test] $ go test ./...
?   \tentire.io/cli\t[no test files]
ok  \tentire.io/cli/x\t2.1s
--- FAIL: TestParse (0.21s)
    parse_test.go:25: expected 1
FAIL
[test] ERROR task failed
"""
VALIDATION = """<tool_use_error>InputValidationError: Read failed due to the following issue:
The required parameter `file_path` is missing</tool_use_error>"""
TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/ada/shop/run.py", line 3, in <module>
    raise KeyError("x")
RuntimeError: no error here
During handling of the above exception, another exception occurred:
KeyError: 'price'
"""


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("<tool_use_error>File does not exist.</tool_use_error>", "File does not exist."),
        ("File does not exist. Did you mean .golangci.yaml?", "File does not exist. Did you mean <name>?"),
        (
            "<tool_use_error>String to replace not found in file.\nString: return fmt.Errorf(err)</tool_use_error>",
            "String to replace not found in file.",
        ),
        (
            VALIDATION,
            "InputValidationError: Read failed due to the following issue: The required parameter <name> is missing",
        ),
        ("Exit code 1", "Exit code 1"),
        ("Error: Exit code 127", "Exit code 127"),
        ("Exit code 1\n---\n---", "Exit code 1"),
        ("Exit code 127\n(eval):1: command not found: golangci-lint", "(eval):<n>: command not found: golangci-lint"),
        (TRACEBACK, "KeyError: <name>"),
        (GO, "--- FAIL: <name> (<n>s)"),
        ("Exit code 1\n[lint] $ lint ./...\n[lint] ERROR task failed", "ERROR task failed"),
        (
            "Exit code 1\n[lint:go] cmd/cli/a.go:25:4: G104: Errors unhandled (gosec)\n\tf()\n\t^",
            "<path>:<n>:<n>: G104: Errors unhandled (gosec)",
        ),
        (
            "src/app.ts(12,5): error TS2304: Cannot find name 'price'.",
            "<path>(<n>): error TS2304: Cannot find name <name>.",
        ),
        (
            "fatal: couldn't find remote ref main, and it isn't local",
            "fatal: couldn't find remote ref main, and it isn't local",
        ),
        (
            "Exit code 1\nFrom github.com:ada/shop\nerror: could not apply 1dd3eff... a fix",
            "error: could not apply <hex>... a fix",
        ),
        ("gh: Not Found (HTTP 404)", "gh: Not Found (HTTP 404)"),
        (
            "Exit code 1\nAuto-merging a/b.go\nCONFLICT (content): Merge conflict in a/b.go",
            "CONFLICT (content): Merge conflict in <path>",
        ),
        ("Agent type 'x' not found. Available agents: Bash, Plan", "Agent type <name> not found. Available agents: …"),
        ("\x1b[31merror\x1b[0m: 2026-01-05T10:00:00Z at C:\\shop\\x.py", "error: <time> at <path>"),
        ("", ""),
    ],
)
def test_the_signature_of(text: str, signature: str) -> None:
    assert signature_of(text) == signature


def test_errors_that_differ_in_paths_and_numbers_only_are_the_same() -> None:
    first = signature_of("Exit code 2\nls: /home/ada/a: No such file or directory (12)")
    assert first == signature_of("Exit code 1\nls: ./b/c.txt: No such file or directory (7)")
    assert first != signature_of("Exit code 1\nls: ./b/c.txt: Permission denied (7)")


def test_the_end_of_a_long_output_is_looked_at() -> None:
    assert signature_of("entire fine\n" * 10_000 + "error: it broke\n") == "error: it broke"


@given(st.text())
def test_any_text_has_a_short_signature_of_one_line(text: str) -> None:
    signature = signature_of(text)
    assert len(signature) <= MAX_SIGNATURE_LENGTH or signature.lower().startswith("exit code")
    assert "\n" not in signature
    assert isinstance(command_kind(text), str)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("git commit -m 'x'", "git commit"),
        ("cd /home/ada/shop && git -C . status | head", "git status"),
        ("CI=1 timeout 60 npm run test -- --watch", "npm run test"),
        ("/usr/bin/python3 -m pytest tests", "python3 pytest"),
        ("ls -la", "ls"),
        ("echo", "echo"),
        ("", ""),
    ],
)
def test_the_kind_of_a_command(command: str, kind: str) -> None:
    assert command_kind(command) == kind
