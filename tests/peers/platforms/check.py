"""The one check: what was expected and what came, row by row, with a table of the rows that differ."""

import json
from dataclasses import dataclass

import pytest

import notes
from corpus import LeftOut

ROWS_SHOWN = 12


@dataclass(frozen=True)
class Row:
    file: str
    way: str
    expected: object
    got: object


def check(rows: list[Row]) -> None:
    """Passes when every row shows what was expected; rows that a carrier left out are printed in the summary."""
    sent = [row for row in rows if not isinstance(row.got, LeftOut)]
    for row in rows:
        if isinstance(row.got, LeftOut):
            notes.left_out(row.way, row.file, row.got.reason)
    assert sent, f"nothing was sent: {rows}"
    different = [row for row in sent if row.expected != row.got]
    if different:
        pytest.fail(f"{len(different)} of {len(sent)} answers differ\n\n{as_table(different)}", pytrace=False)


def as_table(rows: list[Row]) -> str:
    """One block a row: texts are too long to stand side by side."""
    file_width = max(len("file"), *(len(row.file) for row in rows))
    way_width = max(len("way"), *(len(row.way) for row in rows))
    lines = [f"{'file':{file_width}}  {'way':{way_width}}  expected / got"]
    for row in rows[:ROWS_SHOWN]:
        lines.append(f"{row.file:{file_width}}  {row.way:{way_width}}  {_short(row.expected)}")
        lines.append(f"{'':{file_width}}  {'':{way_width}}  {_short(row.got)}")
    if len(rows) > ROWS_SHOWN:
        lines.append(f"… and {len(rows) - ROWS_SHOWN} more")
    return "\n".join(lines)


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
