#!/bin/sh
# openapi.json against the OpenAPI 3.1 schema, and its examples against their own schemas, where Python has the validators.
python3 -c 'import openapi_spec_validator, jsonschema' 2>/dev/null || { echo "skipped: python3 has no openapi_spec_validator"; exit 77; }
exec python3 - <<'PY'
import json
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

doc = json.load(open("api/openapi.json"))
validate(doc)
n = 0


def check(content, where):
    global n
    schema = dict(content["schema"], components=doc["components"])
    Draft202012Validator.check_schema(schema)
    for example in [e["value"] for e in content.get("examples", {}).values()] + [content[k] for k in ("example",) if k in content]:
        Draft202012Validator(schema).validate(example)
        n += 1


for path, operations in doc["paths"].items():
    for operation in operations.values():
        for part in [operation.get("requestBody", {})] + list(operation["responses"].values()):
            for content in part.get("content", {}).values():
                check(content, path)
print(n, "examples fit their schemas")
assert n > 20
PY
