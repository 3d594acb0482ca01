"""An empty cluster and its clouds on loopback, for functions that work on one; `pilotlight replay` has its own."""

import contextlib

import settings
from processes import Process


def start(stack: contextlib.ExitStack) -> dict[str, str]:
    """Starts a world that ends with the stack. Returns the variables by which a function finds all of it."""
    kubeconfig, variables = settings.LOGS / "world.kubeconfig", settings.LOGS / "world.env"
    command = [settings.binary("world"), "--kubeconfig", str(kubeconfig), "--env-file", str(variables)]
    process = Process("world", command, settings.environment())
    stack.callback(process.stop)
    # Said when both files are complete; those of an earlier run may still lie there.
    process.wait_until(lambda: "API server" in process.log_end(), "serving")
    pairs = (line.split("=", 1) for line in variables.read_text().splitlines())
    return dict(pairs) | {"KUBECONFIG": str(kubeconfig)}
