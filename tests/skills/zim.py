"""Makes a small ZIM file with libzim itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from libzim.writer import Creator, Hint, Item, StringProvider  # type: ignore[import-untyped]


class _Page(Item):  # type: ignore[misc]
    def __init__(self, title: str, html: str) -> None:
        super().__init__()
        self._title = title
        self._html = html

    def get_path(self) -> str:
        return self._title.replace(" ", "_")

    def get_title(self) -> str:
        return self._title

    def get_mimetype(self) -> str:
        return "text/html"

    def get_contentprovider(self) -> Any:  # noqa: ANN401 - libzim has no types
        return StringProvider(self._html)

    def get_hints(self) -> dict[Any, int]:
        return {Hint.FRONT_ARTICLE: True}


def make_zim(
    path: Path,
    pages: Mapping[str, str],
    redirections: Mapping[str, str] = {},
    title: str = "Test Encyclopedia",
) -> Path:
    """pages: HTML by title. redirections: from a title to another."""
    with Creator(path).config_indexing(True, "eng").config_nbworkers(1) as creator:
        for name, html in pages.items():
            creator.add_item(_Page(name, html))
        for name, target in redirections.items():
            creator.add_redirection(
                name.replace(" ", "_"), name, target.replace(" ", "_"), {Hint.FRONT_ARTICLE: True}
            )
        creator.add_metadata("Title", title)
        creator.add_metadata("Language", "eng")
    return path
