"""Count roles, tools, projects, models and machines over all matches of a query."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.reader import Facets
from backscroll.store.search.compile import CompiledQuery, Compiler
from backscroll.store.search.engine import FactCount, WordEngine
from backscroll.store.search.nodes import EachOf, InFiles, IsFact, IsFrom, Node
from backscroll.store.search.search import matching_chats
from backscroll.store.sql.statements import ScopedRows, array, select

MAX_TOOLS: Final = 10


def count_facets(rows: ScopedRows, engine: WordEngine, query: Query, since: Mapping[str, int]) -> Facets:
    """Count the matching passages by their facts and by facts of their chats; `since` are times in microseconds."""
    compiled = Compiler(rows, engine).compile(query)
    matches = matching_chats(engine, compiled)
    whole = compiled.whole()
    if compiled.has_demands or compiled.files is not None:
        files = [file for (file,) in select(rows, FILES, (array(matches),))]
        allowed = files if compiled.files is None else [file for file in files if file in compiled.files]
        whole = EachOf((whole, InFiles(tuple(allowed))))
    elif engine.finds_unlisted and (unlisted := [file for (file,) in select(rows, UNLISTED)]):
        whole = EachOf((whole,), but_not=(InFiles(tuple(unlisted)),))
    facts, later = engine.facts(whole, since)
    if compiled.has_demands:  # a narrower search requires every term among the passages it is narrowed to
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
    tools = [(name, count) for name, count in facts.items() if name.startswith("tool:")]
    tools.sort(key=lambda one: (-one[1].found, one[0]))
    return Facets(
        total=sum(matches.values()),
        roles={name.removeprefix("role:"): count.found for name, count in facts.items() if name.startswith("role:")},
        tools=_as_written(rows, engine, whole, tools[:MAX_TOOLS]),
        since=later,
        projects=projects,
        models=models,
        machines=machines,
    )


def _narrowed(engine: WordEngine, compiled: CompiledQuery, facts: Mapping[str, FactCount]) -> dict[str, FactCount]:
    """Count the passages that a search finds for each role, and for each of the most used tools."""
    counts = {name: _found_with(engine, compiled, IsFact(name)) for name in facts if name.startswith("role:")}
    tools = [name for name in facts if name.startswith("tool:")]
    best: list[int] = []
    for name in sorted(tools, key=lambda name: (-facts[name].found, name)):
        if len(best) == MAX_TOOLS and facts[name].found <= best[-1]:
            break  # no other tool can have more
        counts[name] = _found_with(engine, compiled, IsFact(name))
        best = sorted([*best, counts[name]], reverse=True)[:MAX_TOOLS]
    return {name: facts[name]._replace(found=count) for name, count in counts.items() if count}


def _found_with(engine: WordEngine, compiled: CompiledQuery, narrower: Node) -> int:
    narrow = compiled._replace(must=[*compiled.must, narrower])
    return sum(matching_chats(engine, narrow).values())


def _as_written(
    rows: ScopedRows, engine: WordEngine, whole: Node, tools: list[tuple[str, FactCount]]
) -> dict[str, int]:
    """Return tool names in the case they have in a match: the index has them in lower case."""
    examples = []
    for fact, count in tools:
        if count.example is not None:
            examples.append(count.example)
        else:
            examples += [match.block for match in engine.best(EachOf((whole, IsFact(fact))), 1)]
    written = {name.lower(): name for (name,) in select(rows, TOOLS, (array(examples),)) if name}
    names = [(fact.removeprefix("tool:"), count.found) for fact, count in tools]
    return {written.get(name, name): count for name, count in names}


CHATS: Final = "select id, project, models, machines from chats where id in (select value from json_each(?))"
TOOLS: Final = """
select coalesce(b.tool, (select min(i.tool) from blocks i where i.call = b.call and i.role = 'input')) from blocks b
where b.id in (select value from json_each(?))
"""
FILES: Final = "select id from files where chat in (select value from json_each(?))"
UNLISTED: Final = "select id from files where chat is null or chat in (select id from chats where silent)"
"""Files that no list and no search shows, such as copies that the client made for itself."""
