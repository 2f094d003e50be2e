"""Tests of the HTML that transcripts become."""
