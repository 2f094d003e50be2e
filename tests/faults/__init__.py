"""Tests of the archive while things break: kills, failing disks, several processes at once."""
