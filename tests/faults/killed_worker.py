"""A worker that calls a vendor, at most SLOTS at once: killed_worker.py VENDOR KEY SLOTS TTL_MS SERVER...

It tells the vendor when it asked for its slot, for a while is under way there, says so when it is done, and settles
once the vendor has heard that.
"""
import random
import socket
import sys
import time

import world

vendor, key, slots, ttl = sys.argv[1:5]
servers = [int(port) for port in sys.argv[5:]]
while True:
    try:
        with world.end_to_end.Client(random.choice(servers)) as client:
            while True:
                asked = time.monotonic()
                row = client.ask("WEIR.ACQUIRE", "MAXWAIT", 30_000, "HOLD", ttl, "KEYS", key, f"in_flight={slots}")
                if row[0] != 0:
                    continue
                with socket.create_connection(("127.0.0.1", int(vendor))) as call:
                    call.sendall(b"%r\n" % asked)
                    time.sleep(random.uniform(0, 0.05))
                    call.sendall(b"done\n")
                    call.recv(1)
                client.ask("WEIR.SETTLE", row[5])
    except (OSError, world.end_to_end.Closed):
        time.sleep(0.05)
