"""What a line says. Pure: bytes in, typed values out; nothing here reads a disk or a clock."""
