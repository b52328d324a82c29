"""Pages as tests read them, and rows to write one of."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ropes.evaluation import results
from ropes.evaluation.paper import ONE_CAMERA
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.report.html import write_report
from ropes.report.markdown import markdown

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects what a test asks for, and checks that every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def a_row(**changes: Any) -> Row:
    base: dict[str, Any] = {"setup": ONE_CAMERA, "joint": "panda_joint2", "split": "id", "occlusion": 0, "seed": 0}
    return Row.measured(**(base | {"mcc": (0.9, 0.01), "mse": (0.05, 0.002)} | changes))


def numbers_only(folder: Path, *rows: Row) -> str:
    content = Results(name="demo", preset="compact", device="CPU", version="0.1.0", seconds=1.0, rows=rows)
    results.write(folder / "results.json", content)
    write_report(folder, folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


def squared(found: Results) -> str:
    """The second Markdown table, of squared errors, and what follows it."""
    return markdown(found).partition("MSE, rad²:\n\n")[2]
