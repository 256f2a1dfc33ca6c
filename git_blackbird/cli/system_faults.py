"""What the system refused, told as that: it is no bug of this program."""

import errno
import os

from git_blackbird.errors import UnusableError
from git_blackbird.model.system_faults import NO_MEMORY, NO_THREAD, refusal_hint
from git_blackbird.model.text import clean_line

# How Python words that the system gives it no thread, for which it has no error of its own.
_NO_THREAD = "can't start new thread"
# The system's loader of shared objects tells its reasons as text only.
_NOT_LOADED = {os.strerror(number): number for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)}


def as_system_fault(error: BaseException) -> UnusableError | None:
    """Give what to tell of an error that came of the system; None for any other."""
    match error:
        case OSError() if (hint := refusal_hint(error)) is not None:
            return UnusableError(_told(error), hint=hint)
        case MemoryError():
            return UnusableError("out of memory", hint=NO_MEMORY)
        case RuntimeError() if str(error) == _NO_THREAD:
            return UnusableError(str(error), hint=NO_THREAD)
        case ImportError() if (number := _not_loaded(error)) is not None:
            return UnusableError(
                f"cannot load a part of this program: {error}", hint=refusal_hint(OSError(number, ""))
            )
        case _:
            return None


def _told(error: OSError) -> str:
    text = os.strerror(error.errno or 0)
    name = error.filename
    return f"cannot use {clean_line(os.fsdecode(name))}: {text}" if isinstance(name, str | bytes) else text


def _not_loaded(error: ImportError) -> int | None:
    return next((number for text, number in _NOT_LOADED.items() if str(error).endswith(text)), None)
