"""Find and mask secrets. Pure."""
