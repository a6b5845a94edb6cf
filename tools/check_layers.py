#!/usr/bin/env python3
"""Fails when a file includes a folder that its own may not know, or one of two folders knows the other in a ring.

The rule is design, not taste: a newcomer who reads src/core must not need src/server. Public headers (include/weir)
name nothing in src/.
"""
import pathlib
import re
import sys

MAY = {
    "core": set(),
    "store": {"core"},
    "resp": {"core"},
    "net": set(),
    "redis": {"core", "store", "resp", "net"},
    "service": {"core", "store"},
    "server": {"core", "store", "resp", "net", "redis", "service"},
    "logs": {"core"},
    "sim": {"core", "logs"},
    "cli": {"core", "store", "resp", "net", "redis", "service", "server", "logs", "sim"},
}
# What a folder may take from outside, besides the standard library and weir/*.
OUTSIDE = {
    "include": {"tl/"},
    "core": {"tl/"},
    "store": {"tl/", "sys/", "fcntl.h", "time.h", "unistd.h"},
    "resp": set(),
    "net": {"boost/asio", "boost/system", "openssl/", "sys/", "unistd.h"},
    "service": {"tl/"},
    "redis": {"boost/asio", "boost/system", "openssl/", "sys/", "tl/", "unistd.h"},
    "server": {"boost/asio", "boost/system", "openssl/", "spdlog/", "sys/", "fnmatch.h", "unistd.h", "tl/"},
    "logs": {"arpa/", "fcntl.h", "fmt/", "netinet/", "poll.h", "simdjson.h", "sys/", "tl/", "unistd.h", "zlib.h", "zstd.h"},
    "sim": {"fcntl.h", "fmt/", "nlohmann/", "sys/", "tl/", "unistd.h"},
    "cli": {"CLI/", "boost/asio", "fcntl.h", "fmt/", "spdlog/", "tl/", "sys/", "unistd.h"},
}
TESTS_TOO = {"gtest/", "gmock/", "rapidcheck", "sys/", "unistd.h", "fcntl.h", "netinet/", "arpa/"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    wrong = []
    files = sorted([*root.glob("include/weir/*.hpp"), *root.glob("src/*/*.[ch]pp")])
    for path in files:
        relative = path.relative_to(root)
        folder = "include" if relative.parts[0] == "include" else relative.parts[1]
        outside = OUTSIDE[folder] | (TESTS_TOO if path.stem.endswith("_test") else set())
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quoted, name = match.groups()
            top = name.split("/")[0]
            where = f"{relative}:{number}: includes {name}: "
            if name.startswith("weir/"):
                continue
            if quoted == '"' and (folder == "include" or top not in MAY[folder] | {folder}):
                allowed = ", ".join(sorted(MAY.get(folder, set()))) or "only the standard library"
                wrong.append(where + f"{folder} may include {allowed}")
            if quoted == "<" and ("/" in name or name.endswith(".h")) and not name.startswith(tuple(outside) or "\0"):
                wrong.append(where + f"{folder} may take from outside only {', '.join(sorted(outside)) or 'std'}")
    for each in wrong:
        print(each)
    print(f"layers: {len(files)} files, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
