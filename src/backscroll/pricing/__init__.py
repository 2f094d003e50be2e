"""Prices by day, and the cost of a request. Pure."""
