"""Recognize names that no tree entry may have: git accepts trees with them, but never writes one."""

import os
import re

from git_blackbird.model.base.own_files import HIDDEN

# What HFS+ does not see in a name, as in git's core.protectHFS.
_UNSEEN = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
# What ends a name for NTFS, as in git's core.protectNTFS.
_NTFS_ENDS = re.compile(r"[\\:]")
_GIT_NAMES = frozenset({".git", "git~1"})
_OUTSIDE = frozenset({b"", b".", b".."})
# In small letters: some file systems know no others.
_STATE = frozenset(os.fsencode(name).lower() for name in HIDDEN)
_MODULES = b".gitmodules"


def is_unsafe(name: bytes) -> bool:
    """Whether an entry's name leads out of its folder, or is that of a git directory on some file system."""
    if name in _OUTSIDE or b"/" in name:
        return True
    if b"git" not in name.lower() and name.isascii():
        return False
    seen = name.decode(errors="surrogateescape").translate(_UNSEEN).lower()
    return any(part.rstrip(" .") in _GIT_NAMES for part in _NTFS_ENDS.split(seen))


def is_reserved(name: bytes, *, is_link: bool) -> bool:
    """Whether an entry at the top is no part of any change: state, plan, a link to a list of submodules."""
    known = name.lower()
    return known in _STATE or (known == _MODULES and is_link)
