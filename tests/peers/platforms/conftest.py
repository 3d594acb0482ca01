"""Fixtures: the corpus, and the platforms in the three settings the tests need."""

import contextlib
import signal

import pytest

import notes
from corpus import answers_of_plain_calls, samples
from platforms import Platforms
from signing import SECRETS


@pytest.fixture(scope="session")
def deliveries():
    return samples()


@pytest.fixture(scope="session")
def answers():
    """The answers of plain calls, by file name."""
    return answers_of_plain_calls()


@pytest.fixture(scope="session")
def plain():
    """Platforms that accept unsigned events."""
    yield from _platforms("plain")


@pytest.fixture(scope="session")
def rehearsing():
    """Platforms that answer a rehearsal with the answer in its data."""
    yield from _platforms("rehearsing", PILOTLIGHT_ALLOW_REHEARSAL="true")


@pytest.fixture(scope="session")
def signed():
    """Platforms that want signatures."""
    yield from _platforms("signed", PILOTLIGHT_SIGNING_SECRETS=" ".join(SECRETS))


def _platforms(name: str, **variables: str):
    with contextlib.ExitStack() as stack:
        yield Platforms(name, stack, **variables)


def pytest_configure():
    """Asked to end, end as for Ctrl-C: the fixtures stop what they started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    lines = notes.lines()
    if lines:
        terminalreporter.section("what else there is to know")
        for line in lines:
            terminalreporter.line(line)
