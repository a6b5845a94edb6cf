"""docs/limits.schema.json against the reader: the same keys, and what the schema refuses `weir lint` refuses too."""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end_to_end"))
from chance import chance
from server import PATIENCE, WEIR

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((ROOT / "docs/limits.schema.json").read_text())
NOW = "2026-11-21T12:00:00Z"

# Every key once, as JSON, which is YAML too.
WHOLE = {
    "version": 1,
    "attributes": ["tenant", "user", "units", "tokens", "plan"],
    "classes": ["critical", "default", "bulk"],
    "ceiling": "default",
    "hash_tag": "tenant",
    "lists": {"partners": ["acme", "globex"], "nets": {"file": "nets.txt"}},
    "limits": {
        "edge": {"rate": "20000/s burst 100000", "leave": {"default": "20%", "bulk": "50%"}, "reserve": "25%",
                 "on_store_error": "local 25%", "when_full": "deny",
                 "overrides": [{"until": "2026-12-01", "leave": {"bulk": "60%"}, "reserve": "12.5%"}]},
        "ip": {"by": ["ip"], "group_ip": {"v4": 32, "v6": 64}, "rate": "50/s burst 100", "deny": {"ip": "@nets"},
               "allow": {"ip": "10.0.0.0/8"}, "required": True},
        "tenant": {"by": "tenant", "within": "edge", "rate": ["100/s burst 200", "1000000/day"], "id": "old-tenant",
                   "overrides": [{"when": {"tenant": "@partners"}, "rate": ["400/s burst 800", "unlimited/day"],
                                  "guarantee": "200/s burst 100", "cost": 2, "reason": "TICKET-4711"},
                                 {"when": {"tenant": "acme"}, "cost": {"from": "units"}},
                                 {"when": {"tenant": "globex"}, "cost": [{"when": {"path": "/x"}, "cost": 3}]}]},
        "staff": {"within": "edge", "rate": "100/s", "guarantee": "10/s"},
        "search": {"by": ["tenant"], "rate": "10/s burst 20", "show": False, "shadow": "until 2027-01-15",
                   "cost": [{"when": {"path": ["/v1/deep*", "/v2"]}, "cost": 10}, {"cost": 1}]},
        "tokens": {"by": ["tenant"], "rate": "100000/min burst 50000", "max_wait": "1s", "cost": {"from": "tokens"}, "lease": {"units": 100, "for": "1s"},
                   "hold": {"estimate": 2000, "ttl": "60s", "at_most": "50%"}, "penalty": {"for": "5m", "growing": 1.5, "most": "12h", "then": "afresh"}, "in_flight": 5, "refunds": True,
                   "overrides": [{"when": {"tenant": "acme"}, "in_flight": 8, "penalty": {"for": "1m", "growing": 2, "most": "1h", "then": "afresh"}},
                                 {"when": {"tenant": "globex"}, "in_flight": "unlimited", "penalty": "0s"}]},
        "reports": {"by": ["user"], "rate": "100/h", "charge": "after", "track": True},
    },
    "routes": [{"when": {"path": "/healthz"}, "limits": []},
               {"when": {"tenant": "@partners"}, "class": "bulk", "limits": ["edge", "staff"]},
               {"when": {"tenant": "*"}, "limits": ["edge", "ip", "tenant", "search", "tokens"]},
               {"limits": ["reports"]}],
    "gateways": {"nginx": {"from": "x-original", "attributes": {"user": "header.x-user-id"}, "address": "header.x-real-ip",
                           "deny_status": 403, "on_missing": "deny", "odd_paths": "keep", "hold": True},
                 "caddy": {"from": "x-forwarded", "trusted": ["10.0.0.0/8", "::1"],
                           "token": {"header": "x-gate-token", "env": "GATE_TOKEN"}}},
    "rls": {"edge": {"attributes": {"remote_address": "ip", "user_id": "user"}, "unmapped": "drop"}},
    "answers": {"status": 429, "headers": ["retry-after", "ratelimit-11"]},
}
# Maps whose keys are names that the file chooses.
NAMED = [("lists",), ("limits",), ("gateways",), ("rls",)]
# What a mutant has in the place of something.
STRANGE = [None, "", "x", "1/s", "20%", "200%", 0, -1, 7, 10**30, True, [], {}, ["x"], ["1/s", "1/s"], {"x": "y"}, {"when": {}},
           "X Y", "unlimited", "2026-13-01", [[]], [{}]]


def resolved(schema):
    """The parts of a schema that are no more than another by its name, and their own."""
    yield schema
    if "$ref" in schema:
        yield from resolved(SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    for each in schema.get("oneOf", []) + schema.get("anyOf", []):
        yield from resolved(each)


def keys_of_schema(schema, path=()):
    """{path: keys} of every map whose keys are known; below a map of names, and in a list, the path has `*`."""
    found = {}
    for part in resolved(schema):
        if part.get("properties"):
            found[path] = set(part["properties"])
        for key, value in part.get("properties", {}).items():
            found.update(keys_of_schema(value, (*path, key)))
        for key in ("items", "additionalProperties"):
            if isinstance(part.get(key), dict):
                found.update(keys_of_schema(part[key], (*path, "*")))
    return found


def places(value, path=()):
    """The path of every part of a document."""
    yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        pathlib.Path(cls.folder.name, "nets.txt").write_text("203.0.113.0/24\n")
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        cls.schema = jsonschema.Draft202012Validator(SCHEMA)

    def lint(self, documents):
        """The errors of each document, by one run of the program."""
        names = []
        for number, document in enumerate(documents):
            names.append(os.path.join(self.folder.name, f"{number}.yaml"))
            pathlib.Path(names[-1]).write_text(json.dumps(document))
        done = subprocess.run([WEIR, "lint", "--json", "--now", NOW, *names], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.stderr, "")
        errors = {name: [] for name in names}
        for finding in json.loads(done.stdout)["findings"]:
            if finding["severity"] == "error":
                errors[finding["file"] if finding["file"] in errors else names[0]].append(finding)
        return [errors[name] for name in names]

    def test_the_document_with_every_key_is_right_for_both(self):
        self.assertEqual([error.message for error in self.schema.iter_errors(WHOLE)], [])
        self.assertEqual(self.lint([WHOLE]), [[]])

    def test_the_reader_and_the_schema_know_the_same_keys(self):
        """A key that nobody knows is put into every map; the reader then says which it knows."""
        expected = keys_of_schema(SCHEMA)
        named = [path for path in places(WHOLE) if isinstance(at(WHOLE, path), dict)]
        documents = []
        for path in named:
            documents.append(copy.deepcopy(WHOLE))
            at(documents[-1], path)["zzzzzzzzzzzz"] = "1/s"
        known = {}
        for path, errors in zip(named, self.lint(documents)):
            unknown = [re.search(r"^unknown; known: (.*)$", error["text"]) for error in errors]
            generic = tuple("*" if isinstance(key, int) or path[:i] in NAMED else key
                            for i, key in enumerate(path))
            for match in filter(None, unknown):
                known[generic] = set(match[1].split(", "))
        self.assertEqual(known, expected)

    def test_the_document_has_every_key(self):
        """So that the tests above and below look at each of them."""
        written = {}
        for path in places(WHOLE):
            generic = tuple("*" if isinstance(key, int) or path[:i] in NAMED else key
                            for i, key in enumerate(path))
            if isinstance(at(WHOLE, path), dict):
                written.setdefault(generic, set()).update(at(WHOLE, path))
        for path, keys in keys_of_schema(SCHEMA).items():
            self.assertEqual(keys - written.get(path, set()), set(), path)

    def test_what_the_schema_refuses_the_reader_refuses(self):
        rest = chance()
        every = list(places(WHOLE))[1:]
        documents = []
        for _ in range(20_000 if os.environ.get("WEIR_LONG") else 700):
            document = copy.deepcopy(WHOLE)
            path = rest.choice(every)
            around = at(document, path[:-1])
            what = rest.randrange(4)
            if what == 0:
                del around[path[-1]]
            elif what == 1 and isinstance(around, dict):
                around[path[-1] + rest.choice("xs_")] = around.pop(path[-1])
            else:
                around[path[-1]] = rest.choice(STRANGE)
            documents.append(document)
        refused = 0
        for document, errors in zip(documents, self.lint(documents)):
            wrong = [f"{list(error.absolute_path)}: {error.message}" for error in self.schema.iter_errors(document)]
            refused += 1 if wrong else 0
            if wrong:
                self.assertNotEqual(errors, [], f"{wrong}\n{json.dumps(document)}")
        self.assertGreater(refused, len(documents) // 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
