"""Tests of backscroll.query."""
