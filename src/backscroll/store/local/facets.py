"""Count what the matches of a query have in common, over all of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import tantivy
from tantivy import Occur
from tantivy import Query as Engine

from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.local.compile import Compiler
from backscroll.store.local.database import array, select
from backscroll.store.local.search import matching_chats
from backscroll.store.local.snapshot import Snapshot
from backscroll.store.local.text import fact, in_files
from backscroll.store.local.visible import VisibleRows
from backscroll.store.reader import Facets

MOST_FACTS: Final = 1000
"""How many roles, tools and marks are counted; a library has a few dozen."""
MOST_TOOLS: Final = 10


def count_facets(rows: VisibleRows, state: Snapshot, query: Query, since: Mapping[str, int]) -> Facets:
    """The matching passages by what they are and by the chats they are in; `since` are times in microseconds."""
    compiled = Compiler(rows, state).compile(query)
    searcher, shape = state.searcher, state.sizes
    matches = matching_chats(searcher, shape, compiled)
    whole = compiled.whole()
    if compiled.has_demands or compiled.files is not None:
        files = [file for file, chat in shape.chat_of.items() if chat in matches]
        allowed = files if compiled.files is None else [file for file in files if file in compiled.files]
        whole = Engine.boolean_query([(Occur.Must, whole), (Occur.Must, in_files(allowed))])
    asked: dict[str, Any] = {"facts": {"terms": {"field": "facts", "size": MOST_FACTS}}}
    for name, moment in since.items():
        asked[name] = {"range": {"field": "time", "ranges": [{"key": "in", "from": moment // 1000}]}}
    found = searcher.aggregate(whole, asked)
    facts = {str(bucket["key"]): int(bucket["doc_count"]) for bucket in found["facts"]["buckets"]}
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
        tools={_original_spelling(rows, searcher, whole, name): count for name, count in tools.most_common(MOST_TOOLS)},
        since={name: _within(found[name]) for name in since},
        projects=projects,
        models=models,
        machines=machines,
    )


def _within(answer: dict[str, Any]) -> int:
    """The passages in the requested range; the engine adds one for those before it."""
    return sum(int(bucket["doc_count"]) for bucket in answer["buckets"] if bucket["key"] == "in")


def _original_spelling(rows: VisibleRows, searcher: tantivy.Searcher, whole: Engine, tool: str) -> str:
    """The name of a tool as it is written in a match: the index has it in small letters."""
    query = Engine.boolean_query([(Occur.Must, whole), (Occur.Must, fact(f"tool:{tool}"))])
    found = searcher.search(query, limit=1, count=False).hits
    blocks = searcher.fast_field_values("block", [address for _, address in found]) if found else []
    names = [name for block in blocks for (name,) in select(rows, TOOL, (block,)) if name]
    return names[0] if names and names[0].lower() == tool else tool


CHATS: Final = "select id, project, models, machines from chats where id in (select value from json_each(?))"
TOOL: Final = """
select coalesce(b.tool, i.tool) from blocks b left join blocks i on i.call = b.call and i.role = 'input'
where b.id = ? limit 1
"""
