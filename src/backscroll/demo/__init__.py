"""Sample conversations to try backscroll on: unpacked into a folder of their own, which is removed afterwards."""

from backscroll.demo.sandbox import Sandbox, open_sandbox

__all__ = ["Sandbox", "open_sandbox"]
