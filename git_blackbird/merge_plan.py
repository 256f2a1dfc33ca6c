"""Entry point of the merge driver for the plan, which git calls with three files, in the form it knows.

It ends with 0 where the merge is clean, else with 1: the path is in conflict then, whatever the file has.
"""

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # as in hook.py
if _ROOT not in sys.path:
    sys.path.append(_ROOT)


def main(base: str, ours: str, theirs: str) -> int:
    """Merge the files into ``ours``."""
    from git_blackbird.clean import legible
    from git_blackbird.controller.plan.merge import merge_files  # git starts this file by its path

    merge = merge_files(base, ours, theirs)
    for remark in merge.remarks:
        sys.stderr.write(f"git-blackbird: {legible(remark)}\n")
    return 0 if merge.is_clean else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
