"""Where things are, and the environment every process under test starts with."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = ROOT / "target"
BIN_DIR = ROOT / os.environ.get("PILOTLIGHT_BIN_DIR", "target/debug")
SAMPLES = ROOT / os.environ.get("PILOTLIGHT_SAMPLES", "events/samples")
VENV_BIN = TARGET / "venv" / "bin"
LAMBDA_EMULATOR = TARGET / "tools" / "aws-lambda-rie"
AWS_EVENTS = TARGET / "tools" / "aws-events"
NODE_PACKAGES = TARGET / "node"
LOGS = TARGET / "peers" / "platforms"

FUNCTIONS = ["on-pending-pod", "on-nodeclaim", "on-workspace", "on-idle-timer", "on-delete"]
CLUSTER_ID = "platform-tests"

# What a client must have to sign a request. Nothing here checks the signature.
AWS_CLIENT = {
    "AWS_ACCESS_KEY_ID": "unchecked",
    "AWS_SECRET_ACCESS_KEY": "unchecked",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
}


def binary(name: str) -> str:
    """The path of one of our binaries; a missing one is a clear error, not a failed test later."""
    path = BIN_DIR / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: build it first, or set PILOTLIGHT_BIN_DIR")
    return str(path)


def environment(**settings: str) -> dict[str, str]:
    """Nothing is inherited but what any program needs, so a developer's own variables change no answer."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    ours = {"PILOTLIGHT_BIND": "127.0.0.1", "PILOTLIGHT_CLUSTER_ID": CLUSTER_ID, "PILOTLIGHT_LOG_FORMAT": "text"}
    if "PILOTLIGHT_SIGNING_SECRETS" not in settings:
        ours["PILOTLIGHT_ALLOW_UNSIGNED"] = "true"
    return inherited | ours | settings
