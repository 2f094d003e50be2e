"""The MCP server: the user's own history as memory for agents.

`server` implements the protocol and hands requests to tools, resources and prompts. `tools` has one module per
tool; `call_threads` runs the calls, `call_context` is what a tool call may use, `message_texts` reads messages as
text, `quoting` frames everything that comes from a transcript, and `pool` keeps the library up to date between
calls. `transports` serves over stdio or HTTP.
"""
