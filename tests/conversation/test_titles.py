"""The title of a chat: from its agent's name, the user, the model, a summary, its first prompt, or its id."""

import pytest

from backscroll.conversation.titles import cut_at_word, is_title, title_of_prompt
from tests.conversation.support import Drawing, all_chats, one_chat
from tests.support.drawings import session_uuid

PROMPT = "a <- - user: fix the parser\nb <- a assistant: done\n"
NAMES = [
    "agent-name: releaser",
    "custom-title: My parser",
    "ai-title: Fixing a parser",
    "summary b: A parser was fixed",
]


def check(drawing: Drawing, expected: str) -> None:
    """The title of the only chat, or of the one of the session S1."""
    (chat,) = (chat for chat in all_chats(drawing) if chat.id == session_uuid("S1"))
    assert chat.title == expected


@pytest.mark.parametrize("place", range(len(NAMES)))
def test_the_better_title_wins_at_any_position(place: int) -> None:
    expected = NAMES[place].split(": ")[1]
    names = NAMES[place:]
    check(PROMPT + "\n".join(names), expected)
    check("\n".join(reversed(names)) + "\n" + PROMPT, expected)


def test_without_a_name_it_is_the_first_prompt() -> None:
    check(PROMPT + "c <- b user: now the lexer", "fix the parser")


def test_without_a_prompt_it_is_the_beginning_of_the_id() -> None:
    check("a <- - assistant: welcome", session_uuid("S1")[:8])


def test_a_session_without_rows_may_have_a_title() -> None:
    check("custom-title: Nothing happened here", "Nothing happened here")


@pytest.mark.parametrize("kind", ["agent-name", "custom-title", "ai-title"])
def test_the_last_of_repeated_titles_wins(kind: str) -> None:
    check(f"{kind}: First\n{PROMPT}{kind}: Second\n", "Second")


@pytest.mark.parametrize("kind", ["agent-name", "custom-title", "ai-title"])
def test_an_empty_title_does_not_take_the_former_away(kind: str) -> None:
    check(f"{kind}: First\n{PROMPT}{kind}:\n", "First")


def test_the_title_of_the_session_that_was_last_active_wins() -> None:
    check({"S1": f"{PROMPT}custom-title: First", "S2": f"{PROMPT}c <- b user: on\ncustom-title: Second"}, "Second")


def test_a_better_name_of_an_older_session_wins() -> None:
    check({"S1": f"{PROMPT}custom-title: Mine", "S2": f"{PROMPT}c <- b user: on\nai-title: The model's"}, "Mine")


# Summaries, which name a leaf.


def test_a_summary_in_another_file_names_the_conversation_of_its_leaf() -> None:
    check({"S1": PROMPT, "S2": "summary b: A parser was fixed\nx <- - user: hello"}, "A parser was fixed")


def test_a_summary_is_not_the_title_of_its_own_file() -> None:
    check({"S1": "summary x: Hello\na <- - user: fix the parser", "S2": "x <- - user: hello"}, "fix the parser")


def test_a_summary_whose_leaf_is_nowhere_names_nothing() -> None:
    check(f"summary lost: A conversation that is gone\n{PROMPT}", "fix the parser")


def test_of_several_summaries_that_of_the_latest_leaf_wins() -> None:
    check(
        {"S1": f"{PROMPT}c <- b user: on", "S2": "summary c: On and on\nsummary b: A parser\nx <- - user: hello"},
        "On and on",
    )


def test_of_two_summaries_of_one_leaf_the_later_wins() -> None:
    check(f"summary b: First\nsummary b: Second\n{PROMPT}", "Second")


def test_an_empty_summary_names_nothing() -> None:
    check(f'summary b: ""\n{PROMPT}', "fix the parser")


# First prompts.


def test_a_command_is_not_the_title_if_a_prompt_follows() -> None:
    command = "c <- - user: <command-name>/cost</command-name>\n"
    output = "d <- c user: <local-command-stdout>$1</local-command-stdout>\n"
    check(f"{command}{output}a <- d user: fix the parser\nb <- a assistant: done", "fix the parser")


def test_a_bare_command_is_the_title_if_there_is_nothing_else() -> None:
    check("a <- - user: <command-name>/cost</command-name><command-args></command-args>", "/cost")


def test_a_bare_command_in_a_system_row_is_the_title_if_there_is_nothing_else() -> None:
    check("a <- - system local_command: <command-name>/cost</command-name><command-args></command-args>", "/cost")


def test_a_command_that_was_answered_is_the_title() -> None:
    greet = (
        "<command-message>greet</command-message><command-name>/greet</command-name><command-args>Ada</command-args>"
    )
    check(f"a <- - user: {greet}\nb <- a assistant: hello Ada\nc <- b user: thanks", "/greet Ada")


def test_a_shell_command_is_not_the_title_if_a_prompt_follows() -> None:
    check("c <- - user: <bash-input>ls</bash-input>\na <- c user: fix the parser", "fix the parser")


@pytest.mark.parametrize(
    "row",
    [
        "meta: Caveat: The messages below",
        "compact-summary: what was read",
        "user: [Request interrupted by user]",
        "user: <system-reminder>as you know</system-reminder>",
        'user: the build ended {"origin": {"kind": "task-notification"}}',
        "result t1: contents",
    ],
)
def test_only_typed_text_becomes_the_title(row: str) -> None:
    check(f"x <- - {row}\na <- x user: fix the parser", "fix the parser")


def test_a_picture_is_not_the_title_if_a_prompt_follows() -> None:
    image = '[{"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}]'
    check(f"x <- - user: {image}\na <- x user: fix the parser", "fix the parser")


def test_the_first_prompt_is_that_of_the_active_branch() -> None:
    edited = 'a <- - user: fxi the parser {"promptId": "p"}\nb <- - user: fix the parser {"promptId": "p"}'
    check(edited, "fix the parser")


def test_a_fork_of_a_compacted_session_is_not_named_after_the_compaction() -> None:
    compacted = """
        a <- - compact(logical=gone) manual
        b <- a compact-summary: so far
        c <- b user: <command-name>/compact</command-name><command-args></command-args>
        d <- c user: <local-command-stdout>Compacted</local-command-stdout>
        e <- d user: paint the door
    """
    check(compacted, "paint the door")
    check(compacted.split("e <- d")[0], "/compact")


def test_a_long_prompt_is_cut_between_words() -> None:
    chat = one_chat(f"a <- - user: {'sword ' * 200}")
    assert chat.title == ("sword " * 33).strip() + "…"


def test_a_prompt_that_was_cut_says_so_also_without_its_signs() -> None:
    prompt = ("mend the **red** boat " * 20)[:200]
    title = title_of_prompt(prompt, 200)
    assert title == ("mend the red boat " * 20)[: len(title) - 1] + "…"
    assert len(title) < len(prompt)


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Implement the following plan: # Plan: Faster carts ## Context They are slow", "Faster carts"),
        ("Implement the following plan: # Fix: empty repo (#242) ## Context In a repo", "Fix: empty repo (#242)"),
        ("# Notes on fruit", "Notes on fruit"),
        ("fix #12 and # 13", "fix #12 and # 13"),
        ("why is C# slow?", "why is C# slow?"),
    ],
)
def test_a_document_is_called_by_its_heading(prompt: str, title: str) -> None:
    assert title_of_prompt(prompt, 200) == title


@pytest.mark.parametrize("sign", ["# ", "> ", "- "])
def test_a_long_prompt_of_signs_alone_has_no_title(sign: str) -> None:
    assert title_of_prompt(sign * 100, 200).strip(" …#>-") == ""


def test_a_model_that_answers_instead_of_making_a_title_gives_none() -> None:
    talk = "I apologize, but the conversation snippet does not contain enough to make a title."
    check(f"summary b: {talk}\nai-title: {talk}\n{PROMPT}", "fix the parser")
    assert not is_title(talk)
    assert not is_title("Fix the parser. " * 20)
    assert is_title("Fix the parser of the shop")
    assert is_title("Iceberg tables: fix partition pruning")


@pytest.mark.parametrize(
    ("text", "longest", "cut"),
    [("one two three", 20, "one two three"), ("one two three", 10, "one two…"), ("onetwothree", 6, "onetw…")],
)
def test_texts_are_cut_between_words(text: str, longest: int, cut: str) -> None:
    assert cut_at_word(text, longest) == cut


def test_a_title_of_a_sub_agent_is_not_that_of_the_chat() -> None:
    check({"S1": PROMPT, "S1/x1": "custom-title: Agent\nx <- - user: look"}, "fix the parser")


# Slash commands, which the client writes in tags.

COMMAND = "<command-message>review is running…</command-message>\\n<command-name>/review</command-name>"
ARGUMENTS = f"{COMMAND}\\n<command-args>the parser</command-args>"


@pytest.mark.parametrize("kind", ["agent-name", "custom-title", "ai-title", "summary b"])
def test_no_title_shows_a_command_in_its_tags(kind: str) -> None:
    check(f'{PROMPT}{kind}: "{ARGUMENTS}"', "/review the parser")
    check(f'{PROMPT}{kind}: "ran <command-name>/review</command-name> twice"', "ran /review twice")


@pytest.mark.parametrize(("prompt", "expected"), [(COMMAND, "/review"), (ARGUMENTS, "/review the parser")])
def test_a_command_is_a_title_as_it_was_typed(prompt: str, expected: str) -> None:
    check(f'a <- - user: "{prompt}"\nb <- a assistant: done', expected)


def test_a_prompt_about_tags_keeps_them() -> None:
    check("a <- - user: what does <command-name> mean?\nb <- a assistant: a command", "what does <command-name> mean?")
