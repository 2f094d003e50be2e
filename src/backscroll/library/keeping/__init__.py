"""Keep the content of the homes, verify it, and restore it."""
