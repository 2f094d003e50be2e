"""Search: the passages that answer a query, each with a snippet that shows why."""
