"""Envoy's rate limit service over weir's own limits file, asked by grpcio."""
import unittest

from rls import DAY, HOUR, MINUTE, OK, OVER, SECOND, Client, Limit, Status, descriptor, request
from server import OneServerWithLimits, run


class Rls(OneServerWithLimits):
    flags = ("--rls", "127.0.0.1:0")
    limits = """version: 1
attributes: [user, tenant, plan]
limits:
  ip: { by: [ip], rate: 3/s burst 5 }
  user: { by: [user], rate: 2/h }
  windows: { by: [tenant], rate: 10/day algorithm=fixed_window, deny: { tenant: banned } }
  odd: { by: [plan], rate: 4/90s, required: false }
routes:
  - { limits: [ip, user, windows, odd] }
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
        self.assertEqual(refused(request("", descriptor(user_id="u"))), ("INVALID_ARGUMENT", "rate limit domain must not be empty"))
        self.assertEqual(refused(request("edge")), ("INVALID_ARGUMENT", "rate limit descriptor list must not be empty"))
        self.assertEqual(refused(request("edge", descriptor(("", "v")))), ("INVALID_ARGUMENT", "rate limit descriptor entry key must not be empty"))
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


if __name__ == "__main__":
    run()
