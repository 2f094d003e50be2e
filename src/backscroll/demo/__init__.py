"""Sample conversations to try backscroll on: unpacked into a folder of their own, which is removed afterwards."""
