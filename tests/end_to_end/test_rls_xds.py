"""Envoy's rate limits from an xDS server: what it sends is in force, what cannot be used is refused, and a server that
is away, deaf or wrong keeps no request waiting."""
import time
import unittest
import urllib.error
import urllib.request

import grpc

from rls import OK, OVER, Client, Limit
from rls import descriptor as asked
from server import PATIENCE, Folder, Server, run, until, weir
from test_tls import Authority
from xds import DAY, HEAD, HOUR, SETTINGS, TYPE, Deaf, Xds, config, descriptor, frame, rate_limit, response

FAST = ("--rls-xds-retry", "100ms,200ms")
RLS = ("--rls", "127.0.0.1:0", "--admin", "127.0.0.1:0")
NOTHING_LOADED = ("UNKNOWN", "no rate limit configuration loaded")


def shop(count):
    return config("shop", descriptor("user", limit=rate_limit(DAY, count)))


class Weir(Server):
    def __init__(self, xds, *flags, **options):
        super().__init__(*RLS, "--rls-xds", xds.address, *FAST, *flags, **options)
        self.rls = Client(self.ports[1])

    def __exit__(self, *args):
        self.rls.close()
        super().__exit__(*args)

    def limit(self, domain="shop", **entry):
        """What is in force for a user."""
        return self.rls.ask(domain, asked(**(entry or {"user": "u"}), hits=0)).statuses[0].limit

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[2]}/readyz", timeout=PATIENCE) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[2]}/metrics", timeout=PATIENCE) as reply:
            return reply.read().decode()


class FromXds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # It takes 10 s until it is given up: meanwhile there are the other tests.
        cls.deaf, folder = Deaf(), Folder()
        limits = folder.file("limits.yaml", "version: 1\nattributes: [user]\nlimits: { user: { by: [user], rate: 5/h } }\nrls: { edge: {} }\n")
        cls.beside_deaf = Weir(cls.deaf, "--limits", limits)
        for each in (folder, cls.deaf, cls.beside_deaf):
            cls.addClassCleanup(each.__exit__, None)

    def test_what_the_server_sends_is_in_force(self):
        with Xds() as xds, Weir(xds, "--rls-xds-node", "envoy-ratelimit", "--rls-xds-metadata", "zone=a", "--rls-xds-metadata", "team=b=c",
                                "--rls-xds-header", "X-Token=secret") as server:
            first = until(lambda: list(xds.requests), "the first request")[0]
            self.assertEqual(first, ("", "", "envoy-ratelimit", {"zone": "a", "team": "b=c"}, TYPE, None))
            self.assertEqual(xds.headers[0]["x-token"], "secret")
            self.assertEqual(server.rls.refused(server.rls.ask, "shop", asked(user="u")), NOTHING_LOADED)
            self.assertEqual((server.ready(), server.rls.health()), ((503, f"no rate limits have come from {xds.address}\n"), 2))
            self.assertEqual(xds.send("1", shop(2)).version, "1")
            self.assertEqual((server.ready(), server.rls.health()), ((200, "ok\n"), 1))
            codes = [server.rls.ask("shop", asked(user="u")).code for _ in range(3)]
            self.assertEqual(codes, [OK, OK, OVER])
            self.assertEqual(xds.send("2", shop(2), config("other", descriptor("k", "v", rate_limit(HOUR, 9, name="n"), shadow=True))).error, None)
            self.assertEqual(server.limit("other", k="v"), Limit(9, HOUR, "n"))
            self.assertEqual(server.rls.ask("shop", asked(user="u")).code, OVER, "what was counted stays")
            self.assertIn('limit="other.k_v"', server.metrics())
            info = server.info()
            self.assertEqual([info[f"rls_{each}"] for each in ("file", "domains", "limits", "reloads", "xds_version", "xds_state")],
                             [xds.address, "2", "2", "1", "2", "up"])
            server.says(f"rls-xds: '{xds.address}' is in force: version '2', 2 domains, 2 limits")
            self.assertNotIn("secret", server.stderr())

    def test_it_comes_back_with_less(self):
        with Xds() as xds, Weir(xds) as server:
            xds.send("1", shop(2), config("other", descriptor("k", limit=rate_limit(HOUR, 9))))
            self.assertEqual(server.limit("other", k="v"), Limit(9, HOUR, ""))
            xds.send("2", shop(3))
            self.assertIsNone(server.limit("other", k="v"), "a domain that is not there any more")
            self.assertEqual(server.limit(), Limit(3, DAY, ""))
            self.assertEqual(xds.send("3")[:2], ("3", xds.requests[-1].nonce), "an empty list is accepted")
            self.assertIsNone(server.limit())
            self.assertEqual(server.info()["rls_domains"], "0")
            server.says("has no rate limits, so no domain is known and nothing is limited")

    def test_what_cannot_be_used_is_refused(self):
        with Xds() as xds, Weir(xds) as server:
            bad = config("shop", descriptor("user", limit=rate_limit(0, 1)), descriptor(""), name="edge")
            why = "edge: invalid rate limit unit 'UNKNOWN'; it is one of second, minute, hour, day, week, month and year"
            answer = xds.send("0", bad)
            self.assertEqual((answer.version, answer.error), ("", why + "; edge: descriptor has empty key"))
            self.assertEqual(server.rls.refused(server.rls.ask, "shop", asked(user="u")), NOTHING_LOADED)
            xds.send("1", shop(2))
            answer = xds.send("2", shop(2), shop(3))
            self.assertEqual((answer.version, answer.error), ("1", "shop: duplicate domain 'shop' in config file; it is in shop already"))
            self.assertEqual(server.limit(), Limit(2, DAY, ""), "the old one stays")
            info = server.info()
            self.assertEqual((info["rls_xds_version"], info["rls_reload_errors"], info["rls_last_error"]), ("1", "2", answer.error))
            server.says(f"rls-xds: version '2' of '{xds.address}' is refused")
            # A server says the same again at once.
            before = time.monotonic()
            self.assertEqual(xds.send("2", shop(2), shop(3)).error, answer.error)
            self.assertGreater(time.monotonic() - before, 0.9)
            self.assertEqual(server.info()["rls_reload_errors"], "2", "it is not compiled again")
            cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
            answer = xds.send("3", shop(4), type_url=cluster)
            self.assertEqual((answer.version, answer.error), ("1", f"the type is '{cluster}' and not {TYPE}"))
            self.assertEqual(xds.send("4", shop(5))[:1], ("4",))
            self.assertEqual(server.limit(), Limit(5, DAY, ""))

    def test_it_goes_away_and_comes_back(self):
        with Xds() as xds, Weir(xds) as server:
            xds.send("1", shop(2))
            xds.stop()
            until(lambda: server.info()["rls_xds_state"] != "up", "it is noticed")
            self.assertEqual(server.limit(), Limit(2, DAY, ""))
            self.assertIn("weir_rls_xds_up 0\n", server.metrics())
            self.assertRegex(server.metrics(), r"weir_rls_xds_failures_total [1-9]")
            with Xds(xds.port) as again:
                again.current = ("1", [shop(2)], {})
                answer = until(lambda: [each for each in again.requests if each.nonce], "an answer")[0]
                self.assertEqual((again.requests[0].version, again.requests[0].nonce), ("", ""), "a new stream knows nothing")
                self.assertEqual((answer.version, answer.error), ("1", None))
                self.assertEqual(server.info()["rls_reloads"], "0", "it is in force already")
                again.send("2", shop(4))
                self.assertEqual(server.limit(), Limit(4, DAY, ""))
                until(lambda: "weir_rls_xds_up 1\n" in server.metrics(), "it is up")
                self.assertIn("weir_rls_xds_connects_total 2\n", server.metrics())

    def test_a_server_that_is_not_there_yet(self):
        with Xds() as xds:
            port = xds.port
        with Weir(xds) as server:
            self.assertEqual(server.rls.refused(server.rls.ask, "shop", asked(user="u")), NOTHING_LOADED)
            until(lambda: "it cannot be reached: Connection refused" in server.stderr(), "a line in the log")
            with Xds(port) as later:
                later.current = ("1", [shop(6)], {})
                until(lambda: server.info()["rls_domains"] == "1", "it has come")
                self.assertEqual(server.limit(), Limit(6, DAY, ""))

    def test_messages_that_are_large(self):
        many = lambda count, size: config("large", *[descriptor("key", f"{i:0{size}}", rate_limit(DAY, 1)) for i in range(count)])
        with Xds() as xds, Weir(xds) as server:
            self.assertEqual(xds.send("1", many(3800, 1000)).error, None)
            self.assertEqual(server.info()["rls_limits"], "3800")
            xds.current = ("2", [many(5200, 1000)], {})
            xds.send_to(xds.streams[-1], *xds.current)
            until(lambda: "bytes; at most 4194304" in server.stderr(), "it is told")
            until(lambda: len(xds.streams) > 2, "it tries again")
            self.assertEqual(server.info()["rls_limits"], "3800")

    def test_a_server_that_ends_in_the_middle_of_a_message(self):
        message = response("1", "n", [shop(2)])
        data = b"\0" + len(message).to_bytes(4, "big") + message
        with Deaf(SETTINGS + HEAD + frame(0, 0, 1, data)[:-5], ends=True) as deaf, Weir(deaf) as server:
            until(lambda: deaf.accepted > 2, "it is tried again")
            self.assertEqual(server.rls.refused(server.rls.ask, "shop", asked(user="u")), NOTHING_LOADED)
            self.assertEqual(server.info()["rls_xds_version"], "")

    def test_a_server_that_speaks_something_else(self):
        for words, why in ((b"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not speak HTTP/2"),
                           (SETTINGS + HEAD + frame(0, 0, 1, b"\0\0\0\0\3\x0a\x09x"), "it sent a message that is not a DiscoveryResponse"),
                           (SETTINGS + frame(1, 5, 1, b"\x8d"), "it answered HTTP 404")):
            with Deaf(words) as deaf, Weir(deaf) as server:
                until(lambda: why in server.stderr(), why)
                until(lambda: deaf.accepted > 1, "it is tried again")
                self.assertEqual(server.info()["rls_xds_state"] in ("down", "connecting"), True)

    def test_flags_that_do_not_go_together(self):
        with Folder() as folder:
            for flags, why in ((("--rls-xds", "a:1", "--rls-config", folder.path), "rls-config and rls-xds cannot be given together: one of them has the limits"),
                               (("--rls-xds-node", "x"), "rls-xds-node needs --rls-xds"),
                               (("--rls-xds", "a"), "rls-xds: 'a' is not HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:6390"),
                               (("--rls-xds", "a:1", "--rls-xds-retry", "2s,1s"), "rls-xds-retry: '1s' is below the minimum (2s)"),
                               (("--rls-xds", "a:1", "--rls-xds-metadata", "key"), "rls-xds-metadata: 'key' is not NAME=VALUE"),
                               (("--rls-xds", "a:1", "--rls-xds-header", "a b=secret"), "rls-xds-header: 'a b' is not the name of a header"),
                               (("--rls-xds", "a:1", "--rls-xds-tls-cert", "/x"), "rls-xds-tls-cert and rls-xds-tls-key must be given together"),
                               (("--rls-xds", "a:1", "--rls-xds-tls-ca", "/none"), "rls-xds-tls-ca: '/none': No such file or directory")):
                code, _, errors = weir("serve", "--resp", "127.0.0.1:0", *RLS, *flags)
                self.assertEqual(code, 2, errors)
                self.assertIn(why, errors)

    def test_while_a_server_never_answers_nobody_waits(self):
        server = self.beside_deaf
        until(lambda: self.deaf.accepted, "it is connected")
        self.assertEqual(server.rls.ask("edge", asked(user="u"), timeout=PATIENCE).code, OK)
        until(lambda: "it has not answered for 10 s" in server.stderr(), "it is given up", 2 * PATIENCE)
        until(lambda: self.deaf.accepted > 1, "it is tried again")
        self.assertEqual(server.info()["rls_xds_connects"], "0")


class OverTls(unittest.TestCase):
    def test_both_show_certificates(self):
        with Folder() as folder:
            ours, other = Authority(folder, "ours"), Authority(folder, "other")
            read = lambda path: open(path, "rb").read()
            certificate, key = ours.issue("localhost")
            mine, my_key = ours.issue("weir")
            tls = grpc.ssl_server_credentials([(read(key), read(certificate))], read(ours.certificate), True)
            trusted = folder.file("trusted.pem", read(other.certificate))
            with Xds(tls=tls) as xds:
                xds.current = ("1", [shop(2)], {})
                with Weir(xds, "--rls-xds-tls-ca", trusted, "--rls-xds-tls-cert", mine, "--rls-xds-tls-key", my_key) as server:
                    until(lambda: "TLS: certificate verify failed: no trusted authority has signed it" in server.stderr(), "it is not trusted")
                    folder.file("trusted.pem", read(ours.certificate))
                    until(lambda: server.info()["rls_domains"] == "1", "the files are read again")
                    self.assertEqual(server.limit(), Limit(2, DAY, ""))
                with Weir(xds, "--rls-xds-tls-ca", trusted, "--rls-xds-tls-name", "elsewhere") as server:
                    until(lambda: "TLS: certificate verify failed: it is not for 'elsewhere'" in server.stderr(), "another name")
                with Weir(xds, "--rls-xds-tls-ca", trusted) as server:
                    until(lambda: "next attempt" in server.stderr(), "it shows no certificate")
                    self.assertEqual(server.info()["rls_xds_connects"], "0")


if __name__ == "__main__":
    run()
