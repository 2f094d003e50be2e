"""Count what the matches of a query have in common, over all of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.reader import Facets
from backscroll.store.search.compile import CompiledQuery, Compiler
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.nodes import EachOf, InFiles, IsFact, IsFrom, Node
from backscroll.store.search.search import matching_chats
from backscroll.store.sql.statements import ScopedRows, array, select

MAX_TOOLS: Final = 10


def count_facets(rows: ScopedRows, engine: WordEngine, query: Query, since: Mapping[str, int]) -> Facets:
    """The matching passages by what they are and by the chats they are in; `since` are times in microseconds."""
    compiled = Compiler(rows, engine).compile(query)
    matches = matching_chats(engine, compiled)
    whole = compiled.whole()
    if compiled.has_demands or compiled.files is not None:
        files = [file for (file,) in select(rows, FILES, (array(matches),))]
        allowed = files if compiled.files is None else [file for file in files if file in compiled.files]
        whole = EachOf((whole, InFiles(tuple(allowed))))
    elif unlisted := [file for (file,) in select(rows, UNLISTED)]:
        whole = EachOf((whole,), but_not=(InFiles(tuple(unlisted)),))
    facts, later = engine.facts(whole, since)
    if compiled.has_demands:  # a narrower search asks for every word within what it is narrowed to
        facts = _narrowed(engine, compiled, facts)
        later = {name: _found_with(engine, compiled, IsFrom(moment // 1000)) for name, moment in since.items()}
    projects: Counter[str] = Counter()
    models: Counter[str] = Counter()
    machines: Counter[str] = Counter()
    for chat, project, model_lines, machine_lines in select(rows, CHATS, (array(matches),)):
        if project:
            projects[readable(project)] += matches[chat]
        for counter, lines in ((models, model_lines), (machines, machine_lines)):
            for name in filter(None, lines.split("\n")):
                counter[readable(name)] += matches[chat]
    tools = Counter({name.removeprefix("tool:"): count for name, count in facts.items() if name.startswith("tool:")})
    return Facets(
        total=sum(matches.values()),
        roles={name.removeprefix("role:"): count for name, count in facts.items() if name.startswith("role:")},
        tools={_original_spelling(rows, engine, whole, name): count for name, count in tools.most_common(MAX_TOOLS)},
        since=later,
        projects=projects,
        models=models,
        machines=machines,
    )


def _narrowed(engine: WordEngine, compiled: CompiledQuery, facts: Mapping[str, int]) -> dict[str, int]:
    """How many passages a search for each role finds, and for each of the tools with the most."""
    found = {name: _found_with(engine, compiled, IsFact(name)) for name in facts if name.startswith("role:")}
    tools = Counter({name: count for name, count in facts.items() if name.startswith("tool:")})
    best: list[int] = []
    for name, most in tools.most_common():
        if len(best) == MAX_TOOLS and most <= best[-1]:
            break  # no other tool can have more
        found[name] = _found_with(engine, compiled, IsFact(name))
        best = sorted([*best, found[name]], reverse=True)[:MAX_TOOLS]
    return {name: count for name, count in found.items() if count}


def _found_with(engine: WordEngine, compiled: CompiledQuery, narrower: Node) -> int:
    narrow = compiled._replace(must=[*compiled.must, narrower])
    return sum(matching_chats(engine, narrow).values())


def _original_spelling(rows: ScopedRows, engine: WordEngine, whole: Node, tool: str) -> str:
    """The name of a tool as it is written in a match: the index has it in small letters."""
    found = engine.best(EachOf((whole, IsFact(f"tool:{tool}"))), 1)
    names = [name for match in found for (name,) in select(rows, TOOL, (match.block,)) if name]
    return names[0] if names and names[0].lower() == tool else tool


CHATS: Final = "select id, project, models, machines from chats where id in (select value from json_each(?))"
TOOL: Final = """
select coalesce(b.tool, i.tool) from blocks b left join blocks i on i.call = b.call and i.role = 'input'
where b.id = ? limit 1
"""
FILES: Final = "select id from files where chat in (select value from json_each(?))"
UNLISTED: Final = "select id from files where chat is null or chat in (select id from chats where silent)"
"""What no list and no search shows, such as copies that the client made for itself."""
