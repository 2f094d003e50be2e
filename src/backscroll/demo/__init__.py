"""Sample conversations to try backscroll on: unpacked into a folder of their own, which is removed afterwards."""

from backscroll.demo.room import Room, open_room

__all__ = ["Room", "open_room"]
