"""Tests of backscroll.records."""
