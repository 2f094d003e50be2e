"""What engines say of damaged files, as one error that somebody can act on."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import apsw
from msgspec import MsgspecError

from backscroll.store.base import DamagedStoreError

ENGINE_COMPLAINTS: Final = re.compile("corrupt|io error|failed to|open file|unexpected end", re.IGNORECASE)
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def guarded(method: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Turn what the engines say of damaged files into one error that somebody can act on."""

    @wraps(method)
    def run(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        try:
            return method(*arguments, **named)
        except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError, MsgspecError) as error:
            raise DamagedStoreError(str(error)) from error
        except ValueError as error:
            if not ENGINE_COMPLAINTS.search(str(error)):
                raise
            raise DamagedStoreError(str(error)) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # the engine's own, when a file has what it cannot have
                raise
            raise DamagedStoreError(str(error)) from error

    return run
