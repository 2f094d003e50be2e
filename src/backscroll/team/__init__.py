"""The team server: the libraries that many people fill, and the rules about who may read them.

Rooms. Each imports, of the others, only those in parentheses, which stand above it:

    database: The server's own tables: connections, migrations, access rules, the audit log, the queue of jobs.
    people (database): People and their rights: accounts, roles, teams, sign-in, single sign-on, keys, limits.
    arrival (database, people): Arrival of conversations: devices, the objects they send, rules and masks for these,
        and the libraries they fill.
    reading (arrival, database, people): Reading of chats: a person's own library with what others share, links,
        saved prompts, spend, agents.
    keeping (arrival, database, people): Retention of chats, legal holds, and the erasure of people, with its
        ledger.
    operating (arrival, database, keeping, people, reading): Operation of a server: its database and worker, backup,
        restore, import, export, demo, metrics, logs.
    pages (arrival, database, keeping, operating, people, reading): The pages of the server itself: signing in,
        devices, people, keys, audit.
    serving (arrival, database, keeping, operating, pages, people, reading): The web application behind its sign-in
        check, and the processes that serve it.

`database` stands first, because every room writes to the audit log and adds jobs. `arrival` has the libraries that
devices fill; `reading` decides what others may read of them. The worker does the jobs of all rooms, so it is in
`operating`, and takes objects with `arrival.intake`. The application routes to `pages`, so `serving` comes after them.

`database` has the server's own tables: `connections` lends connections and runs `migrations`, `row_security` keeps
organisations apart, `web_role` says what a web process may do there, `audit` is the log of what happened, `jobs`
the queue of what workers do.

In `team/people`, `accounts` has organisations and people, `teams` their teams, `invitations` the links that let
people in, `roles` who may do what; `sessions` has sessions and keys, `passwords` changes passwords and says whether
they are forbidden, `oidc` signs people in through a provider, `recoveries` confirms links for accounts in use.
`limits` has quotas and rates, `rates` counts uses in the database, `failed_sign_ins` guesses of passwords, by
`client_address`; `request_queue` says whose request is next. `context` is what all requests share.

In `team/arrival`, `device_routes` takes objects, `device_objects` says which a device may store, `upload_limits`
how many at once, `intake` takes them into `libraries`; `project_rules` has the rules about what machines send,
`sent_projects` sums what is sent; `masks` masks secrets in what is taken, `mask_library` in what was taken before;
`line_limits` withholds lines of very many values.

In `team/reading`, `read_access` gives each request the libraries that its asker may read, out of the `viewer_pool`;
`shares` says which chats are shared, `shared_library` opens what others share with a reader, `merged_library` that
together with the reader's own. `spend` sums what people spent, and `disclosure` decides which of these sums a
reader may see. `remote_mcp` answers agents.

In `team/keeping`, `retention` has the rules by which chats expire, and `expire_chats` removes them; `erasures` is
the ledger of who is to be erased, `erase_person` does it, `holds` forbid it; with `person_lock` one worker at a
time changes what is kept of a person.

In `team/operating`, the `worker` does the jobs; `server_database` opens and prepares the database; `backup`
(`backup_place` says where one may lie, `missing_objects` what the server lacks), `restore`, `restore_part`,
`export_history` and `import_history` are for the operator's commands (`file_names` writes files whatever machines
call them, `import_files` lays files out, with `claudelens`; `session_copies` compares them with what is there;
`undo_import` removes them); `request_log` and `job_log` write lines of JSON.

`team/pages` are the server's own pages, each given a `TeamRequest` (`requests`). In `team/serving`, `app` has the
routes, `authentication` finds out who asks, `web_server` and `processes` run. docs/why/team.md has the reasons.
"""
