#!/usr/bin/env python3
"""Runs the curl lines of a document against a daemon: run_readme.py ADDRESS FILE...; exit 0 when all answer as shown.

A block looks like this, and is run with localhost:8080 replaced by ADDRESS; lines that do not begin with "$ curl" are
for the reader. A command goes on behind a backslash at its end.

    ```console
    $ curl localhost:8080/residual -d '{"x":[1,3],"update":[0.5,-0.5]}'
    {"y":[1.5,2.5],…
    ```

What follows must be what it prints, line by line, but for this: "…" stands for anything up to the end of its line, or
up to the text that follows it; a line that is only "…" for any number of lines; and a command followed by nothing only has to succeed.
"""
import re, subprocess, sys


def calls(text):
    """(line number, command, expected lines) of each curl command."""
    found, inside, current = [], False, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside, current = line.strip() == "```console", None
        elif inside and current and current[1].endswith("\\"):
            current[1] = current[1][:-1] + line.removeprefix(">")
        elif inside and line.startswith("$ "):
            current = [number, line[2:], []] if line.startswith("$ curl ") else None
            if current:
                found.append(current)
        elif inside and current:
            current[2].append(line)
    return found


def matches(expected, printed):
    """Whether printed is what the expected lines stand for."""
    pattern = ""
    for line in expected:
        pattern += r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed if printed.endswith("\n") else printed + "\n") is not None


def main():
    address, bad, total = sys.argv[1], 0, 0
    for name in sys.argv[2:]:
        for number, command, expected in calls(open(name, encoding="utf-8").read()):
            total += 1
            run = subprocess.run(["sh", "-c", re.sub(r"\bcurl ", "curl -sS ", command).replace("localhost:8080", address)],
                                 capture_output=True, text=True, timeout=60)
            while expected and not expected[-1].strip():
                expected.pop()
            if run.returncode == 0 and (matches(expected, run.stdout) if expected else not re.search(r'"urn:normd:problem', run.stdout)):
                continue
            bad += 1
            print(f"{name}:{number}: {command}\n  printed: {run.stdout}{run.stderr}")
    print(f"{total} commands run, {bad} wrong")
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
