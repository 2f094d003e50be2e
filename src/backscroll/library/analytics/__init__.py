"""Numbers about the library, each with what it counted and what it left out."""
