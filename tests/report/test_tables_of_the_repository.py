"""The tables in README and docs are those of the stored results, and `ropes tables` writes all of them."""

from pathlib import Path

import pytest

from ropes.cli.tables import Tables
from ropes.report.readme_tables import update

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    page.relative_to(REPOSITORY)
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
    if "\n<!-- table:" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_repository_pages_match_the_stored_results(page: Path) -> None:
    update(REPOSITORY / page, REPOSITORY / "results", check=True)


def test_the_command_writes_every_page_with_a_table() -> None:
    assert sorted(Tables().pages) == sorted(PAGES)
