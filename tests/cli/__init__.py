"""Tests of backscroll.cli."""
