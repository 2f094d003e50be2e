"""One suite for every store: what holds for one holds for all."""
