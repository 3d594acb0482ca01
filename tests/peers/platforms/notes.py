"""What the summary tells besides passes and failures: events a carrier cannot carry, and sizes."""

_left_out: dict[tuple[str, str], list[str]] = {}
_facts: list[str] = []


def left_out(way: str, file: str, reason: str) -> None:
    """An event that this way cannot carry."""
    ways = _left_out.setdefault((file, reason), [])
    if way not in ways:
        ways.append(way)


def fact(text: str) -> None:
    _facts.append(text)


def lines() -> list[str]:
    skipped = [f"left out: {file}: {reason} ({_short(ways)})" for (file, reason), ways in sorted(_left_out.items())]
    return skipped + _facts


def _short(ways: list[str]) -> str:
    return ways[0] if len(ways) == 1 else f"{ways[0]} and {len(ways) - 1} more"
