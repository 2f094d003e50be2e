"""What is kept: the exact bytes of everything in a home, written once, with checksums."""
