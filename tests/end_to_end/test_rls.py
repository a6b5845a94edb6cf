"""Envoy's rate limit service over weir's own limits file, asked by grpcio."""
import itertools
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.request

import grpc
from ports import free_port
from rls import DAY, HOUR, KUADRANT, MINUTE, OK, OVER, SECOND, SERVICE, Client, Limit, Status, descriptor, read_answer, request
from server import PATIENCE, Folder, OneServerWithLimits, Server, run, until, weir
from test_tls import Authority


class Rls(OneServerWithLimits):
    flags = ("--rls", "127.0.0.1:0", "--admin", "127.0.0.1:0")
    limits = """version: 1
attributes: [user, tenant, plan, token, back, shade, kind]
limits:
  ip: { by: [ip], rate: 3/s burst 5 }
  user: { by: [user], rate: 2/h }
  windows: { by: [tenant], rate: 10/day algorithm=fixed_window, deny: { tenant: banned } }
  odd: { by: [plan], rate: 4/90s }
  tokens: { by: [token], rate: 2/min, charge: after }
  back: { by: [back], rate: 5/h, refunds: true }
  shade: { by: [shade], rate: 1/h, shadow: until 2099-01-01 }
  must: { by: [tenant], rate: 1/h, required: true }
routes:
  - { when: { kind: must }, limits: [must] }
  - { limits: [ip, user, windows, odd, tokens, back, shade] }
rls:
  edge: { attributes: { remote_address: ip, user_id: user }, unmapped: keep }
  strict: { attributes: { remote_address: ip, user_id: user }, unmapped: drop }
"""

    def setUp(self):
        super().setUp()
        self.rls = Client(self.server.ports[1])
        self.addCleanup(self.rls.close)
        self.me = self.id().rsplit(".", 1)[1]

    def one(self, *descriptors, domain="edge", **options):
        """The overall code, and the status of the only descriptor."""
        answer = self.rls.ask(domain, *descriptors, **options)
        self.assertEqual(len(answer.statuses), len(descriptors))
        self.assertEqual(answer.code, max(each.code for each in answer.statuses))
        return answer.statuses[0]

    def test_a_descriptor_is_a_request_and_each_is_told_its_limit(self):
        user = descriptor(user_id=self.me)
        self.assertEqual(self.one(user), Status(OK, Limit(2, HOUR, "user"), 1, 1800))
        self.assertEqual(self.one(user), Status(OK, Limit(2, HOUR, "user"), 0, 3600))
        answer = self.rls.ask("edge", descriptor(remote_address="10.0.0.7"), user)
        self.assertEqual(answer.code, OVER)
        self.assertEqual(answer.statuses, [Status(OK, Limit(3, SECOND, "ip"), 4, 1), Status(OVER, Limit(2, HOUR, "user"), 0, 1800)])
        self.assertEqual(answer.headers, [("Retry-After", "1800")])
        self.assertEqual(answer.body, "")

    def test_one_counter_met_twice_is_charged_twice(self):
        user = descriptor(user_id=self.me)
        self.assertEqual([each.code for each in self.rls.ask("edge", user, user, user).statuses], [OK, OK, OVER])

    def test_hits_are_the_cost(self):
        tenant = [("tenant", self.me)]
        self.assertEqual(self.one(descriptor(*tenant), hits=4), Status(OK, Limit(10, DAY, "windows"), 6, 86400))
        self.assertEqual(self.one(descriptor(*tenant, hits=2), hits=4).remaining, 4)
        self.assertEqual(self.one(descriptor(*tenant, hits=0)).remaining, 4)
        self.assertEqual(self.one(descriptor(*tenant, hits=5)).code, OVER)
        self.assertEqual(self.one(descriptor(*tenant), hits=2**32 - 1).code, OVER)
        self.assertEqual(self.one(descriptor(*tenant, hits=2**64 - 1)).code, OVER)
        self.assertEqual(self.one(descriptor(*tenant, hits=4)).remaining, 0)

    def test_what_meets_nothing_is_allowed(self):
        free = Status(OK, None, 0, None)
        self.assertEqual(self.one(descriptor(generic_key="x")), free)
        self.assertEqual(self.one(descriptor()), free)
        self.assertEqual(self.one(descriptor(user_id=self.me), domain="elsewhere"), free)
        self.assertEqual(self.one(descriptor(("Not a name", "x"))), free)
        self.assertEqual(self.one(descriptor(tenant=self.me), domain="strict"), free)

    def test_a_period_without_a_unit_is_in_the_name(self):
        self.assertEqual(self.one(descriptor(plan=self.me)).limit, Limit(4, 0, "odd-90s"))

    def test_a_deny_list_denies_without_a_limit(self):
        self.assertEqual(self.one(descriptor(tenant="banned")), Status(OVER, None, 0, None))

    def test_decisions_are_those_of_RESP(self):
        self.assertEqual(self.ask("WEIR.CHECK user=%s" % self.me)[2], 1)
        self.assertEqual(self.one(descriptor(user_id=self.me)).remaining, 0)

    def test_errors_are_what_configuration_alone_can_cause(self):
        refused = lambda message: self.rls.refused(self.rls.send, message)
        self.assertEqual(refused(request("", descriptor(user_id="u"))), ("UNKNOWN", "rate limit domain must not be empty"))
        self.assertEqual(refused(request("edge")), ("UNKNOWN", "rate limit descriptor list must not be empty"))
        self.assertEqual(refused(request("edge", descriptor(("", "v")))), ("UNKNOWN", "rate limit descriptor entry key must not be empty"))
        self.assertEqual(refused(b"\x0a\xff"), ("INTERNAL", "the message is not a RateLimitRequest"))
        self.assertEqual(self.rls.refused(self.rls.channel.unary_unary("/nowhere/Nothing"), b""), ("UNIMPLEMENTED", "unknown method /nowhere/Nothing"))

    def test_what_callers_can_cause_denies(self):
        me = self.me
        for descriptors, why in [
                ([descriptor((b"user_id", b"\xff"))], "a text of a descriptor is not UTF-8"),
                ([descriptor((b"k\xc0\xaf", b"v"))], "a text of a descriptor is not UTF-8"),
                ([descriptor(user_id="x" * 65537)], "a value of a descriptor is above 65536 bytes"),
                ([descriptor(("k" * 1025, "v"))], "a key of a descriptor is above 1024 bytes"),
                ([descriptor(*[(f"k{i}", "v") for i in range(65)])], "a descriptor has more than 64 entries"),
                ([descriptor(user_id=me)] * 1001, "more than 1000 descriptors"),
                ([descriptor(user_id=me), descriptor(("user_id", me), ("user_id", "other"))], "a descriptor has a key twice"),
                ([descriptor(("user_id", me), ("user", me))], "a limit cannot take a value of a descriptor"),
                ([descriptor(user_id=me, ), descriptor(limit=(5, 9), user_id=me)], "an override has an unknown unit"),
        ]:
            answer = self.rls.ask("edge", *descriptors)
            self.assertEqual((answer.code, answer.body), (OVER, why))
            self.assertEqual(answer.statuses, [Status(OVER, None, 0, None)] * min(len(descriptors), 1000))
        self.assertEqual(self.one(descriptor(user_id=me)).remaining, 1, "nothing of them was charged")

    def test_a_thousand_descriptors_are_decided(self):
        answer = self.rls.ask("edge", *[descriptor(user_id=self.me)] * 1000)
        self.assertEqual([each.code for each in answer.statuses], [OK] * 2 + [OVER] * 998)

    def test_a_look_before_and_a_report_after(self):
        # Three pass and the fourth is refused, by two a minute: what is reported may be more than is left.
        look, report = descriptor(token=self.me, hits=0), descriptor(token=self.me, hits=1)
        for _ in range(3):
            self.assertEqual(self.one(look).code, OK)
            self.one(report)
        self.assertEqual(self.one(look).code, OVER)

    def test_what_is_given_back(self):
        given = descriptor(back=self.me, hits=2, gives_back=True)
        self.one(descriptor(back=self.me, hits=4))
        self.assertEqual(self.one(given), Status(OK, Limit(5, HOUR, "back"), 3, 1440))
        # A limit that takes nothing back is looked at.
        self.one(descriptor(user_id=self.me, hits=2))
        ignored = self.metric("weir_rls_ignored_refunds_total")
        self.assertEqual(self.one(descriptor(user_id=self.me, hits=1, gives_back=True)), Status(OK, Limit(2, HOUR, "user"), 0, 3600))
        self.assertEqual(self.metric("weir_rls_ignored_refunds_total"), ignored + 1)

    def test_an_override_is_ignored_by_the_limits_file_and_counted(self):
        ignored = self.metric("weir_rls_ignored_overrides_total")
        self.assertEqual(self.one(descriptor(user_id=self.me, limit=(100, MINUTE))).limit, Limit(2, HOUR, "user"))
        self.assertEqual(self.metric("weir_rls_ignored_overrides_total"), ignored + 1)

    def test_a_required_attribute_that_is_missing_denies(self):
        answer = self.rls.ask("edge", descriptor(kind="must"), descriptor(user_id=self.me))
        self.assertEqual(answer.statuses, [Status(OVER, None, 0, None), Status(OK, Limit(2, HOUR, "user"), 1, 1800)])
        self.assertEqual(answer.headers, [])

    def test_a_shadow_is_counted_and_denies_nobody(self):
        for _ in range(3):
            self.assertEqual(self.one(descriptor(shade=self.me)), Status(OK, None, 0, None))
        self.assertIn('weir_decisions_total{limit="shade",verdict="would_deny",class=""} 2', self.metrics())

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.ports[2]}/metrics", timeout=PATIENCE) as reply:
            return reply.read().decode()

    def metric(self, name):
        return next(int(line.split()[1]) for line in self.metrics().splitlines() if line.startswith(name + " "))

    def test_what_is_counted(self):
        self.rls.ask("elsewhere", descriptor(user_id=self.me))
        self.rls.ask("edge", descriptor(user_id=self.me))
        self.rls.ask("edge", descriptor(("user_id", "a"), ("user_id", "b")))
        text = self.metrics()
        for line in ('weir_rls_bad_requests_total{reason="key_twice"} ', "weir_rls_unknown_domains_total ", 'weir_connections{protocol="rls"} ',
                     'weir_decision_seconds_count{protocol="rls"} ', "weir_rls_deadlines_exceeded_total 0"):
            self.assertTrue("\n" + line in text, line)
        info = self.server.info()
        self.assertGreater(int(info["rls_calls"]), 2)
        self.assertRegex(self.server.stderr(), "a message of Envoy's could not be asked about: .*; client 127.0.0.1")

    def test_kuadrant_asks_first_and_reports_afterwards(self):
        user, both = descriptor(user_id=self.me), [descriptor(user_id=self.me), descriptor(remote_address="10.0.0.9")]
        for _ in range(3):
            answer = self.rls.check("edge", *both, hits=50)  # whether one more would fit
            self.assertEqual((answer.code, answer.statuses), (OK, [Status(OK, Limit(2, HOUR, "user"), 2, 0), Status(OK, Limit(3, SECOND, "ip"), 5, 0)]))
        self.assertEqual(self.rls.report("edge", user, hits=5).statuses, [Status(OK, Limit(2, HOUR, "user"), 0, 7200)])
        answer = self.rls.check("edge", *both)
        self.assertEqual((answer.code, [each.code for each in answer.statuses]), (OVER, [OVER, OK]))
        self.assertEqual(answer.headers, [("Retry-After", "7200")])
        self.assertEqual(self.one(user), Status(OVER, Limit(2, HOUR, "user"), 0, 7200), "it is owed by what Envoy asks, too")
        self.assertEqual([self.rls.report("edge", user).code for _ in range(2)], [OK, OK])
        self.assertEqual(self.one(user).until_reset, 10800, "without hits each is one")

    def test_kuadrants_reports_are_charged_where_limits_can(self):
        for asked, left in ((descriptor(tenant=self.me), (4, 2)), (descriptor(plan=self.me), (0, 0))):
            self.assertEqual([self.rls.report("edge", asked, hits=each).statuses[0].remaining for each in (6, 2)], list(left))
        self.assertEqual(self.rls.report("edge", descriptor(tenant="banned"), descriptor(kind="must")).statuses, [Status(OK, None, 0, None)] * 2)
        self.assertEqual(self.rls.check("edge", descriptor(tenant="banned")).code, OVER)
        self.assertEqual(self.rls.check("nowhere", descriptor(tenant="x")).code, OK)

    def test_kuadrant_holds_by_the_limits_file(self):
        token, both = descriptor(token=self.me), [descriptor(token=self.me), descriptor(plan=self.me)]
        code, held = self.rls.reserve("edge", *both, amount=9)
        self.assertEqual((code, [each.remaining for each in self.rls.check("edge", *both).statuses]), (OK, [1, 2]), "half of 2 and of 4")
        self.assertTrue(self.rls.commit("edge", *both, reservation=held, actual=0))
        self.assertEqual(self.rls.check("edge", token).statuses[0].remaining, 2)
        self.assertFalse(self.rls.commit("edge", *both, reservation=held, actual=3))
        self.assertEqual([each.code for each in self.rls.check("edge", *both).statuses], [OVER, OK])
        self.assertEqual(self.rls.reserve("edge", *both, amount=1), (OVER, ""))
        for denied in (descriptor(kind="must"), descriptor(("user_id", "a"), ("user_id", "b"))):
            self.assertEqual(self.rls.reserve("edge", denied, amount=1), (OVER, ""))
        self.assertEqual(self.rls.refused(self.rls.reserve, "edge", descriptor(tenant=self.me), amount=1)[0], "UNIMPLEMENTED")

    def test_kuadrants_bad_requests(self):
        twice = descriptor(("user_id", "a"), ("user_id", "b"))
        answer = self.rls.check("edge", twice)
        self.assertEqual((answer.code, answer.body), (OVER, "a descriptor has a key twice"))
        self.assertEqual(self.rls.refused(self.rls.report, "edge", twice), ("INVALID_ARGUMENT", "a descriptor has a key twice"))
        self.assertEqual(self.rls.refused(self.rls.check, "", descriptor(user_id="u")), ("INVALID_ARGUMENT", "rate limit domain must not be empty"))
        self.assertEqual(self.rls.refused(self.rls.kuadrant, "Forget", "edge"), ("UNIMPLEMENTED", f"unknown method {KUADRANT}Forget"))

    def test_health(self):
        for service in ("", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"):
            self.assertEqual(self.rls.health(service), 1)
        self.assertEqual(self.rls.refused(self.rls.health, "none"), ("NOT_FOUND", "unknown service"))
        self.assertEqual(next(iter(self.rls.watch("ratelimit"))), 1)
        self.assertEqual(next(iter(self.rls.watch("none"))), 3)

    def test_compressed_messages_are_not_taken(self):
        call = lambda: self.rls.send(request("edge", descriptor(user_id="x" * 10_000)), compression=grpc.Compression.Gzip)
        self.assertEqual(self.rls.refused(call), ("UNIMPLEMENTED", "messages cannot be compressed"))

    def test_a_message_that_is_too_large(self):
        code, _ = self.rls.refused(self.rls.send, request("edge", *[descriptor(user_id="x" * 60_000)] * 100))
        self.assertEqual(code, "RESOURCE_EXHAUSTED")

    def test_many_calls_at_once(self):
        calls = [self.rls.unary.future(request("edge", descriptor(user_id=f"{self.me}{i % 1000}")), timeout=PATIENCE) for i in range(3000)]
        codes = [read_answer(each.result()).code for each in calls]
        self.assertEqual(codes.count(OK), 2000)

    def test_what_is_not_gRPC(self):
        with socket.create_connection(("127.0.0.1", self.server.ports[1]), PATIENCE) as wire:
            wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while wire.recv(65536):
                pass


class Ends(unittest.TestCase):
    LIMITS = "version: 1\nlimits:\n  user: { by: [user], rate: 2/h }\nrls:\n  edge: {}\n"

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        self.file = self.folder.file("limits.yaml", self.LIMITS)

    def serve(self, *args, **options):
        return Server("--limits", self.file, *args, **options)

    def test_a_unix_socket(self):
        path = self.folder.file("rls.sock")
        with self.serve("--rls", f"unix:{path}") as server:
            self.assertEqual(server.addresses[1], f"grpc unix:{path}")
            with Client(f"unix:{path}") as client:
                self.assertEqual(client.ask("edge", descriptor(user="u")).code, OK)

    def test_without_a_limits_file_it_says_so(self):
        with Server("--rls", "127.0.0.1:0") as server, Client(server.ports[1]) as client:
            self.assertEqual(client.refused(client.ask, "edge", descriptor(user="u")), ("UNKNOWN", "no rate limit configuration loaded"))

    def test_what_callers_can_cause_is_an_error_if_that_is_wanted(self):
        with self.serve("--rls", "127.0.0.1:0", "--rls-on-bad-request", "error") as server, Client(server.ports[1]) as client:
            self.assertEqual(client.refused(client.ask, "edge", descriptor(("user", "a"), ("user", "b"))),
                             ("INVALID_ARGUMENT", "a descriptor has a key twice"))

    def test_headers_and_metadata(self):
        flags = ["--rls-headers", "X-L,X-Left,X-Reset", "--rls-dynamic-metadata"]
        with self.serve("--rls", "127.0.0.1:0", *flags) as server, Client(server.ports[1]) as client:
            asked = [descriptor(user="u", hits=3, limit=(10, HOUR)), descriptor(user="v", more="w")]
            answer = client.ask("edge", *asked, hits=2)
            self.assertEqual(answer.headers, [("X-L", "2"), ("X-Left", "0"), ("X-Reset", "3600")])
            self.assertEqual(answer.metadata, {
                "domain": "edge", "hitsAddend": 2.0,
                "descriptors": [{"entries": ["user=u"], "limit": "requests_per_unit:10 unit:HOUR", "hitsAddend": 3.0}, {"entries": ["user=v", "more=w"]}]})

    def test_headers_as_HTTP_tells_them(self):
        with self.serve("--rls", "127.0.0.1:0", "--rls-headers", "answers") as server, Client(server.ports[1]) as client:
            def told(*descriptors, domain="edge"):
                """What it is told in the first seconds is what it is told at once."""
                return [(name, re.sub("17[0-9]{2}", "1800", re.sub("35[0-9]{2}", "3600", text))) for name, text in client.ask(domain, *descriptors).headers]

            two = descriptor(user="u"), descriptor(user="v", hits=2)
            self.assertEqual(told(*two), [("RateLimit-Policy", '"user";q=2;w=3600'), ("RateLimit", '"user";r=0;t=1800')])
            self.assertEqual(told(*two),
                             [("RateLimit-Policy", '"user";q=2;w=3600'), ("RateLimit", '"user";r=0;t=1800'), ("Retry-After", "1800")])
            self.assertEqual(told(*two, domain="elsewhere"), [])
            self.folder.file("limits.yaml", self.LIMITS.replace("by: [user],", "by: [user], show: false,"))
            until(lambda: told(*two) == [("Retry-After", "1800")], "what is not shown is not told")
            limits = self.LIMITS + "answers: { headers: [x-ratelimit] }\n"
            self.folder.file("limits.yaml", limits.replace("  user:", "  tenant: { by: [tenant], rate: 5/day }\n  user:"))
            until(lambda: told(descriptor(tenant="x")), "the other form")
            asked = descriptor(tenant="t"), descriptor(user="w")
            form = [("X-RateLimit-Limit", "2"), ("X-RateLimit-Remaining", "1"), ("X-RateLimit-Reset", "1800")]
            self.assertEqual(told(*asked), form, "the one with the least left")
            form[1:] = ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "3600")
            self.assertEqual(told(*asked), form)
            form[2] = ("X-RateLimit-Reset", "1800")
            self.assertEqual(told(*asked), form, "denied: its moment, without Retry-After, which the file does not name")
        self.folder.file("limits.yaml", self.LIMITS)
        with self.serve("--rls", "127.0.0.1:0", "--rls-headers", "answers", "--headers", "off") as server, Client(server.ports[1]) as client:
            self.assertEqual([client.ask("edge", descriptor(user="u", hits=each)).headers for each in (2, 1)], [[], [("Retry-After", "1800")]])

    def test_a_deadline_that_has_passed_is_told_and_nothing_charged(self):
        with self.serve("--rls", "127.0.0.1:0", "--threads", "1") as server, Client(server.ports[1]) as client:
            self.assertEqual(client.ask("edge", descriptor(user="u")).code, OK)
            server.signal(signal.SIGSTOP)
            call = client.unary.future(request("edge", descriptor(user="u")), timeout=0.05)
            self.assertEqual(call.exception().code().name, "DEADLINE_EXCEEDED")
            server.signal(signal.SIGCONT)
            self.assertEqual(client.ask("edge", descriptor(user="u")).statuses[0].remaining, 0)

    def test_at_its_end_it_says_so_and_clients_go_elsewhere(self):
        port = free_port()
        with self.serve("--rls", f"127.0.0.1:{port}") as server, Client(port) as client:
            seen = []
            watching = threading.Thread(target=lambda: seen.extend(watched(client)))
            watching.start()
            until(lambda: seen, "it watches")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            watching.join(PATIENCE)
            self.assertEqual(seen, [1, 2])
            with self.serve("--rls", f"127.0.0.1:{port}"):
                until(lambda: answered(client), "the client finds the next one")

    def test_no_call_fails_while_old_connections_are_told_to_go(self):
        with self.serve("--rls", "127.0.0.1:0", "--grpc-max-connection-age", "1s") as server, Client(server.ports[1]) as client:
            before = int(server.info()["total_connections_received"])
            deadline = time.monotonic() + 3.5
            for i in itertools.count():
                client.ask("edge", descriptor(user=str(i)))
                if time.monotonic() > deadline or int(server.info()["total_connections_received"]) > before + i + 6:
                    break
            # INFO asks by a connection of its own each time.
            self.assertGreaterEqual(int(server.info()["total_connections_received"]) - before - i - 1, 2)

    def test_in_shadow_nobody_is_denied(self):
        with self.serve("--rls", "127.0.0.1:0", "--rls-shadow-mode") as server, Client(server.ports[1]) as client:
            answers = [client.ask("edge", descriptor(user="u")) for _ in range(3)]
            self.assertEqual([(each.code, each.statuses[0].code, each.headers) for each in answers], [(OK, OK, [])] * 2 + [(OK, OVER, [])])

    def test_a_client_that_opens_calls_and_says_no_more_is_closed(self):
        head = b"\x83\x86\x01\x01w\x04" + bytes([len(SERVICE)]) + SERVICE.encode() + b"\x0f\x10\x10application/grpc"
        frame = lambda kind, flags, stream, payload: len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
        with self.serve("--rls", "127.0.0.1:0", "--stall-timeout", "1s") as server, Client(server.ports[1]) as other:
            with socket.create_connection(("127.0.0.1", server.ports[1]), PATIENCE) as wire:
                wire.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
                wire.sendall(b"".join(frame(1, 4, 2 * i + 1, head) for i in range(1000)))
                while wire.recv(65536):
                    pass
            until(lambda: "half a command or unread replies" in server.stderr(), "it is told")
            self.assertEqual(other.ask("edge", descriptor(user="u")).code, OK)

    def test_flags(self):
        file = ["--limits", self.file]
        for flags, said in [
                (["--rls", "nowhere"], "rls: 'nowhere' is not HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:6390"),
                (["--rls-headers", "a,b,c"], "rls-headers needs --rls"),
                (["--rls", "127.0.0.1:0", "--rls-headers", "a,b"],
                 "rls-headers: 'a,b' is neither answers nor three names, as in RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset"),
                (["--rls", "0.0.0.0:0"], "rls: 0.0.0.0:0 is not a loopback address: give --tls-cert, or --insecure to serve anyone who can reach it"),
                (["--rls", "127.0.0.1:0", "--grpc-max-connection-age", "1ms"], "grpc-max-connection-age"),
        ]:
            code, _, errors = weir("serve", "--resp", "127.0.0.1:0", *file, *flags)
            self.assertEqual(code, 2, errors)
            self.assertIn(said, errors)
        with self.serve("--rls", "0.0.0.0:0", "--insecure") as server:
            server.says("rls: 0.0.0.0:0: anyone who can reach it may do everything; --tls-ca restricts that")


def watched(client):
    try:
        yield from client.watch()
    except grpc.RpcError:
        pass


def answered(client):
    try:
        return client.ask("edge", descriptor(user="u"), timeout=1)
    except grpc.RpcError:
        return None


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.authority = Authority(cls.folder, "authority")
        cls.files = cls.authority.issue("localhost")
        cls.limits = cls.folder.file("limits.yaml", Ends.LIMITS)

    def serve(self, *flags):
        return Server("--limits", self.limits, "--rls", "127.0.0.1:0", "--tls-cert", self.files[0], "--tls-key", self.files[1], *flags)

    def trust(self, files=None):
        read = lambda path: open(path, "rb").read()
        chain = [read(each) for each in files or ()]
        return grpc.ssl_channel_credentials(read(self.authority.certificate), *reversed(chain))

    def test_clients_speak_h2_over_tls(self):
        with self.serve() as server:
            self.assertTrue(server.addresses[1].startswith("grpcs://127.0.0.1:"), server.addresses)
            with Client(f"localhost:{server.ports[1]}", tls=self.trust()) as client:
                self.assertEqual(client.ask("edge", descriptor(user="u")).code, OK)
            chosen = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.ports[1]}", "-alpn", "http/1.1,h2"],
                                    input=b"", capture_output=True, timeout=PATIENCE).stdout
            self.assertIn(b"ALPN protocol: h2", chosen)
            # Others are told that this is not theirs.
            refused = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.ports[1]}", "-alpn", "http/1.1"],
                                     input=b"", capture_output=True, timeout=PATIENCE)
            self.assertIn(b"no application protocol", refused.stderr)

    def test_clients_show_certificates_where_that_is_wanted(self):
        with self.serve("--tls-ca", self.authority.certificate) as server:
            where = f"localhost:{server.ports[1]}"
            with Client(where, tls=self.trust(self.authority.issue("client"))) as client:
                self.assertEqual(client.ask("edge", descriptor(user="u")).code, OK)
            with Client(where, tls=self.trust()) as client:
                self.assertEqual(client.refused(client.ask, "edge", descriptor(user="u"), timeout=2)[0], "UNAVAILABLE")

    def test_a_new_certificate_is_shown_after_a_signal(self):
        with self.serve() as server:
            other = self.authority.issue("other")
            before = shown(server.ports[1])
            with open(self.files[0], "rb") as old_chain, open(self.files[1], "rb") as old_key:
                kept = old_chain.read(), old_key.read()
            try:
                for old, new in zip(self.files, other):
                    with open(old, "wb") as to, open(new, "rb") as of:
                        to.write(of.read())
                server.signal(signal.SIGHUP)
                until(lambda: shown(server.ports[1]) != before, "the new certificate")
            finally:
                for path, text in zip(self.files, kept):
                    with open(path, "wb") as to:
                        to.write(text)


def shown(port):
    """The certificate."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-alpn", "h2"], input=b"", capture_output=True, timeout=PATIENCE)
    return done.stdout.partition(b"-----BEGIN")[2].partition(b"-----END")[0]


if __name__ == "__main__":
    run()
