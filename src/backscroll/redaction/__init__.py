"""What must not be shared. Pure."""
