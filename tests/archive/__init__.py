"""Tests of the archive: what is kept, read back, proven, restored and forgotten."""
