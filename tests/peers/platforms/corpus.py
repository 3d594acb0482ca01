"""The corpus: every sample file, and the answer a plain call in one process gives to it."""

import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import settings


@dataclass(frozen=True)
class Delivery:
    """One event on its way to one function."""

    file: str
    function: str
    body: bytes

    @property
    def text(self) -> str | None:
        """The body as text, or None where it is not UTF-8."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None

    @property
    def value(self) -> dict | None:
        """The event as an object, or None where decoding and encoding again would not give the same event."""
        try:
            value = json.loads(self.body, object_pairs_hook=_object_without_duplicates)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True)
class LeftOut:
    """A carrier cannot carry this event; the reason is printed."""

    reason: str


def samples(directory: Path = settings.SAMPLES) -> list[Delivery]:
    """Every sample, in order of name. The function is the text before the first dot."""
    files = sorted(directory.glob("*.json"))
    if not files:
        raise FileNotFoundError(f"no samples in {directory}")
    return [Delivery(file.name, file.name.split(".")[0], file.read_bytes()) for file in files]


def answers_of_plain_calls(directory: Path = settings.SAMPLES) -> dict[str, dict]:
    """The reference: file name to answer, from `pilotlight replay --via call`."""
    command = [settings.binary("pilotlight"), "replay", "--via", "call", "--output", "json", str(directory)]
    run = subprocess.run(command, env=settings.environment(), capture_output=True, text=True, timeout=60)
    if not run.stdout.strip():
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}:\n{run.stderr}")
    return {entry["file"]: entry["answer"] for entry in json.loads(run.stdout)}


def _object_without_duplicates(pairs: list[tuple[str, object]]) -> dict:
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} appears twice")
    return dict(pairs)
