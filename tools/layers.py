"""Which folder of src/ may know which: stated here once. check_layers.py checks it, draw_layers.py draws it.

A room is a folder of src/, or where a folder holds two things one of them. `may` names the rooms that its files may
include, or single headers of a room of which it may know no more. `outside` names the libraries of LIBRARIES. A
room has one target in CMake, weir_NAME, which links what its files include, and nothing else.
"""
import pathlib
import re
from typing import NamedTuple


class Room(NamedTuple):
    name: str
    what: str
    may: set = set()
    outside: set = set()
    files: set = set()  # their names without the ending, where a folder is two rooms; the other has the rest


ROOMS = {room.name: room for room in [
    Room("core", "the rule: quotas, GCRA, the window algorithms, text of durations, numbers, addresses, SipHash", set(), {"tl", "POSIX"}),
    Room("store", "the seam between asking and counting; the table of keys, reservations, snapshots",
         {"core"}, {"tl", "POSIX"}),
    Room("resp", "RESP2 and RESP3, the codec: bytes to words, answers to bytes; no sockets",
         {"core/number.hpp", "core/printable.hpp"}, files={"inline_words", "parser", "value", "writer"}),
    Room("resp conversation", "a server's side of one connection: commands and their replies",
         {"core", "store", "limits", "service questions", "service", "steering", "resp", "net/clients.hpp", "net/conversation.hpp"}, {"POSIX"}),
    Room("net", "event loops, listeners, TLS, sessions: no protocol, no store",
         {"core/notices.hpp", "core/regular_file.hpp"}, {"Asio", "OpenSSL", "POSIX"}),
    Room("redis", "Redis and Valkey as the store: the client, the script, what decides when they do not",
         {"core", "store", "resp", "net/timer.hpp", "net/tls.hpp"}, {"Asio", "OpenSSL", "tl"}),
    Room("waiting", "acquires: those who wait for their moment", {"core", "store"}),
    Room("limits", "the limits file: what it says, and what is wrong with it",
         {"core", "store"}, {"POSIX", "libyaml", "tl"}),
    Room("steering", "who may, what operators change, what they are told of", {"core", "store", "limits"}, {"OpenSSL", "tl"}),
    Room("service questions", "what is asked and what is told of it, whatever the protocol", {"store", "limits"},
         files={"ask", "question", "rule_texts", "told"}),
    Room("library", "what `include/weir` declares: limiters, reservations", {"core", "store"}),
    Room("library redis", "`weir::RedisStore`", {"library", "core", "store", "redis", "net/timer.hpp"}, {"Asio"}, files={"redis_store"}),
    Room("library limits", "`weir::Limits`", {"core", "library", "store", "limits", "service questions"}, files={"limits"}),
    Room("service", "what all connections share: who may ask, what is counted and told; no protocol",
         {"core", "store", "waiting", "limits", "service questions", "steering"}, {"OpenSSL", "POSIX", "tl"}),
    Room("http", "HTTP/1.1: a request's bytes, what it asks, its answer; no sockets",
         {"core", "store", "limits", "service questions", "service", "steering", "net/clients.hpp", "net/conversation.hpp"}, {"Asio", "Beast", "simdjson"}),
    Room("grpc", "gRPC on HTTP/2: bytes to calls, answers to bytes; no sockets", set(), {"nghttp2"}),
    Room("rls", "Envoy's rate limit service: its messages, what they ask, their answers",
         {"core", "store", "limits", "service questions", "service", "grpc", "net/conversation.hpp"}, {"protozero"}),
    Room("xds", "Envoy's rate limits from an xDS server: its messages, what is accepted and what refused; no sockets", {"core", "limits"},
         {"protozero", "tl"}),
    Room("server", "wiring: sockets, conversations and stores, put together", {"core", "store", "waiting", "limits", "resp", "resp conversation", "http", "grpc", "rls", "xds", "net", "redis", "service", "steering", "trial"},
         {"Asio", "Beast", "OpenSSL", "spdlog", "tl", "POSIX"}),
    Room("trial", "trying a limits file out: its tests, explanations, comparisons",
         {"core", "store", "limits", "service questions", "service/verbs.hpp"}),
    Room("engine", "whether weir's scripts hold on a Redis, or what claims to be one; no sockets", {"core", "store", "resp", "redis"}),
    Room("logs", "reading access logs: formats, times, merging by time",
         {"core"}, {"RE2", "simdjson", "zlib", "zstd", "POSIX"}),
    Room("sim", "replaying logs: deciding, suggesting, reports", {"core", "limits", "trial", "logs"}, {"fmt", "POSIX"}),
    Room("cli", "`main` and one file for each subcommand",
         {"core", "net", "resp", "server", "steering", "logs", "limits", "trial", "sim", "engine"}, {"CLI11", "Asio", "fmt", "simdjson", "POSIX"}),
]}


class Library(NamedTuple):
    headers: tuple  # how their names begin
    targets: set = set()  # what CMake calls it; one of them is enough


LIBRARIES = {
    "Asio": Library(("boost/asio", "boost/system"), {"Boost::headers"}),
    "Beast": Library(("boost/beast",), {"Boost::headers"}),
    "CLI11": Library(("CLI/",), {"CLI11::CLI11"}),
    "OpenSSL": Library(("openssl/",), {"OpenSSL::SSL", "OpenSSL::Crypto"}),
    "POSIX": Library(("arpa/", "dirent.h", "dlfcn.h", "fcntl.h", "fnmatch.h", "malloc.h", "netdb.h", "netinet/", "poll.h", "pthread.h", "sys/", "termios.h", "time.h",
                      "unistd.h")),
    "RE2": Library(("re2/",), {"${WEIR_RE2}"}),
    "fmt": Library(("fmt/",), {"fmt::fmt"}),
    "libyaml": Library(("yaml.h",), {"${WEIR_YAML}"}),
    "nghttp2": Library(("nghttp2/",), {"${WEIR_NGHTTP2}"}),
    "protozero": Library(("protozero/",)),
    "simdjson": Library(("simdjson.h",), {"simdjson::simdjson"}),
    "spdlog": Library(("spdlog/",), {"spdlog::spdlog"}),
    "tl": Library(("tl/",), {"tl::expected"}),
    "zlib": Library(("zlib.h",), {"ZLIB::ZLIB"}),
    "zstd": Library(("zstd.h",), {"${WEIR_ZSTD}"}),
}
PUBLIC = Room("include/weir", "what a user of the library includes", set(), {"Asio", "tl"})
# Of include/weir, what a user asks by. Below them nothing needs to know it.
FACADES = {f"weir/{name}.hpp" for name in ("acquire", "asio", "asio_acquire", "limiter", "limits", "redis")}
OF_TESTS = {"gtest/", "gmock/"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Include(NamedTuple):
    file: str    # from the root
    line: int
    system: bool  # <...>
    name: str
    target: str  # the file from the root; empty when it is not one of ours


class File(NamedTuple):
    path: str
    room: str
    test: bool
    includes: list


def room_of(path):
    """The name of a file's room; of a path from the root."""
    parts = pathlib.PurePath(path).parts
    if parts[0] == "include":
        return PUBLIC.name
    stem = parts[2].split(".")[0].removesuffix("_test")
    rooms = [room for room in ROOMS.values() if room.name.split()[0] == parts[1]]
    return next((room.name for room in rooms if stem in room.files),
                next((room.name for room in rooms if not room.files), parts[1]))


def read(root):
    """Every file of include/weir and src, and what it includes."""
    files = []
    for path in sorted([*root.glob("include/weir/*.hpp"), *root.glob("src/*/*.[ch]pp")]):
        includes = []
        relative = str(path.relative_to(root))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := INCLUDE.match(line):
                at = next((f"{base}/{match[2]}" for base in ("src", "include") if (root / base / match[2]).is_file()), "")
                includes.append(Include(relative, number, match[1] == "<", match[2], at))
        files.append(File(relative, room_of(relative), path.stem.endswith("_test"), includes))
    return files


def edges(files):
    """{(room, room it knows): its includes}, of what is built into the program."""
    found = {}
    for file in files:
        for include in file.includes:
            if include.target and not file.test and room_of(include.target) != file.room:
                found.setdefault((file.room, room_of(include.target)), []).append(include)
    return found


def ring(graph):
    """A ring in {node: nodes it knows}, from its first node back to it; empty when there is none."""
    done, path = set(), []

    def walk(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        path.append(node)
        for known in sorted(graph.get(node, ())):
            if found := walk(known):
                return found
        path.pop()
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node))), [])
