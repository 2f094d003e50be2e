"""Our hooks in a settings.json: nothing else of it changes, and what goes in comes out without a trace.

The oracle knows nothing of how the text is changed: it compares bytes, and what another parser makes of them.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.library.setup.hooks import EVENTS, MARKER, add_hooks, hook_command, remove_hooks

FAILURES = Path("/home/ada é/library/hooks.failed")
COMMAND = hook_command(["/opt/backscroll", "hook", "keep", "--home", "/home/ada é/.claude"], FAILURES)
OLD = hook_command(["/old/backscroll", "keep"], FAILURES)
OTHER = {"matcher": "startup", "hooks": [{"type": "command", "command": "echo hello"}]}
SETTINGS = {"model": "opus", "hooks": {"SessionStart": [OTHER], "PreToolUse": []}, "env": {"A": "é"}}


def text_of(settings: object, indent: int | str = 2) -> str:
    return json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"


def commands_in(text: str, event: str) -> list[str]:
    return [hook["command"] for group in json.loads(text)["hooks"][event] for hook in group["hooks"]]


# Any JSON text: any spaces, repeated keys, numbers and strings that no parser writes like this.

Draw = Callable[[st.SearchStrategy[Any]], Any]
SPACE = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", " \n\n "])
SCALARS = st.sampled_from(
    [
        "1e3",
        "1.0",
        "-0",
        "12345678901234567890123",
        "1E-400",
        "1e999",
        "true",
        "null",
        '""',
        '"\\ud83d"',
        '"\\/"',
        '"// no comment"',
        '"{ \\"hooks\\": [,] }"',
        '"\\\\"',
    ]
) | st.text(max_size=5).map(json.dumps)
KEYS = st.sampled_from(['"a"', '"\\u0061"', '"hooks"', '"SessionEnd"', '"command"', '""'])
COMMENTS = st.sampled_from(["", "", " // why", "\n  // one\n  ", "/* , ] } */", " /* \n */ "])


@st.composite
def spaces(draw: Draw, comments: bool) -> str:
    space = str(draw(SPACE))
    comment = str(draw(COMMENTS)) if comments else ""
    return space + comment + ("\n" if "//" in comment else "")


@st.composite
def array_of(draw: Draw, item: st.SearchStrategy[str], comments: bool) -> str:
    return _children(draw, "[]", draw(st.lists(item, max_size=3)), comments)


@st.composite
def object_of(draw: Draw, key: st.SearchStrategy[str], value: st.SearchStrategy[str], comments: bool) -> str:
    gap = spaces(comments)
    pairs = draw(st.lists(st.tuples(key, value), max_size=3))
    return _children(draw, "{}", [f"{key}{draw(gap)}:{draw(gap)}{value}" for key, value in pairs], comments)


def _children(draw: Draw, brackets: str, children: list[str], comments: bool) -> str:
    gap = spaces(comments)
    inside = ",".join(f"{draw(gap)}{child}{draw(gap)}" for child in children)
    trailing = "," if comments and children and draw(st.booleans()) else ""
    return f"{brackets[0]}{inside}{trailing}{draw(gap)}{brackets[1]}"


@cache
def value(comments: bool) -> st.SearchStrategy[str]:
    return st.recursive(
        SCALARS, lambda inner: array_of(inner, comments) | object_of(KEYS, inner, comments), max_leaves=6
    )


@cache
def hook(comments: bool) -> st.SearchStrategy[str]:
    known = st.sampled_from(['"type"', '"command"', '"timeout"'])
    return object_of(known, SCALARS, comments) | value(comments)


@cache
def events(comments: bool) -> st.SearchStrategy[str]:
    hooks = array_of(hook(comments), comments).map(lambda text: f'"hooks":{text}')
    group = hooks.map(lambda text: f"{{{text}}}") | hooks.map(lambda text: f'{{ "matcher": "x",\n{text}}}')
    event = st.sampled_from(['"SessionStart"', '"SessionEnd"', '"Stop"'])
    return object_of(event, array_of(group | value(comments), comments), comments)


@st.composite
def settings_texts(draw: Draw, comments: bool = False) -> str:
    """The text of a settings.json whose `hooks`, if there are any, have the form that Claude Code knows."""
    keys = KEYS.filter(lambda key: key != '"hooks"')
    pairs = draw(st.lists(st.tuples(keys, value(comments)), max_size=3))
    pairs += [('"hooks"', draw(events(comments))) for _ in range(draw(st.integers(0, 2)))]
    gap = spaces(comments)
    children = [f"{key}{draw(gap)}:{draw(gap)}{value}" for key, value in draw(st.permutations(pairs))]
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return f"{mark}{draw(gap)}{_children(draw, '{}', children, comments)}{draw(gap)}"


def pairs_of(text: str) -> Any:  # noqa: ANN401 - whatever JSON says
    """What the standard parser makes of a text: objects as pairs, numbers as they stand there."""
    as_it_stands: Any = {"parse_int": str, "parse_float": str, "parse_constant": str}
    return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=tuple, **as_it_stands)


OUR_GROUP = (("hooks", [(("type", "command"), ("command", COMMAND), ("timeout", "10"))]),)


def expected(before: Any) -> Any:  # noqa: ANN401
    """The pairs of a text with our hooks, by the rules that users read: the last of repeated keys counts."""
    pairs = list(before)
    places = [index for index, (key, _) in enumerate(pairs) if key == "hooks"]
    if not places:
        return (*pairs, ("hooks", tuple((event, [OUR_GROUP]) for event in EVENTS)))
    events = list(pairs[places[-1]][1])
    for event in EVENTS:
        there = [index for index, (key, _) in enumerate(events) if key == event]
        if there:
            events[there[-1]] = (event, [*events[there[-1]][1], OUR_GROUP])
        else:
            events.append((event, [OUR_GROUP]))
    pairs[places[-1]] = ("hooks", tuple(events))
    return tuple(pairs)


def has_all_of(after: str, before: str) -> bool:
    """Whether a text is another one and something more: not a character is gone, or elsewhere."""
    rest = iter(after)
    return all(character in rest for character in before)


@given(settings_texts())
@example("{}")
@example("{ }\n")
@example('{"hooks":{"SessionEnd":[ ],"SessionStart":[]}}')
@example('{\r\n\t"a": 1e3\r\n}\r\n')
def test_nothing_else_of_any_json_text_changes(text: str) -> None:
    installed = add_hooks(text, COMMAND)
    assert has_all_of(installed, text)
    assert pairs_of(installed) == expected(pairs_of(text))
    assert add_hooks(installed, COMMAND) == installed
    assert remove_hooks(installed) == text


@given(settings_texts(comments=True))
@example('{"hooks":{"SessionStart":[] // why\n}}')
@example('{"hooks":{ // why\n"Stop":[] // why\n}}')
@example('{"hooks":{ // why\n"Stop":["https://a"]}}')
@example('{"hooks":{ // why\n"Stop":[]/* } */}/* } */\n}')
def test_comments_and_trailing_commas_stay(text: str) -> None:
    installed = add_hooks(text, COMMAND)
    assert has_all_of(installed, text)
    assert installed.count(MARKER) == 2
    assert add_hooks(installed, COMMAND) == installed
    assert remove_hooks(installed) == text


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ('{"hooks": {"Stop": [ // why\n%s]}}', '{"hooks": {"Stop": [ // why\n]}}'),
        (
            '{"hooks": {"Stop": [\n"a", // why\n%s, // this\n"b"]}}',
            '{"hooks": {"Stop": [\n"a", // why\n// this\n"b"]}}',
        ),
        ('{"hooks": {"Stop": ["a" // why\n, %s]}}', '{"hooks": {"Stop": ["a" // why\n]}}'),
        ('{"hooks": {"Stop": ["a", // why\n %s]}}', '{"hooks": {"Stop": ["a" // why\n ]}}'),
        ('{"hooks": {"Stop": [ "a", %s, ]}}', '{"hooks": {"Stop": [ "a", ]}}'),
        ('{"hooks": {"Stop": ["a", // why\n%s,\n"b"]}}', '{"hooks": {"Stop": ["a", // why\n"b"]}}'),
    ],
)
def test_a_hook_that_somebody_moved_takes_no_comment_with_it(text: str, without: str) -> None:
    ours = {"hooks": [{"type": "command", "command": COMMAND}]}
    assert remove_hooks(text % json.dumps(ours)) == without


@given(settings_texts(), settings_texts(comments=True))
def test_a_hook_from_another_place_is_replaced_and_comes_out_as_well(strict: str, loose: str) -> None:
    for text in (strict, loose):
        installed = add_hooks(text, OLD)
        again = add_hooks(installed, COMMAND)
        assert "/old/" not in again
        assert again == installed.replace(json_of(OLD), json_of(COMMAND))
        assert remove_hooks(again) == text


def json_of(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@given(settings_texts())
def test_without_hooks_of_ours_nothing_is_removed(text: str) -> None:
    assert remove_hooks(text) == text


@pytest.mark.parametrize("text", ["", "\n", " \r\n ", "\ufeff", "\ufeff\n"])
def test_a_blank_file_is_blank_again(text: str) -> None:
    installed = add_hooks(text, COMMAND)
    assert set(json.loads(installed.removeprefix("\ufeff"))["hooks"]) == set(EVENTS)
    assert remove_hooks(installed) == text


def test_a_file_that_was_made_for_the_hooks_goes_with_them() -> None:
    installed = add_hooks(None, COMMAND)
    assert remove_hooks(installed) is None
    assert installed == text_of(json.loads(installed))


PRETTY = """{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": { "allow": ["Bash(npm run lint)"], "deny": [] },
    "cleanupPeriodDays": 1e3,
    "hooks": {
        "PreToolUse": [ { "matcher": "Bash", "hooks": [ { "type": "command", "command": "./check.sh" } ] } ]
    },
    "version": 1.0, "version": 12345678901234567890
}
"""


def test_what_is_added_looks_like_what_is_there() -> None:
    group = """[
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": %s,
                        "timeout": 10
                    }
                ]
            }
        ]"""
    ours = group % json_of(COMMAND)
    expected = PRETTY.replace(
        "} ] } ]\n    },", f'}} ] }} ],\n        "SessionStart": {ours},\n        "SessionEnd": {ours}\n    }},'
    )
    assert add_hooks(PRETTY, COMMAND) == expected


def test_one_line_stays_one_line() -> None:
    assert add_hooks('{"model":"opus","hooks":{}}', COMMAND).count("\n") == 0
    assert ": " not in add_hooks('{"a":1}', "x # y").replace("x # y", "")


def test_a_comment_stays_with_its_line() -> None:
    installed = add_hooks('{\n  "model": "opus" // the large one\n}\n', COMMAND)
    assert installed.startswith('{\n  "model": "opus", // the large one\n  "hooks": {\n    "SessionStart": [\n')


def test_what_claude_code_wrote_anew_loses_only_our_hooks() -> None:
    """It writes the whole file when a permission is granted."""
    for settings in ({}, SETTINGS, {"hooks": {"Stop": [OTHER]}}):
        installed = json.loads(add_hooks(text_of(settings), COMMAND))
        written = text_of({**installed, "permissions": {"allow": ["Bash"]}})
        left = remove_hooks(written)
        assert left is not None
        assert json.loads(left) == {**settings, "permissions": {"allow": ["Bash"]}}


def test_what_an_earlier_version_wrote_is_known_replaced_and_removed() -> None:
    """It wrote the whole file anew, with the hooks at the end."""
    earlier = (
        "/old/bin/backscroll hook keep --home /home/ada/.claude 2>/dev/null || true # added by backscroll install hooks"
    )
    hook = {"type": "command", "command": earlier, "timeout": 10}
    settings = {"model": "opus", "hooks": {"Stop": [OTHER], **{event: [{"hooks": [hook]}] for event in EVENTS}}}
    again = add_hooks(text_of(settings), COMMAND)
    assert commands_in(again, "SessionStart") == commands_in(again, "SessionEnd") == [COMMAND]
    assert remove_hooks(text_of(settings)) == text_of({"model": "opus", "hooks": {"Stop": [OTHER]}})
    assert remove_hooks(text_of({"hooks": {event: [{"hooks": [hook]}] for event in EVENTS}})) is None


def test_the_hooks_of_others_stay_as_and_where_they_are() -> None:
    installed = add_hooks(text_of(SETTINGS), COMMAND)
    assert commands_in(installed, "SessionStart") == ["echo hello", COMMAND]
    assert commands_in(installed, "SessionEnd") == [COMMAND]
    assert list(json.loads(installed)) == ["model", "hooks", "env"]
    assert "é" in installed


def test_a_hook_of_ours_is_found_wherever_it_was_moved_to() -> None:
    ours = {"type": "command", "command": COMMAND}
    moved = {"hooks": {"Stop": [{"matcher": "x", "hooks": [ours]}], "SessionEnd": [{"hooks": [OTHER, ours]}]}}
    left = remove_hooks(text_of(moved))
    assert left is not None
    assert json.loads(left) == {"hooks": {"SessionEnd": [{"hooks": [OTHER]}]}}


def test_hooks_that_a_user_added_behind_ours_stay() -> None:
    for event in EVENTS:
        settings = json.loads(add_hooks("{}", COMMAND))
        settings["hooks"][event].append(OTHER)
        left = remove_hooks(text_of(settings))
        assert left is not None
        assert json.loads(left) == {"hooks": {event: [OTHER]}}


def test_our_hooks_are_known_by_the_end_of_their_command() -> None:
    assert COMMAND.endswith(MARKER)
    almost = {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": f"{COMMAND} not"}]}]}}
    assert remove_hooks(text_of(almost)) == text_of(almost)
