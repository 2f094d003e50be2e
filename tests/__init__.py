"""Tests of backscroll: drawings in, what a user sees out."""
