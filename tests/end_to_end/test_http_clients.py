"""HTTP clients as people have them: each keeps its connections, and reads 200 and 429 as they are meant.

Every client asks more often than a limit allows that gains nothing meanwhile, and weir has counted its connections.
"""
import asyncio
import concurrent.futures
import json
import re
import shutil
import subprocess
import time
import unittest

import httpx
import requests
import urllib3

from server import PATIENCE, Folder, Server, environment, run, until

ALLOWED = 5  # by the limit that each test has a key of its own for
RATE = f"{ALLOWED}/day"
NAMES = ("limit", "remaining", "verdict")


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.server = cls.enterClassContext(Server("--threads", "2", "--http", "127.0.0.1:0"))
        cls.url = f"http://127.0.0.1:{cls.server.ports[-1]}/v1/check"

    def setUp(self):
        self.question = {"key": self.id(), "limit": RATE}
        self.body = json.dumps(self.question)
        self.before = self.accepted()

    def accepted(self):
        return int(self.server.info()["total_connections_received"])

    def connected(self, times, most=None):
        """That many connections have come since the test began, besides the one that asks this."""
        since = self.accepted() - self.before - 1
        self.assertTrue(times <= since <= (most or times), since)

    def run_client(self, *command, timeout=60):
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout, env=environment(), cwd=self.folder.path)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode()

    def expect(self, answers):
        """`answers` are (status, headers, body as text) in the order in which they were asked for."""
        self.assertEqual([status for status, _, _ in answers], [200] * ALLOWED + [429] * (len(answers) - ALLOWED))
        for number, (status, headers, text) in enumerate(answers, 1):
            answer = json.loads(text)
            left = max(ALLOWED - number, 0)
            self.assertEqual([answer[name] for name in NAMES], [ALLOWED, left, "allowed" if status == 200 else "denied"])
            self.assertEqual(headers["RateLimit-Policy"], f'"limit";q={ALLOWED};w=86400')
            self.assertTrue(headers["RateLimit"].startswith(f'"limit";r={left};t='), headers)
            self.assertEqual("Retry-After" in headers, status == 429, headers)
            self.assertEqual(headers["Content-Type"], "application/json" if status == 200 else "application/problem+json")


class Tools(Clients):
    def test_curl(self):
        for version in ("--http1.1", "--http1.0"):
            with self.subTest(version):
                body = json.dumps({"key": f"{self.id()} {version}", "limit": RATE})
                self.before = self.accepted()
                shown = self.run_client("curl", "-sS", version, "-H", "Connection: keep-alive", "--json", body, "-w",
                                        "%{http_code} %{num_connects}\n", "-D", "heads", *["-o", "body"] * 8, *[self.url] * 8)
                self.assertEqual([line.split()[0] for line in shown.splitlines()], ["200"] * ALLOWED + ["429"] * 3)
                self.assertEqual(sum(int(line.split()[1]) for line in shown.splitlines()), 1, shown)
                self.connected(1)

    def test_curl_fails_as_its_flag_says(self):
        asked = ("curl", "-sS", "--fail-with-body", "--json", self.body, self.url)
        for _ in range(ALLOWED):
            self.run_client(*asked)
        done = subprocess.run(asked, capture_output=True, timeout=PATIENCE, env=environment())
        self.assertEqual((done.returncode, json.loads(done.stdout)["verdict"]), (22, "denied"), done)

    def test_wrk(self):
        for pipelined in (1, 8):
            with self.subTest(pipelined=pipelined):
                body = json.dumps({"key": f"{self.id()} {pipelined}", "limit": RATE})
                self.before = self.accepted()
                self.folder.file("check.lua", f"""
                    local body = '{body}'
                    local asked
                    local threads = {{}}
                    function setup(thread) table.insert(threads, thread) end
                    function init()
                      allowed, denied, other = 0, 0, 0
                      asked = string.rep(wrk.format("POST", nil, {{["Content-Type"] = "application/json"}}, body), {pipelined})
                    end
                    function request() return asked end
                    function response(status, headers, text)
                      if status == 200 and text:find('"allowed":true', 1, true) then allowed = allowed + 1
                      elseif status == 429 and headers["Retry-After"] and text:find('"allowed":false', 1, true) then
                        denied = denied + 1
                      else other = other + 1 end
                    end
                    function done(summary)
                      local failed = 0
                      for _, name in ipairs({{"connect", "read", "write", "timeout"}}) do
                        failed = failed + summary.errors[name]
                      end
                      for _, thread in ipairs(threads) do
                        print(string.format("counted %d %d %d %d", thread:get("allowed"), thread:get("denied"),
                                            thread:get("other"), failed))
                      end
                    end""")
                shown = self.run_client("wrk", "-t1", "-c4", "-d1s", "-s", "check.lua", self.url)
                allowed, denied, other, failed = map(int, re.search(r"counted (\d+) (\d+) (\d+) (\d+)", shown).groups())
                self.assertEqual((allowed, other, failed), (ALLOWED, 0, 0), shown)
                self.assertGreater(allowed + denied, 4 * pipelined, shown)
                # It opens one before the others, to see whether anything listens.
                self.connected(5)

    def test_ab_which_speaks_http_1_0(self):
        self.folder.file("body", self.body)
        ab = ("ab", "-l", "-n", "200", "-c", "4", "-p", "body", "-T", "application/json")
        shown = self.run_client(*ab, "-k", self.url)
        for line in (r"Complete requests:\s+200", r"Keep-Alive requests:\s+200", r"Failed requests:\s+0",
                     rf"Non-2xx responses:\s+{200 - ALLOWED}"):
            self.assertRegex(shown, line)
        # When it has all its answers, it may have begun to ask for some more.
        self.connected(4, 8)
        # Without -k it wants each connection closed.
        self.before = self.accepted()
        self.assertRegex(self.run_client(*ab, self.url), r"Non-2xx responses:\s+200")
        self.connected(200, 204)

    def test_hey(self):
        hey = ("hey", "-n", "200", "-c", "4", "-m", "POST", "-T", "application/json", "-d", self.body)
        shown = self.run_client(*hey, self.url)
        self.assertEqual(re.findall(r"\[(\d+)\]\s+(\d+) responses", shown), [("200", str(ALLOWED)), ("429", str(200 - ALLOWED))])
        self.assertNotIn("Error", shown)
        # Go opens one more where it has not noticed yet that another is free.
        self.connected(1, 20)
        self.before = self.accepted()
        self.assertIn("[429]\t200 responses", self.run_client(*hey, "-disable-keepalive", self.url))
        self.connected(200, 204)


class Patience(Clients):
    """What docs/pacing.md says about the timeouts of clients that wait for an answer."""
    RULE = "1/2s burst 1"

    def question_of(self, kind):
        return {"key": f"{self.id()} {kind}", "limit": self.RULE, "max_wait": 10}

    def ask(self, kind, seconds):
        """The status of an answer that comes within these seconds; None where the client gives up."""
        url, question = self.url.replace("check", "acquire"), self.question_of(kind)
        if kind == "curl":
            shown = subprocess.run(["curl", "-sS", "--max-time", str(seconds), "-o", "/dev/null", "-w", "%{http_code}", "--json",
                                    json.dumps(question), url], capture_output=True, timeout=60, env=environment())
            return None if shown.returncode == 28 else int(shown.stdout)
        try:
            if kind == "requests":
                return requests.post(url, json=question, timeout=seconds).status_code
            if kind == "httpx":
                return httpx.post(url, json=question, timeout=seconds).status_code
            return urllib3.PoolManager().request("POST", url, body=json.dumps(question), retries=False,
                                                 headers={"Content-Type": "application/json"}, timeout=seconds).status
        except (requests.exceptions.ReadTimeout, httpx.ReadTimeout, urllib3.exceptions.ReadTimeoutError):
            return None

    def owed(self, kind):
        look = {"key": self.question_of(kind)["key"], "limit": self.RULE, "cost": 0}
        return requests.post(self.url, json=look, timeout=PATIENCE).json()["reset_after"]

    def test_one_that_gives_up_gives_its_moment_back_and_one_that_is_told_to_wait_gets_it(self):
        def both(kind):
            status = 200
            while status is not None:  # on a busy machine it may come when its moment has
                self.assertEqual(self.ask(kind, PATIENCE), 200, kind)
                began = time.monotonic()
                status = self.ask(kind, 0.3)
                self.assertTrue(status is None or time.monotonic() - began > 1.6, f"{kind} gave up: {status}")
            until(lambda: self.owed(kind) <= max(0, 2 - (time.monotonic() - began)) + 0.05, f"{kind} has given its moment back", 1.5)
            self.assertEqual(self.ask(kind, PATIENCE), 200, kind)
            self.assertGreater(time.monotonic() - began, 1.9, kind)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(both, ("curl", "requests", "httpx", "urllib3")))

    def test_httpx_gives_up_after_five_seconds_unless_told_otherwise(self):
        self.assertEqual(httpx.Client().timeout.read, 5)


class Libraries(Clients):
    def test_requests(self):
        with requests.Session() as session:
            answers = [session.post(self.url, json=self.question, timeout=PATIENCE) for _ in range(8)]
        self.expect([(each.status_code, each.headers, each.text) for each in answers])
        self.connected(1)
        with self.assertRaisesRegex(requests.HTTPError, "429 Client Error: Too Many Requests"):
            answers[-1].raise_for_status()

    def test_requests_waits_as_long_as_it_is_told(self):
        # Denied once, and allowed when Retry-After has passed: it asks no third time.
        retries = urllib3.Retry(total=1, status_forcelist=[429], allowed_methods=None, respect_retry_after_header=True)
        question = {"key": self.id(), "limit": "1/s"}
        with requests.Session() as session:
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retries))
            answers = [session.post(self.url, json=question, timeout=PATIENCE) for _ in range(2)]
        self.assertEqual([each.status_code for each in answers], [200, 200])
        self.connected(1)

    def test_httpx(self):
        with httpx.Client(timeout=PATIENCE) as client:
            answers = [client.post(self.url, json=self.question) for _ in range(8)]
        self.expect([(each.status_code, each.headers, each.text) for each in answers])
        self.connected(1)

    def test_httpx_with_many_at_once(self):
        async def many():
            limits = httpx.Limits(max_connections=4, max_keepalive_connections=4)
            async with httpx.AsyncClient(timeout=PATIENCE, limits=limits) as client:
                return await asyncio.gather(*[client.post(self.url, json=self.question) for _ in range(100)])
        answers = asyncio.run(many())
        self.assertEqual(sorted(each.status_code for each in answers), [200] * ALLOWED + [429] * (100 - ALLOWED))
        # Two threads decide, each as of when it read its clock. After one that read later there is a little less than a
        # whole unit, which is told as one less.
        left = sorted(each.json()["remaining"] for each in answers if each.status_code == 200)
        self.assertTrue(all(whole - 1 <= one <= whole for whole, one in enumerate(left)), left)
        self.connected(1, 4)

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node_fetch(self):
        program = """
            const [url, body] = process.argv.slice(1);
            const answers = [];
            for (let i = 0; i < 20; ++i) {
              const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
              answers.push([answer.status, Object.fromEntries(answer.headers), await answer.text()]);
            }
            console.log(JSON.stringify(answers));
            process.exit();"""
        shown = self.run_client("node", "--input-type=module", "-e", program, self.url, self.body)
        self.expect([(status, requests.structures.CaseInsensitiveDict(headers), text)
                     for status, headers, text in json.loads(shown)])
        # fetch() asks again before it knows that its connection is free, of Node's own server too.
        self.connected(1, 2)


if __name__ == "__main__":
    run()
