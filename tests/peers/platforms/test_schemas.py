"""The generated JSON Schemas, judged by somebody else's validator: good samples pass, and what is wrong does not."""

import json

import pytest
from jsonschema import Draft202012Validator

from settings import ROOT, SAMPLES

SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (ROOT / "events/schema/json").glob("*.json")}
EVENTS = {path.name: path.read_bytes() for path in sorted(SAMPLES.glob("*.json"))}


def known(sample: bytes) -> dict | None:
    """The event, if it is JSON and of a type that has a schema."""
    try:
        event = json.loads(sample)
    except json.JSONDecodeError:
        return None
    return event if isinstance(event, dict) and event.get("type") in SCHEMAS else None


def is_valid(event: dict) -> bool:
    return Draft202012Validator(SCHEMAS[event["type"]]).is_valid(event)


def test_every_schema_is_a_schema():
    assert len(SCHEMAS) >= 7
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", [name for name in EVENTS if ".bad-" not in name and known(EVENTS[name])])
def test_a_good_sample_is_valid(name):
    validator = Draft202012Validator(SCHEMAS[known(EVENTS[name])["type"]])
    assert [error.message for error in validator.iter_errors(known(EVENTS[name]))] == []


# A validator does not see a key twice, reads "format" as a remark, and does not know how long another list of the event is
# (a snapshot's labels are indices into its words).
BEYOND_A_SCHEMA = ("bad-duplicate-key", "bad-time", "bad-snapshot")


@pytest.mark.parametrize("name", [name for name in EVENTS if ".bad-" in name and known(EVENTS[name])])
def test_a_bad_sample_is_not_valid(name):
    if any(case in name for case in BEYOND_A_SCHEMA):
        pytest.skip("what is wrong here cannot be said in a JSON Schema")
    assert not is_valid(known(EVENTS[name]))
