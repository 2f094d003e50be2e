"""Keeps, finds, reads and counts every conversation a person had with Claude Code."""

__all__ = ["__version__"]

__version__ = "0.1.0"
