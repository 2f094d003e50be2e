"""Find and read the files of a home. Reads the disk, and never writes to it.

`source_key` has the identity of a file: machine, home, path, and the version; every store and transcript uses the id
made of it (docs/why/sources.md). `layout` classifies a file by its name; `discovery` finds files; `reading` reads
complete lines from a bookmark and detects whether a file was cut, rewritten or replaced since; `changes` compares a
home with the last visit, moves included; `watching` does so as changes happen; `retention` computes what Claude Code
will delete. `task_outputs` finds the outputs of commands in the temporary folder, `app_homes` the homes of the desktop
app. Before there were session files, clients wrote a database or a log with many sessions in it: `early_database` opens
and copies it, `database_stamp` detects its changes, `early_tables` and `early_logs` list the sessions in it
(`early_sessions`), `early_rows` writes a row as a line, `early_reading` reads such a session, and `inside` gives each a
path below the file's own (docs/why/oldest-history.md). The SQL in these modules reads a database that is not ours.
"""
