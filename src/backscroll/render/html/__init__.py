"""HTML for browsers: one set of pieces for the viewer, for exported files and for notebooks.

`element` makes HTML that is safe by how it is made; `prose`, `code`, `ansi` and `diffs` turn what people and
programs wrote into it; `messages` and `tools` show a message, `chat` the page around it, `chat_head` its head,
`icons` the drawings, `export` the same as one file. `time_limit` limits how long highlighting takes, with a clock
that the caller hands over. `charts` draws SVG. Pages can be read without scripts.
"""
