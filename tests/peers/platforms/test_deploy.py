"""`cargo lambda deploy` of all five zips to an AWS account in a process (moto), looked at by boto3."""

import json
import subprocess
import zipfile

import boto3
import pytest

import notes
import settings
from processes import Process, accepts_connections, free_port

ZIPS = settings.TARGET / "lambda"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture(scope="module")
def account():
    """Makes boto3 clients of a fresh account."""
    port = free_port()
    server = Process(
        "moto", [str(settings.VENV_BIN / "moto_server"), "-H", "127.0.0.1", "-p", str(port)], settings.environment()
    )
    try:
        server.wait_until(lambda: accepts_connections(port), "accepting connections")
        yield lambda service: boto3.client(
            service,
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name=settings.AWS_CLIENT["AWS_REGION"],
            aws_access_key_id=settings.AWS_CLIENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=settings.AWS_CLIENT["AWS_SECRET_ACCESS_KEY"],
        )
    finally:
        server.stop()


@pytest.fixture(scope="module")
def role(account) -> str:
    made = account("iam").create_role(RoleName="pilotlight", AssumeRolePolicyDocument=json.dumps(TRUST))
    return made["Role"]["Arn"]


def deploy(function: str, endpoint: str, role: str) -> dict:
    command = [
        str(settings.VENV_BIN / "cargo-lambda"), "lambda", "deploy", "--endpoint-url", endpoint,
        "--region", settings.AWS_CLIENT["AWS_REGION"], "--role", role, "--memory", "128", "--timeout", "60",
        "--env-var", f"PILOTLIGHT_CLUSTER_ID={settings.CLUSTER_ID}", "--lambda-dir", str(ZIPS),
        "--output-format", "json", function,
    ]  # fmt: skip
    env = settings.environment(**settings.AWS_CLIENT)
    run = subprocess.run(command, cwd=settings.ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    return json.loads(run.stdout[run.stdout.index("{") :])


@pytest.mark.parametrize("function", settings.FUNCTIONS)
def test_the_zip_of_a_function_is_one_executable_called_bootstrap(function):
    path = ZIPS / function / "bootstrap.zip"
    assert path.exists(), f"{path} is missing: cargo lambda build makes it, see README.md"
    with zipfile.ZipFile(path) as archive:
        [entry] = archive.infolist()
    notes.fact(f"zip: {function} {path.stat().st_size / 2**20:.2f} MiB, unpacked {entry.file_size / 2**20:.2f} MiB")
    assert entry.filename == "bootstrap"
    assert entry.external_attr >> 16 & 0o111 == 0o111, "everybody may execute it"


def test_all_five_functions_deploy_and_a_second_time_updates_them(account, role):
    client = account("lambda")
    for function in settings.FUNCTIONS:
        assert deploy(function, client.meta.endpoint_url, role)["version"] == "1"
    assert deploy(settings.FUNCTIONS[0], client.meta.endpoint_url, role)["version"] == "2"

    deployed = {function["FunctionName"]: function for function in client.list_functions()["Functions"]}
    assert sorted(deployed) == sorted(settings.FUNCTIONS)
    for name, function in deployed.items():
        assert function["Runtime"] == "provided.al2023", name
        assert function["CodeSize"] == (ZIPS / name / "bootstrap.zip").stat().st_size, name
