"""Decode the lines of session files. Pure: bytes in, typed values out; nothing here reads a disk or a clock."""
