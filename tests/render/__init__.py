"""Tests of backscroll.render."""
