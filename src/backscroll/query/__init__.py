"""The query language. Pure: text in, values out.

`fields` is the only table of fields; `parse` turns a query into a `tree`, `write` writes it back; `words` splits texts
and queries into words; `snippets` finds the piece of a text that best shows the matches.
"""
