#!/usr/bin/env python3
"""Calls every operation of a running daemon's /openapi.json with each of its examples: call_examples.py BASE_URL.

Exit 0 when each is answered with a 2xx and, where the answer is JSON, with valid JSON. Standard library only."""
import json, sys, urllib.error, urllib.parse, urllib.request


def ask(base, method, path, content=None, kind=None):
    request = urllib.request.Request(base + path, content, {"Content-Type": kind} if kind else {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Content-Type", ""), error.read()


def resolve(document, node):
    while isinstance(node, dict) and "$ref" in node:
        target = document
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def bodies(document, operation):
    """(content type, bytes) of each example; one (None, None) for an operation without a body."""
    content = resolve(document, operation.get("requestBody", {})).get("content", {})
    found = []
    for kind, media in content.items():
        examples = [resolve(document, e)["value"] for e in media.get("examples", {}).values()]
        examples += [media["example"]] if "example" in media else []
        found += [(kind, json.dumps(e).encode()) for e in examples]
    if content and not found:
        return None
    return found or [(None, None)]


def fill(document, path, parameters):
    for p in (resolve(document, p) for p in parameters):
        if p["in"] == "path":
            schema = p.get("schema", {})
            value = p.get("example", schema.get("example", (schema.get("enum") or [None])[0]))
            path = path.replace("{%s}" % p["name"], urllib.parse.quote(str(value)))
    return path


def main():
    base, bad, calls = sys.argv[1].rstrip("/"), 0, 0
    document = json.loads(ask(base, "GET", "/openapi.json")[2])
    for path, item in document["paths"].items():
        for method in ("get", "head", "post", "put", "delete"):
            if method not in item:
                continue
            operation = item[method]
            examples = bodies(document, operation)
            if examples is None:
                bad += 1
                print(f"{method} {path}: no example")
                continue
            for kind, content in examples:
                where = fill(document, path, item.get("parameters", []) + operation.get("parameters", []))
                status, answer_kind, answer = ask(base, method.upper(), where, content, kind)
                calls += 1
                try:
                    if not 200 <= status < 300:
                        raise ValueError(f"status {status}")
                    if "json" in answer_kind and method != "head":
                        json.loads(answer)
                except ValueError as error:
                    bad += 1
                    print(f"{method} {where} {(content or b'')[:80].decode()}: {error}: {answer[:200].decode(errors='replace')}")
    print(f"{calls} examples called, {bad} wrong")
    return 1 if bad or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
