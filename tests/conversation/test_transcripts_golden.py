"""What really happened in the conversations that eight versions of Claude Code wrote down.

Each scenario is the same in every version, so the same is expected of all; where a version wrote something else, or
nothing, the difference stands here. See tests/fixtures/transcripts/README.md.
"""

from pathlib import Path

import pytest

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.kinds import HUMAN, PROMPTS, RowKind
from backscroll.conversation.messages import CallState, ToolCall
from backscroll.conversation.rows import text_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.conversation.tree import Turn
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import TRANSCRIPTS
from backscroll.records.content import Text
from backscroll.records.decode import decode_all
from backscroll.records.record import Record
from backscroll.records.sidecars import AgentMeta, agent_meta
from tests.conversation.support import check_nothing_is_lost, messages_in, one_chat
from tests.support.cases import for_each

ROOT = Path(__file__).parents[1] / "fixtures" / "transcripts"
VERSIONS = ["0.2.126", "1.0.17", "1.0.126", "2.0.76", "2.1.20", "2.1.112", "2.1.197", "2.1.325"]
EVERY = [(version, path.name) for version in VERSIONS for path in sorted((ROOT / version).iterdir())]


def having(scenario: str) -> pytest.MarkDecorator:
    """Every version that played this scenario."""
    versions = [version for version, played in EVERY if played == scenario]
    assert versions
    return pytest.mark.parametrize("version", versions)


def chats_of(version: str, scenario: str) -> list[Chat]:
    """The chats that have messages."""
    chats = ChatBuilder(keep=True)
    for file in discover(Home(ROOT / version / scenario)).files:
        if file.kind in TRANSCRIPTS:
            place = TranscriptPlace(str(file.path), file.place.session_id, file.place.agent_id)
            chats.add(place, records_in(file.path), sidecar_of(file.path))
    return [chat for chat in chats.chats() if chat.tree.nodes]


def records_in(path: Path) -> list[Record]:
    decoded = [found for line in path.read_bytes().splitlines() for found in decode_all(line)]
    records = [found for found in decoded if isinstance(found, Record)]
    assert len(records) == len(decoded)
    return records


def sidecar_of(path: Path) -> AgentMeta | None:
    sidecar = path.with_suffix(".meta.json")
    return agent_meta(sidecar.read_bytes()) if sidecar.exists() else None


def check(version: str, scenario: str, *branches: str, prompts: int | None = None, answers: int | None = None) -> Chat:
    """The only chat of a scenario: what was asked in each branch, and how many prompts and answers there are."""
    (chat,) = chats_of(version, scenario)
    found = [" | ".join(asked for turn in branch.turns if (asked := prompt_of(turn))) for branch in chat.branches]
    assert found == list(branches)
    typed = [message.text for message in messages_in(chat) if message.kind in PROMPTS]
    assert len(typed) == chat.prompts
    if prompts is not None:
        assert chat.prompts == prompts
    if answers is not None:
        assert chat.messages == chat.prompts + answers
    assert len(chat.leaves) == 1
    return chat


def prompt_of(turn: Turn) -> str:
    record = turn.head.row.record if turn.head else None
    return text_of(record) if record else ""


def calls_in(chat: Chat) -> list[ToolCall]:
    return [call for message in messages_in(chat) for call in message.calls.values()]


def asked_agents(chat: Chat) -> list[Agent]:
    """Those that are not only there to be ready."""
    return [agent for agent in chat.agents if not agent.is_stub and not agent.is_side_copy]


def kinds_in(chat: Chat) -> list[RowKind]:
    """What a reader sees, without what differs by version and says nothing."""
    quiet = {RowKind.META, RowKind.ATTACHMENT, RowKind.NOTE}
    return [message.kind for message in messages_in(chat) if message.kind not in quiet]


APPLE = "What does an apple cost?"
PEAR = "And a pear?"
PLUM = "And a plum?"


def test_every_scenario_is_one_chat_that_one_session_ends_and_no_row_is_lost() -> None:
    def check_scenario(played: tuple[str, str]) -> None:
        (chat,) = chats_of(*played)
        check_nothing_is_lost(chat)
        assert len(chat.leaves) == 1
        assert chat.started is not None
        assert chat.last_active is not None
        assert chat.started <= chat.last_active
        assert chat.project == "/tmp/backscroll-recording/shop"
        assert chat.versions == [played[0]]

    for_each(EVERY, check_scenario)


def test_nothing_that_was_recorded_is_left_out() -> None:
    assert len(EVERY) == 110


@having("plain")
def test_plain(version: str) -> None:
    check(version, "plain", f"{APPLE} | {PEAR}", prompts=2, answers=2)


@having("tools")
def test_tools_are_done_or_failed_and_none_is_missing(version: str) -> None:
    chat = check(version, "tools", "Raise the price of apples.", prompts=1, answers=5)
    states = [(call.name, call.state) for call in calls_in(chat)]
    done = CallState.DONE
    assert states == [
        ("Read", done), ("Read", done), ("Bash", done), ("Bash", CallState.ERROR), ("Edit", done), ("Write", done)
    ]  # fmt: skip
    assert all(call.result for call in calls_in(chat))
    assert [Path(file).name for file in chat.files_touched] == ["prices.txt", "receipt.txt"]


@having("agent")
def test_the_agent_belongs_to_its_call_and_its_words_are_not_the_chat_s(version: str) -> None:
    chat = check(version, "agent", "Let an agent count the fruit.", prompts=1)
    (agent,) = asked_agents(chat)
    (call,) = calls_in(chat)
    assert agent.call is not None
    assert agent.call.id == call.id
    assert agent.parent is None
    assert agent.description == "Count the fruit"
    assert [called.name for called in agent.calls] == ["Bash"]
    assert agent.prompt.startswith("Count the lines of prices.txt")
    assert call.state is CallState.DONE
    own = {message.id for message in messages_in(chat)}
    assert not own & {row.message_id or row.uuid for row in agent.rows}
    # In 2.1.325 the agent works in the background, and its end is told: one more answer.
    assert chat.messages == (4 if version == "2.1.325" else 3)
    assert (RowKind.NOTIFICATION in kinds_in(chat)) is (version == "2.1.325")


@having("agent")
def test_the_tokens_of_the_agent_are_its_own(version: str) -> None:
    (chat,) = chats_of(version, "agent")
    (agent,) = asked_agents(chat)
    assert agent.usage.input_tokens == 8
    # 2.1.20 wrote only placeholders for what came out.
    assert agent.usage.output_tokens == (4 if version == "2.1.20" else 59)


@having("compaction")
def test_a_compaction_is_one_conversation(version: str) -> None:
    chat = check(version, "compaction", f"{APPLE} | {PEAR} | /compact | {PLUM}", prompts=4, answers=3)
    assert chat.compactions == 1
    assert chat.title == APPLE
    kinds = kinds_in(chat)
    assert kinds.count(RowKind.COMPACT_SUMMARY) == 1
    # The boundary came after 1.0.17.
    assert kinds.count(RowKind.COMPACTION) == (0 if version in ("0.2.126", "1.0.17") else 1)


@having("autocompaction")
def test_an_autocompaction_is_one_conversation(version: str) -> None:
    chat = check(version, "autocompaction", f"{APPLE} | Fill the context. | {PLUM}", prompts=3, answers=3)
    assert chat.compactions == 1
    assert chat.title == APPLE
    assert kinds_in(chat).count(RowKind.COMPACT_SUMMARY) == 1


@having("resume")
def test_a_resumed_session_is_one_chat_and_every_prompt_is_there_once(version: str) -> None:
    chat = check(version, "resume", f"{APPLE} | {PEAR} | {PLUM}", prompts=3, answers=3)
    (leaf,) = chat.leaves
    assert leaf.rows[-1].when == max(session.last for session in chat.sessions if session.last)


@having("fork")
def test_a_fork_contains_its_original(version: str) -> None:
    chat = check(version, "fork", f"{APPLE} | {PEAR}", prompts=2, answers=2)
    assert len(chat.sessions) == 2
    assert chat.copies >= 2
    assert chat.leaves == [chat.sessions[1]]
    assert chat.id == chat.sessions[0].session_id


@having("branch")
def test_a_branch_contains_its_original(version: str) -> None:
    command = "/fork" if version == "2.1.20" else "/branch"
    chat = check(version, "branch", f"{APPLE} | {command} | {PEAR}", prompts=3, answers=2)
    assert len(chat.sessions) == 2
    assert chat.title == f"{APPLE} ({'Fork' if version == '2.1.20' else 'Branch'})"


@having("rewind")
def test_a_rewind_makes_two_branches_and_the_later_is_active(version: str) -> None:
    chat = check(version, "rewind", f"{APPLE} | Paint the door blue.", "Paint the door red.", prompts=3, answers=3)
    first, second = chat.branches
    assert second.left_at is first.turns[0]


@having("interrupt")
def test_what_was_interrupted_says_so(version: str) -> None:
    chat = check(version, "interrupt", f"Watch the prices. | Tell me a long story. | {PLUM}", prompts=3)
    (call,) = calls_in(chat)
    # 2.1.197 writes the same as for a call that was not let happen; later versions say whether it had begun.
    assert call.state is (CallState.DENIED if version == "2.1.197" else CallState.INTERRUPTED)
    assert call.result is not None
    # 1.0.17 takes the abort of an answer for an error of the API.
    assert kinds_in(chat).count(RowKind.INTERRUPTION) == (1 if version == "1.0.17" else 2)
    assert kinds_in(chat).count(RowKind.API_ERROR) == (1 if version == "1.0.17" else 0)


@having("slash")
def test_commands_are_prompts_and_their_output_is_none(version: str) -> None:
    (chat,) = chats_of(version, "slash")
    greet = "/project:greet Ada" if version in ("0.2.126", "1.0.17") else "/greet Ada"
    assert (chat.prompts, chat.title) == (2 if version == "2.1.325" else 3, greet)
    assert len(chat.branches) == 1
    cost = [RowKind.COMMAND, RowKind.COMMAND_OUTPUT]
    shell = [RowKind.SHELL, RowKind.SHELL_OUTPUT]
    # The model answers to what a shell command put out since 2.1.197; 2.1.325 writes nothing of /cost.
    answered = [RowKind.ANSWER] if version in ("2.1.197", "2.1.325") else []
    expected = [*([] if version == "2.1.325" else cost), *shell, *answered, RowKind.COMMAND, RowKind.ANSWER]
    assert kinds_in(chat) == expected
    texts = [message.text for message in messages_in(chat) if message.kind in (RowKind.SHELL, RowKind.SHELL_OUTPUT)]
    assert texts == ["echo the shop is open", "the shop is open"]


@having("image")
def test_a_picture_that_a_tool_read_is_in_its_result(version: str) -> None:
    chat = check(version, "image", "Look at apple.png.", prompts=1, answers=2)
    (call,) = calls_in(chat)
    assert (call.name, call.state) == ("Read", CallState.DONE)
    assert call.result is not None
    content = call.result.block.content
    assert not isinstance(content, str)
    assert [type(block).__name__ for block in content if not isinstance(block, Text)] == ["Image"]


@having("error")
def test_an_error_of_the_api_is_no_answer(version: str) -> None:
    chat = check(version, "error", f"Fail, please. | {PLUM}", prompts=2, answers=1)
    assert kinds_in(chat) == [RowKind.PROMPT, RowKind.API_ERROR, RowKind.PROMPT, RowKind.ANSWER]


@having("queued")
def test_the_queued_prompt_counts_where_the_version_wrote_it(version: str) -> None:
    (chat,) = chats_of(version, "queued")
    typed = [(message.kind, message.text) for message in messages_in(chat) if message.kind in HUMAN]
    # 1.0 wrote it nowhere; in 2.1.112 the turn had ended before it was taken up.
    queued = {"1.0.17": [], "1.0.126": [], "2.1.112": [(RowKind.PROMPT, PEAR)]}.get(version, [(RowKind.QUEUED, PEAR)])
    assert typed == [(RowKind.PROMPT, "Work for a moment."), *queued]
    assert chat.prompts == len(typed)
    assert [call.state for call in calls_in(chat)] == [CallState.DONE]


@having("rename")
def test_the_title_that_the_user_gave_is_the_title(version: str) -> None:
    chat = check(version, "rename", f"{APPLE} | /rename Fruit prices", prompts=2, answers=1)
    assert chat.title == "Fruit prices"


def test_the_stubs_of_2_0_76_are_recognised() -> None:
    chats = [chat for version, scenario in EVERY if version == "2.0.76" for chat in chats_of(version, scenario)]
    agents = [agent for chat in chats for agent in chat.agents]
    assert [agent.description for agent in agents if not agent.is_stub] == ["Count the fruit"]
    assert len(agents) > 20


def test_a_drawing_of_a_conversation_reads_like_a_recorded_one() -> None:
    drawn = one_chat(f"a <- - user: {APPLE}\nb <- a assistant(m1): 3\nc <- b user: {PEAR}\nd <- c assistant(m2): 4")
    (recorded,) = chats_of("1.0.17", "plain")
    assert kinds_in(drawn) == kinds_in(recorded)
    assert (drawn.prompts, drawn.messages, len(drawn.branches)) == (2, 4, len(recorded.branches))
