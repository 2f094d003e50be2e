"""Tests of backscroll.conversation."""
