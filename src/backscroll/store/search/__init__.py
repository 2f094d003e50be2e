"""Search: compile a query, rank its matches and read a page of them, with any engine of words."""
