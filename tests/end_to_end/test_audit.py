"""The audit: what is changed is written before it happens, in a chain that shows what was changed afterwards. And
events, of which people are told."""
import http.server
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request

from server import ROOT, WEIR, Error, Folder, Server, encode, environment, until, weir, run as run_tests

FILE = """\
version: 1
attributes: [user]
limits:
  user: { by: [user], rate: 10/min }
routes:
  - { limits: [user] }
"""
NOT_WRITTEN = "not written: the audit file cannot be written; nothing has changed"


def lines_of(path):
    with open(path) as text:
        return [json.loads(line) for line in text]


class TestAudit(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.path = self.folder.file("audit.log")
        self.limits = self.folder.file("limits.yaml", FILE)

    def server(self, *flags, audit=True, **options):
        flags = (*flags, "--audit", self.path) if audit else flags
        return Server("--limits", self.limits, "--http", "127.0.0.1:0", "--threads", "2", *flags, **options)

    def verify(self, *files, code=0, flags=()):
        done = weir("audit", "verify", *flags, *(files or (self.path,)))
        self.assertEqual((done[0], done[2]), (code, ""), done[1])
        return done[1].rstrip("\n")

    def test_each_change_is_a_line_by_the_time_that_it_is_answered(self):
        with self.server() as server, server.client() as client:
            client.ask("WEIR.CHECK", "user=42")
            self.assertEqual(client.ask("WEIR.RESET", "AS", "LIMIT", "user", "user=42"), 1)
            self.assertEqual(client.ask("WEIR.CHECK", "user=42")[2], 9)
            line = lines_of(self.path)[-1]
            self.assertEqual({k: line[k] for k in ("user", "role", "address", "protocol", "verb", "limit", "when")},
                             {"user": "-", "role": "admin", "address": "127.0.0.1", "protocol": "resp", "verb": "RESET",
                              "limit": "user", "when": {"user": "42"}})
            client.ask("DEL", "a", "b")
            self.assertEqual((lines_of(self.path)[-1]["verb"], len(lines_of(self.path))), ("DEL", 3))
            self.assertEqual(server.post("/v1/reset", {"attributes": {"user": "42"}}), (200, {"reset": 1}))
            line = lines_of(self.path)[-1]
            self.assertEqual((line["protocol"], line["verb"], line["when"]), ("http", "RESET", {"user": "42"}))
            for body in ({}, {"limit": "none", "attributes": {"user": "1"}}, {"keys": ["a"]}):
                self.assertEqual(server.post("/v1/reset", body)[0], 400)
            # What is refused changes nothing, and what is asked neither.
            for words in (["WEIR.RESET", "AS", "LIMIT", "none", "user=1"], ["WEIR.RESET", "AS", "user"],
                          ["WEIR.CONFIG", "GET"], ["WEIR.CHECK", "user=1"], ["SHUTDOWN", "NOW", "X"]):
                client.ask(*words)
            self.assertEqual(len(lines_of(self.path)), 4)
            with open(self.limits, "w") as file:
                file.write(FILE.replace("10/min", "20/min"))
            client.ask("WEIR.CONFIG", "RELOAD")
            until(lambda: any(line["verb"] == "RELOAD" for line in lines_of(self.path)), "the file's line")
            verbs = {line["verb"]: line for line in lines_of(self.path)}
            self.assertEqual((verbs["CONFIG RELOAD"]["user"], verbs["RELOAD"]["user"]), ("-", "file"))
            self.assertEqual(verbs["RELOAD"]["after"], "limits.user.rate: 10/min -> 20/min")
            told = until(lambda: (told := [json.loads(line) for line in client.ask("WEIR.AUDIT", "COUNT", "1024")])
                         == lines_of(self.path)[::-1] and told, "the same lines in memory")
            with urllib.request.urlopen(f"http://127.0.0.1:{server.ports[1]}/v1/audit?count=2") as page:
                self.assertEqual(json.load(page)["lines"], told[:2])
            head = server.info()["audit_head"]
            self.assertIn(head, self.verify())
            self.verify(flags=("--head", head))
            client.send("SHUTDOWN")
            server.wait()
        self.assertEqual(lines_of(self.path)[-1]["verb"], "SHUTDOWN")
        self.assertIn("is not the one whose hash is " + head, self.verify(code=1, flags=("--head", head)))

    def test_a_pipeline_and_a_transaction_keep_their_order(self):
        with self.server() as server, server.client() as client:
            words = [["WEIR.CHECK", "user=1"], ["WEIR.RESET", "AS", "user=1"], ["WEIR.CHECK", "user=1"], ["DEL", "x"],
                     ["PING"], ["MULTI"], ["WEIR.CHECK", "user=1"], ["WEIR.RESET", "AS", "user=1"], ["EXEC"],
                     ["CLIENT", "REPLY", "SKIP"], ["DEL", "y"], ["ECHO", "end"]]
            client.send_bytes(b"".join(encode(*each) for each in words))
            got = [client.reply() for _ in range(10)]
            self.assertEqual([got[0][2], got[1], got[2][2], got[3], got[4]], [9, 1, 9, 0, "PONG"])
            self.assertEqual((got[8][0][2], got[8][1], got[9]), (8, 1, b"end"))
            self.assertEqual([line["verb"] for line in lines_of(self.path)], ["begin", "RESET", "DEL", "RESET", "DEL"])
        self.verify()

    def test_what_is_cut_reordered_or_edited_is_found(self):
        with self.server() as server, server.client() as client:
            for i in range(5):
                client.ask("DEL", f"k{i}")
        with open(self.path) as text:
            good = text.readlines()
        bad = self.folder.file("bad.log")

        def fault(lines):
            with open(bad, "w") as out:
                out.writelines(lines)
            return self.verify(bad, code=1).replace(bad, "FILE")
        changed = "the line before has been changed, or lines are missing"
        self.assertEqual(fault(good[:2] + good[3:]), "FILE:3: " + changed)
        self.assertEqual(fault(good[:2] + [good[3], good[2]] + good[4:]), "FILE:3: " + changed)
        self.assertEqual(fault([line.replace("k1", "k7") for line in good]), "FILE:4: " + changed)
        self.assertEqual(fault(good[1:]), "FILE:1: the file has lost its first line")
        self.assertEqual(fault(good[:3] + ["{}\n"] + good[3:]), "FILE:4: this is not a line of an audit")
        self.assertEqual(fault(good[:-1] + [good[-1][:20]]),
                         f"FILE:{len(good)}: half a line: it was being written when its server ended")
        self.assertEqual(fault(good[:2] + ["x" * (3 << 20) + "\n"] + good[2:]), "FILE:3: this is not a line of an audit")
        # What never ends a line is not kept: more of it than there is memory, by a pipe.
        endless = subprocess.run(["bash", "-c", 'ulimit -v 300000; head -c 2G /dev/zero | "$0" audit verify /dev/stdin', WEIR],
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual((endless.returncode, endless.stdout), (1, "/dev/stdin:1: this is not a line of an audit\n"), endless.stderr)
        self.assertEqual(json.loads(weir("audit", "verify", "--json", self.path)[1])["lines"], len(good))
        code, out, errors = weir("audit", "verify", self.folder.path)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("Is a directory", errors)
        self.assertEqual(weir("audit", "verify", self.folder.file("none"))[0], 2)

    def test_the_chain_goes_on_after_a_kill_and_in_another_file(self):
        with self.server(expect_exit=(-9,)) as server, server.client() as client:
            client.ask("DEL", "a")
            server.signal(signal.SIGKILL)
            server.wait()
        with open(self.path, "a") as file:
            file.write('{"time":"2026-11-2')
        with self.server() as server, server.client() as client:
            client.ask("DEL", "b")
            moved = self.folder.file("audit.log.1")
            os.rename(self.path, moved)
            server.signal(signal.SIGHUP)
            until(lambda: os.path.exists(self.path) and os.path.getsize(self.path), "another file")
            client.ask("DEL", "c")
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--audit", self.path)
            self.assertEqual((code, errors), (2, f"weir: audit: '{self.path}': another process writes to it\n"))
        self.assertEqual(lines_of(moved)[2]["torn"], '{"time":"2026-11-2')
        self.verify(moved, self.path)
        self.verify(self.path, moved, code=1)

    def test_with_a_full_disk_what_is_required_does_not_happen(self):
        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        for flags in ((), ("--audit-required",)):
            with self.subTest(flags):
                if os.path.exists(self.path):
                    os.remove(self.path)
                with self.server(*flags, preexec_fn=no_room) as server, server.client() as client:
                    answers = []
                    for i in range(4):
                        client.ask("WEIR.CHECK", f"user={i}")
                        answers.append(client.ask("WEIR.RESET", "AS", f"user={i}"))
                    posted = server.post("/v1/reset", {"key": "a"})
                    if flags:
                        self.assertEqual(answers, [1] + 3 * [Error("ERR " + NOT_WRITTEN)])
                        self.assertEqual((posted[0], posted[1]["detail"]), (503, NOT_WRITTEN))
                        self.assertEqual(client.ask("WEIR.CHECK", "user=3")[2], 8)
                        flood = [client.ask("WEIR.RESET", "AS", "user=3") for _ in range(30)]
                        # A flood's line names no key, and may just fit. What happened is what was written before.
                        self.assertIn(set(flood), ({Error("ERR " + NOT_WRITTEN)}, {1, Error("ERR " + NOT_WRITTEN)}))
                        told = sum(each.get("count", 1) for each in lines_of(self.path) if each["verb"] == "RESET")
                        self.assertEqual(told, 1 + flood.count(1), "however many there are in a second")
                        client.ask("MULTI")
                        client.ask("WEIR.RESET", "AS", "user=3")
                        self.assertEqual(client.ask("EXEC"), [Error("ERR " + NOT_WRITTEN)])
                    else:
                        self.assertEqual((answers, posted), ([1, 1, 1, 1], (200, {"reset": 0})))
                        until(lambda: '"verb":"RESET"' in server.stderr(), "the line is in the log")
                    self.assertGreaterEqual(int(server.info()["audit_errors"]), 4)
                self.verify()

    def test_options_of_the_audit_are_judged(self):
        self.assertIn("audit-required needs --audit", weir("serve", "--audit-required")[2])
        with self.server(audit=False) as server, server.client() as client:
            client.ask("DEL", "a")
            until(lambda: len(client.ask("WEIR.AUDIT")) == 1, "a line in memory")
            known = "unknown option 'TO'; the form is WEIR.AUDIT [COUNT n]"
            for words, error in ((["TO", "1"], known), (["COUNT", "0"], "COUNT"), (["COUNT", "1025"], "COUNT"), (["COUNT", "x"], "COUNT")):
                self.assertIn(error, client.ask("WEIR.AUDIT", *words))
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{server.ports[1]}/v1/audit?count=1025&a=b")
            with refused.exception as error:
                self.assertEqual((error.code, len(json.load(error)["errors"])), (400, 2))


class TestEvents(unittest.TestCase):
    def test_people_are_told_of_files_and_of_the_store(self):
        with Folder() as folder:
            limits, events = folder.file("limits.yaml", FILE), folder.file("events.jsonl")
            listener = socket.create_server(("127.0.0.1", 0))
            store = f"redis://127.0.0.1:{listener.getsockname()[1]}"
            listener.close()
            with Server("--limits", limits, "--store", store, "--events", events, "--events",
                        "unix:" + folder.file("none")) as server:
                with open(limits, "w") as file:
                    file.write("version: 7\n")
                server.signal(signal.SIGHUP)
                until(lambda: os.path.exists(events) and len(lines_of(events)) >= 2, "two events")
                told = {each["event"]: each for each in lines_of(events)}
                self.assertEqual(set(told), {"store_failed", "file_refused"})
                self.assertIn("Connection refused", told["store_failed"]["reason"])
                self.assertIn("version", told["file_refused"]["reason"])
                self.assertEqual(told["file_refused"]["server"], socket.gethostname())
                server.signal(signal.SIGHUP)
                server.says("events: unix:")
            self.assertEqual(len(lines_of(events)), 2)

    def test_the_recipes_pass_them_on(self):
        got = []

        class Slack(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass
        events = "".join(json.dumps(each) + "\n" for each in (
            {"time": "now", "event": "denied", "server": "a", "limit": "user", "key": "user=1"},
            {"time": "now", "event": "banned", "server": "a", "limit": "user", "key": "<!channel>", "reason": "a & b"}))
        with http.server.HTTPServer(("127.0.0.1", 0), Slack) as slack:
            threading.Thread(target=slack.serve_forever, daemon=True).start()
            done = subprocess.run([sys.executable, os.path.join(ROOT, "examples/events/slack.py")],
                                  input=events + "half a li", env=environment(SLACK_URL=f"http://127.0.0.1:{slack.server_port}/x"),
                                  capture_output=True, text=True, timeout=60)
            slack.shutdown()
        self.assertEqual(got, [{"text": "weir on a: banned, limit user, key &lt;!channel&gt;, reason a &amp; b"}])
        self.assertTrue(done.stderr.startswith("slack.py: JSONDecodeError"), done.stderr)


if __name__ == "__main__":
    run_tests()
