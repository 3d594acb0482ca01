"""Starts and ends processes: free ports, readiness by polling, one log file each, nothing left running."""

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import settings

READY_WITHIN_SECONDS = 30
ENDED_WITHIN_SECONDS = 10


class NotReady(Exception):
    """A process ended, or did not get ready in time. The message has the end of its log."""


class Process:
    """A process in a session of its own, so that its children end with it."""

    def __init__(self, name: str, command: Sequence[str], env: dict[str, str], cwd: Path = settings.ROOT):
        settings.LOGS.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = settings.LOGS / f"{name}.log"
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def wait_until(self, ready: Callable[[], bool], what: str, seconds: float = READY_WITHIN_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if self.popen.poll() is not None:
                raise NotReady(f"{self.name} ended with {self.popen.returncode} before {what}:\n{self.log_end()}")
            if time.monotonic() > deadline:
                raise NotReady(f"{self.name}: not {what} within {seconds} s:\n{self.log_end()}")
            time.sleep(0.01)

    def log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def stop(self) -> None:
        """Asks, waits, insists. The group is ours: its id is the id of the process we started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.popen.pid, number)
            except ProcessLookupError:
                break
            try:
                self.popen.wait(ENDED_WITHIN_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        self.popen.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def answers_http(port: int) -> bool:
    """Any answer will do, as for the Azure host and for a TCP probe that waits for the program behind the port."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
