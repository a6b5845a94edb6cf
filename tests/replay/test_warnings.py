"""What a report warns of, first: logs that are read without a fault and yet say little."""
import datetime
import os
import pathlib
import stat
import unittest

from program import Folder, answer, run, weir

START = datetime.datetime(2026, 3, 17, 8)


def row(second, client, fraction=""):
    at = START + datetime.timedelta(seconds=second)
    return f'{client} - - [{at:%d/%b/%Y:%H:%M:%S}{fraction} +0000] "GET / HTTP/1.1" 200 12\n'


class Warnings(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)

    def log(self, clients, step=60):
        return self.folder.file("some.log", "".join(row(i * step, who) for i, who in enumerate(clients)))

    def test_each(self):
        plain = [f"192.0.2.{n % 5}" for n in range(60)]
        for what, clients, limit, words in (
                ("as it should be", plain, "100/min", None),
                ("a new client each", [f"client-{n}" for n in range(60)], "100/min", "nearly every request is a new client (60 of"),
                ("one client", ["192.0.2.1"] * 60, "100/min", "all 60 requests are of one client"),
                ("months", ["Nov", "Nov", "Dec", "Oct"] * 10, "100/min", "look like months"),
                ("times", ["05:49:47", "05:49:48"] * 20, "100/min", "look like times"),
                ("paths", ["/v1/x", "/v1/y"] * 20, "100/min", "look like paths"),
                ("a short log", plain, "100/d", "the log spans 59m, less than the period of '100/d'")):
            with self.subTest(what):
                path = self.log(clients) if what != "paths" else self.folder.file("some.csv", "time,ip\n" + "".join(
                    f"{1_773_734_400 + 60 * i},{who}\n" for i, who in enumerate(clients)))
                said = answer("replay", path, "--limit", limit)["warnings"]
                self.assertEqual(len(said), int(words is not None), said)
                code, text, errors = weir("replay", path, "--limit", limit)
                self.assertEqual((code, errors), (0, ""))
                if words:
                    self.assertIn(words, said[0])
                    self.assertTrue(text.startswith(f"warning: {said[0]}\n"), text)
                else:
                    self.assertNotIn("warning", text)

    def test_suggest_from_an_hour(self):
        """It does not offer a day's limit without saying so."""
        said = answer("suggest", self.log([f"192.0.2.{n % 5}" for n in range(60)]), "--deny-clients", "0%")
        day = [each["limit"] for each in said["suggestions"] if each["period"] == "d"]
        self.assertTrue(any(f"'{day[0]}'" in each and "less than the period" in each for each in said["warnings"]), said)

    def test_whole_seconds(self):
        for fraction, warned in (("", True), (".5", False)):
            path = self.folder.file("some.log", "".join(row(i, f"192.0.2.{i % 2}", fraction) * 4 for i in range(60)))
            with self.subTest(fraction):
                for limit, denied in (("1/s", True), ("9/s", False)):
                    said = answer("replay", path, "--limit", limit)["warnings"]
                    self.assertEqual(any("whole seconds" in each for each in said), warned and denied, said)


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        rows = "".join(f'{{"ts": {1_750_000_000 + n // 9}, "key": "sk_live_{n % 3}", "ip": "192.0.2.{n % 3}"}}\n'
                       for n in range(300))
        self.path = self.folder.file("some.jsonl", rows + '{"ts": "soon sk_live_7"}\n')

    def read(self, name):
        return pathlib.Path(self.folder.path, name).read_text()

    def test_a_page_has_no_names(self):
        for key, anonymize, shown, hidden in (("key", [], "client 1", "sk_live"), ("ip", [], "192.0.2.1", "sk_live"),
                                              ("ip", ["--anonymize"], "client 2", "192.0.2."),
                                              ("ip,key", [], "client 2", "192.0.2.")):
            with self.subTest(key, anonymize=anonymize):
                page = os.path.join(self.folder.path, "page.html")
                code, text, _ = weir("replay", self.path, "--limit", "1/s", "--key", key, "--html", page, *anonymize)
                self.assertEqual(code, 0)
                self.assertIn(shown, self.read("page.html"))
                self.assertNotIn(hidden, self.read("page.html"))
                self.assertEqual("client 1" in text, bool(anonymize))

    def test_json_has_names_unless_anonymize(self):
        plain = answer("replay", self.path, "--limit", "1/s", "--key", "key")
        self.assertEqual({each["client"] for each in plain["limits"][0]["worst"]}, {f"sk_live_{n}" for n in range(3)})
        code, text, _ = weir("replay", self.path, "--limit", "1/s", "--key", "key", "--anonymize", "--json")
        self.assertEqual(code, 0)
        self.assertNotIn("sk_live", text)

    def test_the_names_file(self):
        names = self.folder.file("names", "old\n")
        os.chmod(names, 0o644)
        code, _, errors = weir("replay", self.path, "--limit", "1/s", "--key", "key", "--names", names)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(self.read("names"), "".join(f"client {n + 1}\tsk_live_{n}\n" for n in range(3)))
        self.assertEqual(stat.S_IMODE(os.stat(names).st_mode), 0o600)

    def test_names_of_a_limits_file(self):
        limits = self.folder.file("limits.yaml", "version: 1\nlimits:\n  user: { by: [key], rate: 1/s }\n"
                                                 "  ip: { by: [ip], rate: 1/min }\n")
        names, page = os.path.join(self.folder.path, "names"), os.path.join(self.folder.path, "page.html")
        code, _, errors = weir("replay", self.path, "--limits", limits, "--names", names, "--html", page)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(self.read("names").splitlines()[3:], [
            "user key 1\tkey=sk_live_0", "user key 2\tkey=sk_live_1", "user key 3\tkey=sk_live_2",
            "ip key 1\tip=192.0.2.0", "ip key 2\tip=192.0.2.1", "ip key 3\tip=192.0.2.2"])
        self.assertIn("user key 1", self.read("page.html"))
        self.assertIn("ip=192.0.2.0", self.read("page.html"))
        self.assertNotIn("sk_live", self.read("page.html"))


if __name__ == "__main__":
    run()
