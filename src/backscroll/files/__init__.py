"""Find and read the files of a home. Reads the disk, and never writes to it."""
