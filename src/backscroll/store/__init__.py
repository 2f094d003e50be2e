"""The searchable data: rows, chats and words, derived from the transcripts. One interface, several stores.

Rooms. Each imports, of the others, only those in parentheses, which stand above it:

    batches: A batch of writes: rows as plain columns, and the current state of chats.
    detail: The details of a tool call needed to resume a transcript: the agent it starts, the list it changes.
    prices: The interface through which a store gets the cost of an answer.
    report_rows (batches): Rows of reports, with names and types.
    spend_rows: Rows of reports about spending.
    tool_call_rows: Rows of tool calls, for reports.
    reports (report_rows, spend_rows, tool_call_rows): Queries for reports that every store answers.
    reader: Queries about chats that every store answers, each within a scope.
    base (batches, prices, reader): The interface of every store: opening, writing, and `within`, which returns a
        reader.
    columns (batches, detail): Conversion of records and their rows into columns.
    sql (batches, detail, prices, reader, report_rows, spend_rows, tool_call_rows): SQL that SQLite and PostgreSQL
        both understand, run through the engine of the store.
    search (base, batches, reader, sql): Search on any engine: compiling a query, ranking and showing its matches.
    local (base, batches, prices, reader, search, sql): The store on this machine's disk: SQLite for rows, tantivy
        for words.
    postgres (base, batches, prices, reader, report_rows, search, sql): The store of a team server: rows and words
        in PostgreSQL.

`base` is the interface: everything that `library` needs of a store, without the name of an engine; `reports` is the
part of it for reports, and `report_rows` has their rows. A batch (`batches`) numbers its new rows by itself; the store
assigns ids when it writes it. `Library` gets a store from `library/local` or `library/postgres`, the only modules that
choose one. `tests/contract` is the suite that every store must pass; it fails if a method has no test.
`docs/why/stores.md` has the reasons.

In `store/sql`, `row_tables` writes batches, `chat_writing` chats, `calls` pairs tool calls with their results,
`counting` counts answers, `chat_sums` adds up tokens and cost of each chat, `saved_files` loads transcripts, `chats`
lists and filters, `pieces` reads one chat, `reports` has statistics. Statements are run through
`statements.RowReader`, which each engine implements. In `store/search`, `nodes` has conditions on passages, `engine`
is the protocol of a word engine, `compile` turns a query into nodes, `worths` computes the worth of each, `ranking`
orders chats, `ties` cuts without depending on the order of equals, `search` reads a page; `waiting` selects the
passages to index next.

In `store/local`, `generations` finds the build of the index in use, `opening` opens it to read or to write and
replaces it by a rebuilt one, `faults` classifies the errors of the engines, `database` opens the SQLite file,
`checksums` checks its pages, `schema` has tables and views, `visible` limits statements to a scope, `text` is the
tantivy index, `words` queries it. `sql` passes statements of the user to `sql_worker`, a process that starts without
our packages, can call only what it lists, and is killed when its time is up.

In `store/postgres`, `embedded` runs a private PostgreSQL, `prepare`, `roles` and `migrate` prepare a database,
`connection` sets the build and the role of a statement, `pool` keeps connections for the next store, `dialect`
rewrites shared statements, `visible` limits them, `arrays` makes a column of rows one parameter, `tables` writes
batches, `indexing` writes words, `sql_query` and `words` find them, `shared` reads the shared files of several people
as one index (`shared_rows` writes its statements), `joined_chats` records which chats became one, `people_sums` adds
up the indexes of several people, `user_sql` runs statements of users: as the login that `sql_login` makes harmless, in
a session of `sql_session`, sent and read by `sql_stream`. `docs/why/postgres.md` has the reasons.

`store/sql/counting` keeps `counted` (one row for each answer, however often it is repeated) and `spent` (sums by
quarter of an hour, file and model) in step with the rows, in their transaction; `store/sql/unrecorded` compares them
with the client's own totals. `store/sql/reports` has the SQL of every report, `library/analytics` its meaning,
`render/reports` its look. Outside `store` there is no SQL, and nothing imports an engine. `cli/statusline_text`, for
Claude Code's status line, is the one exception: it reads three sums from the SQLite file by itself, because it has 50
ms and importing the library takes twice that. `tests/test_architecture.py` allows no other.
"""
