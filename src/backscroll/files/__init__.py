"""Where lines come from. Reads the disk, and never writes to it."""
