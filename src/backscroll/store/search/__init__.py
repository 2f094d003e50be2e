"""Searching: a query compiled, its matches ranked and shown, whatever engine knows the words."""
