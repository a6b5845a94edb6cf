"""Small things in great number, such as mails or rows, under one limit for all who send them: a program takes up to 50 units
at once and spends them by itself, so weir is asked once for fifty; `pip install weir-client`.

    bucket = Bucket(weir.connect(on_error="raise"), "mails", "1000/s burst 2000")
    for mail in mails:
        bucket.wait()
        send(mail)

Units that are not spent within a second are given up: they stay charged, and without that a program could save them for a
burst of its own. While weir is away what is in hand can be spent, and then the caller gets weir.Unavailable.
"""
import threading
import time

MOST = 50
KEPT = 1.0  # seconds
EVERY = 0.1  # seconds between questions while there are fewer; else each unit would be asked for as it comes


class Bucket:
    """Threads may share one."""

    def __init__(self, client, key, rule):
        self.client, self.key, self.rule = client, key, rule
        self.lock = threading.Lock()
        self.left, self.until, self.empty_until = 0, 0.0, 0.0

    def take(self):
        """0: one unit is yours. Else the seconds until it is worth asking again; weir is not asked sooner."""
        with self.lock:
            now = time.monotonic()
            if now > self.until:
                self.left = 0
            if self.left == 0 and now >= self.empty_until:
                told = self.client.check(self.key, self.rule, cost=MOST, at_least=1)
                self.left, self.until = told.granted, now + KEPT
                self.empty_until = now if self.left == MOST else now + max(told.retry_after or 0, EVERY)
            if self.left == 0:
                return self.empty_until - now
            self.left -= 1
            return 0

    def wait(self):
        while wait := self.take():
            time.sleep(wait)
