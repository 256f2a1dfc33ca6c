"""Every record that was written since some time, each read once and none kept."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.provenance import RecordError
from git_blackbird.storage.files import open_folder
from git_blackbird.storage.record_file import ENDING, Found, load_record
from git_blackbird.storage.store import Store


def changed_records(store: Store, moment: int) -> Iterator[Found]:
    """Yield each record whose file changed then or later, reviews of changes too.

    ``moment`` is in nanoseconds since 1970.
    """
    store.ledger.refresh()
    for task_id in store.records.tasks():
        for folder in (store.paths.task_runs(task_id), store.paths.task_reviews(task_id)):
            try:
                descriptor = open_folder(store.paths.state_root, str(folder))
            except (FileNotFoundError, NotADirectoryError):
                break
            except OSError as error:
                yield RecordError(str(folder), error.strerror or str(error))
                break
            try:
                yield from _changed_in(store, _OpenFolder(folder, descriptor, task_id), moment)
            finally:
                os.close(descriptor)


class _OpenFolder(NamedTuple):
    """An open folder of a task's records."""

    path: Path
    descriptor: int
    task_id: TaskId


def _changed_in(store: Store, folder: _OpenFolder, moment: int) -> Iterator[Found]:
    for name in sorted(os.listdir(folder.descriptor)):
        if name.endswith(ENDING) and _is_changed_file(name, folder.descriptor, moment):
            yield load_record(store.ledger, f"{folder.path}/{name}", folder.task_id, folder.descriptor)


def _is_changed_file(name: str, folder: int, moment: int) -> bool:
    try:
        found = os.stat(name, dir_fd=folder)  # many of them, in an open folder
    except OSError:
        # That it cannot be read is said by whoever reads it.
        return True
    return found.st_mtime_ns >= moment and not stat.S_ISDIR(found.st_mode)
