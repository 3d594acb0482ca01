"""The emulated Azure host keeps the original's habits: checked against a handler that shows what it was sent."""

import sys
from pathlib import Path

import pytest

import settings
from azure_host import AzureHost, HostStopped, InvocationFailed

HANDLER = [sys.executable, str(Path(__file__).with_name("azure_handler_stub.py"))]


@pytest.fixture(scope="module")
def host():
    host = AzureHost("stub-azure", HANDLER, settings.environment())
    yield host
    host.stop()


def test_the_envelope_is_chunked_and_names_the_invocation(host):
    seen = host.timer("echo").return_value
    assert seen["headers"]["transfer-encoding"] == "chunked"
    assert seen["headers"]["user-agent"].startswith("Azure-Functions-Host/")
    assert {"x-azure-functions-invocationid", "x-azure-functions-hostversion"} <= seen["headers"].keys()


def test_a_string_trigger_is_encoded_twice_and_an_object_once(host):
    assert host.queue("echo", 'say "hi"').return_value["envelope"]["Data"] == {"msg": r'"say \"hi\""'}
    assert host.event_grid_string("echo", "{}").return_value["envelope"]["Data"] == {"ev": '"{}"'}
    assert host.event_grid("echo", {"id": "1"}).return_value["envelope"]["Data"] == {"ev": {"id": "1"}}


def test_an_http_trigger_is_an_object_and_a_chunked_caller_has_no_body(host):
    request = host.http("echo", {"Content-Type": "text/plain"}, b"hi").return_value["envelope"]["Data"]["req"]
    assert (request["Method"], request["Headers"], request["Body"]) == ("POST", {"Content-Type": ["text/plain"]}, "hi")
    assert "Body" not in host.http("echo", {}, None).return_value["envelope"]["Data"]["req"]


@pytest.mark.parametrize("function", ["status-400", "status-503", "not-json", "json-called-text"])
def test_anything_but_json_with_a_2xx_is_a_failed_invocation(host, function):
    with pytest.raises(InvocationFailed):
        host.timer(function)


def test_a_string_output_that_looks_like_base64_reaches_the_binding_decoded(host):
    outputs = host.timer("string-outputs").outputs
    assert outputs == {"trapped": b"\xb5\xeb-", "safe": '{"a":1}'}


def test_a_handler_that_ends_three_times_stops_the_host():
    with pytest.raises(HostStopped):
        AzureHost("ending-azure", [sys.executable, "-c", "raise SystemExit(1)"], settings.environment())


def test_our_handler_without_secrets_and_without_leave_to_go_without_stops_the_host():
    env = settings.environment()
    del env["PILOTLIGHT_ALLOW_UNSIGNED"]
    with pytest.raises(HostStopped, match="PILOTLIGHT_SIGNING_SECRETS"):
        AzureHost("unsigned-azure", [settings.binary("pilotlight"), "serve"], env)
