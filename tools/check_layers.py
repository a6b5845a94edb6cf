#!/usr/bin/env python3
"""Fails when a file includes a folder that its own may not know, or when folders know each other in a ring.

The rule is design, not taste: a newcomer who reads src/core must not need src/server. Public headers (include/weir)
name nothing in src/.
"""
import graphlib
import pathlib
import re
import sys

MAY = {
    "core": set(),
    "store": {"core"},
    "resp": {"core"},
    "resp conversation": {"core", "store", "service", "resp"},
    "net": set(),
    "redis": {"core", "store", "resp", "net"},
    "service": {"core", "store"},
    "server": {"core", "store", "resp", "resp conversation", "net", "redis", "service"},
    "logs": {"core"},
    "sim": {"core", "logs"},
    "cli": {"core", "store", "resp", "net", "redis", "service", "server", "logs", "sim"},
}
# The codec of resp needs nothing but core, and Redis' client is built of it; the rest of the folder is the
# conversation of a server, a target of its own (src/resp/CMakeLists.txt).
CODEC = {"inline_words", "number", "parser", "value", "writer"}
# Of net a protocol knows the interface that it implements.
SEAM = "net/conversation.hpp"
# What a folder may take from outside, besides the standard library and weir/*.
OUTSIDE = {
    "include": {"tl/"},
    "core": {"tl/"},
    "store": {"tl/", "sys/", "fcntl.h", "time.h", "unistd.h"},
    "resp": set(),
    "resp conversation": {"fnmatch.h"},
    "net": {"boost/asio", "boost/system", "openssl/", "sys/", "unistd.h"},
    "service": {"openssl/", "unistd.h"},
    "redis": {"boost/asio", "boost/system", "openssl/", "sys/", "tl/", "unistd.h"},
    "server": {"boost/asio", "boost/system", "openssl/", "spdlog/", "sys/", "fnmatch.h", "unistd.h", "tl/"},
    "logs": {"arpa/", "fcntl.h", "fmt/", "netinet/", "poll.h", "simdjson.h", "sys/", "tl/", "unistd.h", "zlib.h", "zstd.h"},
    "sim": {"fcntl.h", "fmt/", "nlohmann/", "sys/", "tl/", "unistd.h"},
    "cli": {"CLI/", "boost/asio", "fcntl.h", "fmt/", "spdlog/", "tl/", "sys/", "unistd.h"},
}
TESTS_TOO = {"gtest/", "gmock/", "rapidcheck", "sys/", "unistd.h", "fcntl.h", "netinet/", "arpa/"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path: str) -> str:
    """src/ left out; resp is two."""
    folder, _, name = path.partition("/")
    if folder == "resp" and name.split(".")[0].removesuffix("_test") not in CODEC:
        return "resp conversation"
    return folder


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    wrong = []
    files = sorted([*root.glob("include/weir/*.hpp"), *root.glob("src/*/*.[ch]pp")])
    for path in files:
        relative = path.relative_to(root)
        folder = "include" if relative.parts[0] == "include" else folder_of("/".join(relative.parts[1:]))
        outside = OUTSIDE[folder] | (TESTS_TOO if path.stem.endswith("_test") else set())
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quoted, name = match.groups()
            top = folder_of(name)
            where = f"{relative}:{number}: includes {name}: "
            if name.startswith("weir/") or (name == SEAM and folder == "resp conversation"):
                continue
            if quoted == '"' and (folder == "include" or top not in MAY[folder] | {folder}):
                allowed = ", ".join(sorted(MAY.get(folder, set()))) or "only the standard library"
                wrong.append(where + f"{folder} may include {allowed}")
            if quoted == "<" and ("/" in name or name.endswith(".h")) and not name.startswith(tuple(outside) or "\0"):
                wrong.append(where + f"{folder} may take from outside only {', '.join(sorted(outside)) or 'std'}")
    try:
        graphlib.TopologicalSorter(MAY).prepare()
    except graphlib.CycleError as error:
        wrong.append("a ring of folders: " + " -> ".join(error.args[1]))
    for each in wrong:
        print(each)
    print(f"layers: {len(files)} files, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
