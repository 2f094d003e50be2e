"""A whole home as chats, against what its maker says that it put there."""

from dataclasses import replace
from pathlib import Path

import pytest
from bench.generate import GeneratedSummary, Mix, generate

from backscroll.conversation.chat import Chat
from backscroll.files.homes import Home
from backscroll.library.local import local_library
from backscroll.settings import Settings

BUSY = replace(Mix(), resumes=0.8, forks=0.5, rewinds=0.5, compactions=0.5, agents=0.05, problems=0.0)


@pytest.fixture(scope="module", params=[1, 2])
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[GeneratedSummary, list[Chat]]:
    root: Path = tmp_path_factory.mktemp("made") / "home"
    summary = generate(root, sessions=60, total_bytes=25_000_000, seed=request.param, mix=BUSY)
    settings = Settings(homes=(root,), library=root.parent / "library", file=root.parent / "settings.toml")
    with local_library(settings, [Home(root)]) as library:
        library.refresh(with_text=False)
        return summary, [library.open(chat, with_records=False).chat for chat in library.chats()]


def test_a_copy_of_a_session_is_not_a_separate_chat(made: tuple[GeneratedSummary, list[Chat]]) -> None:
    summary, chats = made
    assert summary.resumes + summary.forks > 5
    assert len(chats) == summary.sessions - summary.resumes - summary.forks
    assert sum(len(chat.sessions) for chat in chats) == summary.sessions


def test_every_rewind_is_a_branch_and_nothing_else_is(made: tuple[GeneratedSummary, list[Chat]]) -> None:
    summary, chats = made
    assert summary.rewinds > 4
    branches = sum(len(chat.branches) - len(chat.leaves) for chat in chats)
    assert branches == summary.rewinds


def test_compactions_and_agents_are_all_there(made: tuple[GeneratedSummary, list[Chat]]) -> None:
    summary, chats = made
    assert summary.compactions > 2
    assert sum(chat.compactions for chat in chats) == summary.compactions
    assert summary.agents > 20
    agents = [agent for chat in chats for agent in chat.agents]
    assert len(agents) == summary.agents
    assert sum(agent.is_stub for agent in agents) == summary.warmups


def test_every_agent_that_was_asked_something_belongs_to_a_call(made: tuple[GeneratedSummary, list[Chat]]) -> None:
    _, chats = made
    agents = [agent for chat in chats for agent in chat.agents if not agent.is_stub]
    alone = [agent for agent in agents if agent.call is None and "workflow" not in agent.rows[0].transcript]
    assert alone == []
