"""Fixtures: the corpus, the world, and the platforms in the three settings the tests need."""

import contextlib
import signal

import pytest

import empty_world
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
def world():
    """The variables by which every function under test finds one empty cluster and its clouds."""
    with contextlib.ExitStack() as stack:
        yield empty_world.start(stack)


@pytest.fixture(scope="session")
def plain(world):
    """Platforms that accept unsigned events."""
    yield from _platforms("plain", **world)


@pytest.fixture(scope="session")
def rehearsing(world):
    """Platforms that answer a rehearsal with the answer in its data."""
    yield from _platforms("rehearsing", **world, PILOTLIGHT_ALLOW_REHEARSAL="true")


@pytest.fixture(scope="session")
def signed(world):
    """Platforms that want signatures."""
    yield from _platforms("signed", **world, PILOTLIGHT_SIGNING_SECRETS=" ".join(SECRETS))


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
