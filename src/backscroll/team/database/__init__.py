"""The server's own tables: connections, migrations, access rules, and the records that every room writes.

Here are row-level security, the role of web processes, the audit log and the queue of jobs, but no page and no rule
about people or chats.
"""
