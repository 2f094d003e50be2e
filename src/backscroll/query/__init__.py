"""The query language. Pure: text in, values out."""
