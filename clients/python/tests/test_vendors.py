"""What vendors say of their limits, by the table that all clients share, and what told() charges for it."""

import asyncio
import dataclasses
import datetime
import json
import unittest

from world import CASES, Weir, weir

from weir import vendors

TABLE = json.loads((CASES / "vendors.json").read_text())
NOON = "2026-11-28T12:00:00Z"
FILE = """version: 1
attributes: [api]
limits:
  rpm: { by: [api], rate: 60/min }
  tpm: { by: [api], rate: 9000/min }
"""


@dataclasses.dataclass
class Answer:
    status_code: int
    headers: dict


class TestVendors(unittest.TestCase):
    def test_the_table_is_that_of_the_cases(self):
        self.assertEqual(list(vendors.REFUSALS), TABLE["refusals"])
        self.assertEqual(list(vendors.FIELDS), TABLE["fields"])
        self.assertEqual(vendors.MOST_PAUSE_MS, TABLE["most_pause_ms"])
        self.assertEqual([*vendors.PAUSES], [(row["header"], row["unit"]) for row in TABLE["pauses"]])
        self.assertEqual([*vendors.BODIES], [(row["limit"], tuple(row["remaining"])) for row in TABLE["bodies"]])
        rows = [{name: value for name, value in row.items() if name != "vendors"} for row in TABLE["limits"]]
        self.assertEqual([*vendors.LIMITS], [vendors.Limit(**{**row, "reset": tuple(row["reset"])}) for row in rows])
        messages = [
            vendors.Message(tuple(row["statuses"]), row["header"], row["text"], row["pause_ms"]) for row in TABLE["messages"]
        ]
        self.assertEqual([*vendors.MESSAGES], messages)

    def test_cases(self):
        for row in TABLE["cases"]:
            now = datetime.datetime.fromisoformat(row.get("now", NOON).replace("Z", "+00:00")).timestamp()
            asks = []
            for said in vendors.heard(row["status"], row["headers"].items(), row.get("body", ""), now):
                limit = {"limit": said.limit} if said.limit else {}
                asks += [{**limit, "remaining": said.remaining}] if said.remaining is not None else []
                asks += [{**limit, "pause_ms": said.pause_ms}] if said.pause_ms else []
            with self.subTest(row["name"]):
                self.assertEqual(asks, row["asks"])


class TestTold(unittest.TestCase):
    def setUp(self):
        self.weir = Weir(FILE)
        self.addCleanup(self.weir.stop)
        self.client = weir.connect(self.weir.url, timeout=20)
        self.addCleanup(self.client.close)

    def test_a_key(self):
        client, key = self.client, ("partner", "60/min")
        weir.told(client, Answer(200, {"X-RateLimit-Remaining": "7"}), *key)
        weir.told(client, Answer(200, {"X-RateLimit-Remaining": "50"}), *key)
        self.assertEqual(client.look(*key).remaining, 7, "nothing is given back")
        (charged,) = weir.told(client, Answer(429, {"Retry-After": "30"}), *key)
        self.assertEqual(charged.wait, 30)
        self.weir.advance(29_000)
        self.assertEqual(client.check(*key).retry_after, 1)
        self.weir.advance(1000)
        self.assertTrue(client.check(*key))
        self.assertEqual(weir.told(client, Answer(200, {"X-Anything": "0"}), *key), [])

    def test_a_window_cannot_be_paused(self):
        window = ("window", "10/min algorithm=fixed_window")
        weir.told(self.client, Answer(429, {"Retry-After": "30"}), *window)
        self.assertEqual(self.client.look(*window).remaining, 0)

    def test_several(self):
        answer = Answer(200, {"X-RateLimit-Remaining-Requests": "5", "X-RateLimit-Remaining-Tokens": "3"})
        weir.told(self.client, answer, api="openai", limits={"requests": "rpm", "tokens": "tpm"})
        self.assertEqual((self.client.look(api="openai").by, self.client.look(api="openai").remaining), ("tpm", 3))
        keys = {"calls": "60/min", "tokens": "9000/min"}
        weir.told(self.client, answer, keys, limits={"requests": "calls", "tokens": "tokens"})
        self.assertEqual([self.client.look(*each).remaining for each in keys.items()], [5, 3])
        with self.assertRaisesRegex(ValueError, "'other' is not one of the keys, 'calls', 'tokens'"):
            weir.told(self.client, answer, keys, limits={"tokens": "other"})
        for ours in "rpm", "tokens":
            with self.assertRaisesRegex(ValueError, f"limits: '{ours}' is not the key, 'partner'"):
                weir.told(self.client, Answer(429, {"Retry-After": "3"}), "partner", "20/s", limits={"requests": ours})
        weir.told(self.client, Answer(429, {"Retry-After": "3"}), "partner", "20/s", limits={"requests": "partner"})
        self.assertFalse(self.client.look("partner", "20/s"))
        with self.assertRaisesRegex(weir.Refused, "unknown limit 'other'"):
            weir.told(self.client, answer, api="openai", limits={"tokens": "other"})

    def test_awaited(self):
        async def ask():
            async with weir.aio.connect(self.weir.url, timeout=20) as client:
                body = '{"extensions": {"cost": {"throttleStatus": {"currentlyAvailable": 66.5}}}}'
                await weir.told(client, Answer(200, {}), "shop", "50/s burst 1000", limits={"points": None}, body=body.encode())
                left = (await client.look("shop", "50/s burst 1000")).remaining
                await weir.told(client, Answer(429, {"Retry-After": "3"}), "w", "9/min algorithm=fixed_window")
                return left, (await client.look("w", "9/min algorithm=fixed_window")).remaining

        self.assertEqual(asyncio.run(ask()), (66, 0))


if __name__ == "__main__":
    unittest.main()
