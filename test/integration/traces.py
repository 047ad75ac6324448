"""What is in a trace of the flight recorder: each line as config/trace.schema.json says, none left out."""
import json

import jsonschema

from processes import ROOT, request

VALIDATOR = jsonschema.Draft202012Validator(json.loads((ROOT / "config/trace.schema.json").read_text()))


def lines_of(text):
    """(head, [line...])"""
    head, *lines, end = [json.loads(line) for line in text.splitlines()]
    for line in (head, *lines, end):
        VALIDATOR.validate(line)
    assert [line["seq"] for line in lines] == list(range(head["first"], head["next"]))
    assert end == {"type": "end", "lines": len(lines)} and head["complete"] == (head["first"] == 1)
    return head, lines


def trace(fgpu):
    r = request(fgpu.ops, "GET", "/v1/trace")
    assert r.status == 200, r.body
    return lines_of(r.body.decode())


def of_type(lines, *types):
    return [line for line in lines if line["type"] in types]
