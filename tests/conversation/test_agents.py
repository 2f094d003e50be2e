"""Sub-agents: all three layouts, the call that started each, and what is none."""

import json

import pytest

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Chat
from tests.conversation.support import Drawing, Meta, agent_named, messages_in, one_chat, rows_of


def task(row: str, call: str, prompt: str, parent: str = "a") -> str:
    asked = json.dumps({"description": f"about {prompt}", "prompt": prompt, "subagent_type": "Explore"})
    return f"{row} <- {parent} call {call} Task {asked}\n"


def answered(row: str, call: str, parent: str, agent: str | None = None) -> str:
    named = json.dumps({"toolUseResult": {"agentId": agent, "totalTokens": 9000, "usage": {"output_tokens": 9000}}})
    return f"{row} <- {parent} result {call}: seen {named if agent else ''}\n"


BEGIN = "a <- - user: look around\n"
ONE = BEGIN + task("b", "t1", "find the code")
AGENT = "x <- - user: find the code\ny <- x assistant(n1): in shop.py\n"


def check(drawing: Drawing, meta: Meta | None = None, **expected: str | None) -> Chat:
    """Which call each agent belongs to, and nothing else is an agent."""
    chat = one_chat(drawing, meta)
    assert {agent.id: agent.call.id if agent.call else None for agent in chat.agents} == expected
    return chat


def only(chat: Chat) -> Agent:
    (agent,) = chat.agents
    return agent


# Where agents lie.


INLINE = f"""
    @ version=1.0.60
    {ONE}
    @ agent=inline
    {AGENT}
    @ agent=
    {answered("c", "t1", "b")}
    d <- c assistant: it is in shop.py
    """


def test_rows_of_an_agent_inside_the_session_are_taken_out_of_it() -> None:
    chat = one_chat(INLINE)
    agent = only(chat)
    assert agent.call is not None
    assert agent.call.id == "t1"
    assert [row.uuid for row in agent.rows] == ["x", "y"]
    assert [rows_of(turn) for branch in chat.branches for turn in branch.turns] == ["a b c d"]
    assert (chat.prompts, chat.messages) == (1, 3)


def test_two_agents_inside_the_session_are_two() -> None:
    chat = one_chat(
        f"""
        @ version=1.0.60
        {BEGIN}
        {task("b", "t1", "find the code")}
        {task("c", "t2", "find the tests", "b")}
        @ agent=inline
        x <- - user: find the code
        v <- - user: find the tests
        y <- x assistant: in shop.py
        w <- v assistant: in tests
        """
    )
    found = {agent.call.id: [row.uuid for row in agent.rows] for agent in chat.agents if agent.call}
    assert found == {"t1": ["x", "y"], "t2": ["v", "w"]}


def test_an_agent_inside_a_session_that_was_resumed_is_one_agent() -> None:
    chat = one_chat({"S1": INLINE, "S2": f"{INLINE}\ne <- d user: thanks"})
    agent = only(chat)
    assert agent.call is not None
    assert agent.call.id == "t1"
    assert (agent.usage.input_tokens, agent.usage.output_tokens) == (10, 5)


def test_an_agent_file_next_to_the_session_belongs_to_it() -> None:
    check({"S1": f"@ version=2.0.76\n{ONE}{answered('c', 't1', 'b', 'x1')}", "S1/x1": AGENT}, x1="t1")


def test_an_agent_in_the_folder_of_the_session_has_a_sidecar() -> None:
    meta = {"S1/x1": {"agentType": "reviewer", "description": "look", "toolUseId": "t1", "model": "opus"}}
    agent = only(check({"S1": ONE, "S1/x1": AGENT}, meta, x1="t1"))
    assert (agent.type, agent.description) == ("reviewer", "look")
    assert agent.transcript is not None
    assert agent.transcript.meta is not None
    assert agent.transcript.meta.model == "opus"


def test_an_agent_whose_session_is_gone_is_kept() -> None:
    chat = check({"S1/x1": AGENT}, x1=None)
    assert chat.sessions == []
    assert (chat.prompts, chat.messages) == (0, 0)


def test_the_session_may_come_after_its_agent() -> None:
    check({"S1/x1": AGENT, "S1": ONE}, x1="t1")


# Which call it belongs to: the sidecar says, else the result, else the prompt.


TWO = BEGIN + task("b", "t1", "find the code") + task("c", "t2", "find the tests", "b")


def test_the_sidecar_counts_more_than_the_result() -> None:
    main = TWO + answered("d", "t1", "b", "x1")
    check({"S1": main, "S1/x1": AGENT}, {"S1/x1": {"toolUseId": "t2"}}, x1="t2")


def test_the_result_counts_more_than_the_prompt() -> None:
    main = TWO + answered("d", "t2", "c", "x1")
    check({"S1": main, "S1/x1": AGENT}, x1="t2")


def test_a_sidecar_without_a_call_leaves_it_to_the_result() -> None:
    main = TWO + answered("d", "t2", "c", "x1")
    check({"S1": main, "S1/x1": AGENT}, {"S1/x1": {"agentType": "Explore"}}, x1="t2")


def test_if_a_sidecar_names_an_unknown_call_the_result_decides() -> None:
    main = TWO + answered("d", "t2", "c", "x1")
    check({"S1": main, "S1/x1": AGENT}, {"S1/x1": {"toolUseId": "lost"}}, x1="t2")


def test_a_copy_that_the_client_made_for_itself_belongs_to_no_call() -> None:
    check({"S1": ONE, "S1/acompact-x1": AGENT}, **{"acompact-x1": None})


def test_the_prompt_is_the_last_resort() -> None:
    check({"S1": TWO, "S1/x1": "x <- - user: find the tests"}, x1="t2")


def test_a_result_before_its_call_still_names_the_agent() -> None:
    main = BEGIN + answered("c", "t1", "b", "x1") + task("b", "t1", "another prompt")
    check({"S1": main, "S1/x1": AGENT}, x1="t1")


def test_the_new_name_of_the_tool_starts_agents_too() -> None:
    main = BEGIN + 'b <- a call t1 Agent {"description": "look", "prompt": "find the code"}'
    agent = only(check({"S1": main, "S1/x1": AGENT}, x1="t1"))
    assert (agent.type, agent.description) == (None, "look")


def test_another_tool_with_the_same_prompt_starts_no_agent() -> None:
    main = BEGIN + 'b <- a call t1 mcp__web__ask {"prompt": "find the code"}'
    check({"S1": main, "S1/x1": AGENT}, x1=None)


def test_a_long_prompt_is_compared_as_far_as_it_is_kept() -> None:
    prompt = "find the code " * 40
    check({"S1": BEGIN + task("b", "t1", prompt), "S1/x1": f"x <- - user: {prompt}"}, x1="t1")


def test_a_prompt_of_blocks_is_the_same_prompt() -> None:
    check({"S1": ONE, "S1/x1": 'x <- - user: [{"type": "text", "text": "find the code"}]'}, x1="t1")


SAME = BEGIN + task("b", "t1", "find the code") + task("c", "t2", "find the code", "b")


def test_two_agents_with_the_same_prompt_belong_to_two_calls_in_their_order() -> None:
    later = "@ time=2026-01-05T10:30\nv <- - user: find the code"
    check({"S1": SAME, "S1/x2": later, "S1/x1": AGENT}, x1="t1", x2="t2")


def test_of_two_agents_with_the_same_prompt_the_named_one_takes_its_own_call() -> None:
    later = "@ time=2026-01-05T10:30\nv <- - user: find the code"
    main = SAME + answered("d", "t1", "b", "x2")
    check({"S1": main, "S1/x1": AGENT, "S1/x2": later}, x2="t1", x1="t2")


def test_three_agents_with_the_same_prompt_and_two_calls_are_all_listed() -> None:
    files = {f"S1/x{number}": f"@ time=2026-01-05T10:3{number}\nx <- - user: find the code" for number in (1, 2, 3)}
    check({"S1": SAME} | files, x1="t1", x2="t2", x3=None)


def test_an_agent_that_no_call_started_is_listed() -> None:
    check({"S1": ONE, "S1/x1": "x <- - user: something else"}, x1=None)


def test_a_call_in_an_abandoned_branch_keeps_its_agent() -> None:
    check({"S1": ONE + "d <- - user: never mind", "S1/x1": AGENT}, x1="t1")


# Agents of agents.


OUTER = "x <- - user: find the code\n" + task("y", "t2", "look deeper", "x") + answered("z", "t2", "y", "x2")
INNER = "v <- - user: look deeper\nw <- v assistant: seen"


@pytest.mark.parametrize("meta", [{}, {"S1/x2": {"toolUseId": "t2", "parentAgentId": "x1"}}])
def test_an_agent_may_start_another(meta: Meta) -> None:
    chat = check({"S1": ONE, "S1/x1": OUTER, "S1/x2": INNER}, meta, x1="t1", x2="t2")
    assert agent_named(chat, "x2").parent is agent_named(chat, "x1")
    assert agent_named(chat, "x1").parent is None


def test_an_agent_of_an_agent_is_found_by_its_prompt_too() -> None:
    outer = "x <- - user: find the code\n" + task("y", "t2", "look deeper", "x")
    chat = check({"S1": ONE, "S1/x1": outer, "S1/x2": INNER}, x1="t1", x2="t2")
    assert agent_named(chat, "x2").parent is agent_named(chat, "x1")


def test_an_agent_that_passes_its_prompt_on_does_not_start_itself() -> None:
    outer = "x <- - user: find the code\n" + task("y", "t2", "find the code", "x")
    inner = "@ time=2026-01-05T10:30\nv <- - user: find the code"
    chat = check({"S1": ONE, "S1/x1": outer, "S1/x2": inner}, x1="t1", x2="t2")
    assert agent_named(chat, "x2").parent is agent_named(chat, "x1")


def test_an_agent_inside_the_session_may_start_another() -> None:
    chat = one_chat(
        f"""
        @ version=1.0.60
        {ONE}
        @ agent=inline
        x <- - user: find the code
        {task("y", "t2", "look deeper", "x")}
        v <- - user: look deeper
        w <- v assistant: seen
        """
    )
    calls = {agent.rows[0].uuid: agent.call.id for agent in chat.agents if agent.call}
    assert calls == {"x": "t1", "v": "t2"}


# What it is, and what it cost.


def test_its_type_and_description_come_from_the_call_without_a_sidecar() -> None:
    agent = only(one_chat({"S1": ONE, "S1/x1": AGENT}))
    assert (agent.type, agent.description) == ("Explore", "about find the code")


def test_its_models_are_those_that_answered() -> None:
    rows = f"@ model=claude-haiku-4-5\n{AGENT}@ model=<synthetic>\nz <- y assistant: interrupted"
    assert only(one_chat({"S1": ONE, "S1/x1": rows})).models == ["claude-haiku-4-5"]


def test_its_tokens_are_its_own_and_each_message_counts_once() -> None:
    first = '{"message": {"usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 50}}}'
    last = '{"message": {"usage": {"input_tokens": 3, "output_tokens": 70, "cache_read_input_tokens": 50}}}'
    other = '{"message": {"usage": {"input_tokens": 4, "output_tokens": 30}}}'
    rows = f"""
        x <- - user: find the code
        y <- x thinking(n1): hm {first}
        z <- y assistant(n1): in shop.py {last}
        v <- z assistant(n2): done {other}
        """
    chat = one_chat({"S1": ONE + answered("c", "t1", "b", "x1"), "S1/x1": rows})
    usage = only(chat).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens) == (7, 100, 50)


def test_what_an_agent_says_is_no_message_of_the_chat() -> None:
    chat = one_chat({"S1": ONE + answered("c", "t1", "b", "x1"), "S1/x1": AGENT})
    assert (chat.prompts, chat.messages) == (1, 2)
    assert "x" not in {message.id for message in messages_in(chat)}


def test_an_agent_has_turns_of_its_own() -> None:
    agent = only(one_chat({"S1": ONE, "S1/x1": AGENT}))
    assert [rows_of(turn) for turn in agent.tree.roots] == ["x y"]
    assert agent.prompt == "find the code"


def test_the_files_that_an_agent_changed_are_files_of_the_chat() -> None:
    edit = 'z <- y call t9 Edit {"file_path": "/home/ada/shop/shop.py"}'
    assert one_chat({"S1": ONE, "S1/x1": AGENT + edit}).files_touched == ["/home/ada/shop/shop.py"]


# Agents that no prompt asked for.


def test_a_warmup_is_a_stub() -> None:
    chat = check(
        {"S1": ONE, "S1/w1": "x <- - user: Warmup\ny <- x assistant: I am ready", "S1/x1": AGENT}, w1=None, x1="t1"
    )
    assert [agent.id for agent in chat.agents if agent.is_stub] == ["w1"]


def test_a_stub_takes_no_call_even_if_that_asks_for_a_warmup() -> None:
    check({"S1": BEGIN + task("b", "t1", "Warmup"), "S1/w1": "x <- - user: Warmup"}, w1=None)


@pytest.mark.parametrize("name", ["acompact-9f3c", "aside_question-9f3c"])
def test_a_copy_that_the_client_made_for_itself_is_recognised(name: str) -> None:
    chat = one_chat({"S1": ONE, f"S1/{name}": f"{ONE}c <- b user: sum it up\nd <- c assistant(n1): a search"})
    agent = only(chat)
    assert agent.is_side_copy
    assert agent.call is None
    assert (chat.prompts, chat.messages) == (1, 2)
    assert chat.copies == 0


def test_a_copy_that_the_client_made_takes_no_agent_from_the_session() -> None:
    copy = ONE + "c <- b user: sum it up"
    chat = one_chat({"S1": ONE, "S1/acompact-9f3c": copy, "S1/x1": AGENT})
    assert agent_named(chat, "x1").parent is None
    assert agent_named(chat, "x1").call is not None


def test_a_usual_agent_is_neither() -> None:
    agent = only(one_chat({"S1": ONE, "S1/x1": AGENT}))
    assert not agent.is_stub
    assert not agent.is_side_copy


def test_a_forked_agent_knows_the_conversation_it_began_with() -> None:
    fork = 'fork-context-ref {"agentId": "x1", "parentSessionId": "S1", "parentLastUuid": "a"}\n'
    agent = only(one_chat({"S1": ONE, "S1/x1": fork + AGENT}))
    assert agent.transcript is not None
    assert agent.transcript.fork_context is not None
    assert agent.transcript.fork_context.parent_last_uuid == "a"


def test_agents_come_in_the_order_they_began() -> None:
    files = {
        "S1/x1": "@ time=2026-01-05T10:30\nx <- - user: third",
        "S1/x2": "@ time=2026-01-05T10:10\nx <- - user: first",
        "S1/x3": "@ time=2026-01-05T10:20\nx <- - user: second",
    }
    assert [agent.prompt for agent in one_chat({"S1": ONE} | files).agents] == ["first", "second", "third"]
