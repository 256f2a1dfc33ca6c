"""Puts the schemas and the page of all fields into a package; an editable install needs none."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GeneratedFiles(BuildHookInterface):  # type: ignore[type-arg,misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from git_blackbird.cli import schemas

        self._made = TemporaryDirectory()
        folder, page = Path(self._made.name, "schemas"), Path(self._made.name, "json.md")
        folder.mkdir()
        for name in schemas.NAMES:
            if name != "config":  # it is in the repository
                (folder / f"{name}.json").write_text(schemas.schema(name))
        build_data["force_include"][str(folder)] = "git_blackbird/schemas"
        prose = Path(self.root, "docs/json.md").read_text()
        page.write_text(f"{prose}\n{schemas.page()}")
        build_data["shared_data"][str(page)] = "share/doc/git-blackbird/json.md"

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        if version != "editable":
            self._made.cleanup()
