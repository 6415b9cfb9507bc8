"""For the site: the contents of the start page, links that leave `docs/`, and links to edit a page.

`REPOSITORY` is the address of the repository, which a workflow on GitHub knows by itself. Without one, links
lead to the files of the clone that the site was built in, so that they work there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONTENTS: list[tuple[str, list[tuple[str, str]]]] = []
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def repository() -> str | None:
    """Return the address of the repository, if the environment names one."""
    if address := os.environ.get("REPOSITORY"):
        return address.rstrip("/")
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return f"{server}/{name}" if server and name else None


def address(path: Path, page: Path, kind: str = "blob") -> str:
    """Return where a file or folder of the repository is match from a built page."""
    if base := repository():
        return f"{base}/{'tree' if path.is_dir() else kind}/main/{path.relative_to(ROOT).as_posix()}"
    return Path(os.path.relpath(path, page.parent)).as_posix()


def on_nav(nav: Any, *, config: Any, files: Any) -> None:
    """Remember the table of contents: sections with the titles and paths of their pages.

    For pages opened from a folder, the plugin `offline` would load a script from the network. Ours is local.
    """
    config["extra"]["polyfills"] = ["worker.js"]
    CONTENTS[:] = [
        (item.title, [(page.title, page.file.src_uri) for page in item.children])
        for item in nav.items
        if item.is_section
    ]


def contents() -> str:
    """Return the table of contents as lists of links, for the start page."""
    lines = []
    for title, pages in CONTENTS:
        lines += [f"**{title}**", "", *(f"- [{name}]({path})" for name, path in pages), ""]
    return "\n".join(lines)


def on_page_markdown(text: str, *, page: Any, config: Any, files: Any) -> str:
    """Point links that leave `docs/` to the repository, and set the link to edit the page."""
    source, built = Path(page.file.abs_src_path), Path(page.file.abs_dest_path)
    docs = Path(config["docs_dir"]).resolve()
    page.edit_url = address(source, built, kind="edit")

    def link(pages: re.Match[str]) -> str:
        words, target, anchor = pages[1], (source.parent / pages[2]).resolve(), pages[3] or ""
        if target.is_relative_to(docs):
            return pages[0]
        if not target.exists():
            raise FileNotFoundError(f"{source.relative_to(docs)} links to {pages[2]}, which does not exist")
        return f'<a href="{address(target, built)}{anchor}">{words.replace("`", "")}</a>'

    return LINK.sub(link, text.replace("<!-- contents -->", contents()))
