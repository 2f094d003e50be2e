"""What is asked. Pure: the words of a request in, values out."""

from backscroll.query.times import parse_moment

__all__ = ["parse_moment"]
