"""Tests of backscroll.library."""
