"""A worker that calls a vendor, at most SLOTS at once under a rate: killed_worker.py VENDOR KEY SLOTS RATE TTL_MS SERVER...

It holds two units of the rate, tells the vendor when it asked for them and its slot, for a while is under way there, says
so when it is done, and settles for one unit once the vendor has heard that. Some calls last longer than their hold.
"""
import random
import socket
import sys
import time

import world

vendor, key, slots, rate, ttl = sys.argv[1:6]
servers = [int(port) for port in sys.argv[6:]]
while True:
    try:
        with world.end_to_end.Client(random.choice(servers)) as client:
            while True:
                asked = time.monotonic()
                max_wait = random.choice((20, 30_000))
                row = client.ask("WEIR.ACQUIRE", "COST", 2, "MAXWAIT", max_wait, "HOLD", ttl, "KEYS", key, f"in_flight={slots}",
                                 key + ":rate", rate)
                if row[0] != 0:
                    continue
                with socket.create_connection(("127.0.0.1", int(vendor))) as call:
                    call.sendall(b"%r\n" % asked)
                    time.sleep(int(ttl) / 1000 + 0.2 if random.random() < 0.02 else random.uniform(0, 0.05))
                    call.sendall(b"done\n")
                    call.recv(1)
                client.ask("WEIR.SETTLE", row[5], 1)
    except (OSError, world.end_to_end.Closed):
        time.sleep(0.05)
