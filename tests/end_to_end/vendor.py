"""Somebody else's API: counts what reaches it, and answers 429 with Retry-After when a test says so."""
import collections
import datetime
import http.server
import math
import threading
import time


class Vendor(http.server.ThreadingHTTPServer):
    """`refuse_at`: the number of the request, from 0, that is answered 429, as are all of the next `away` seconds. `takes`:
    seconds for each other request. `answer(path, body)`: its status, fields, and the pieces of its answer; where they raise,
    the connection ends. `zone`: where its days are counted, by the wall clock, which is ahead by `ahead()` seconds."""
    request_queue_size = 100
    daemon_threads = True

    def __init__(self, refuse_at=None, away=2.0, takes=0.0, answer=lambda path, body: (200, {}, []),
                 zone=datetime.timezone.utc, ahead=lambda: 0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.refuse_at, self.away, self.takes, self.answer = refuse_at, away, takes, answer
        self.zone, self.ahead = zone, ahead
        self.days = collections.Counter()  # of what was answered
        self.lock = threading.Lock()
        self.arrived = []  # (wall clock, path) of each request
        self.refused = []  # (wall clock, Retry-After) of those that were
        self.under_way = self.most_at_once = 0
        self.until = 0.0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def came(self, path):
        """The Retry-After of a request that is refused, else None."""
        with self.lock:
            now = time.time()
            if len(self.arrived) == self.refuse_at:
                self.until = now + self.away
            self.arrived.append((now, path))
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
            if now >= self.until:
                self.days[datetime.datetime.fromtimestamp(now + self.ahead(), self.zone).date()] += 1
                return None
            self.refused.append((now, math.ceil(self.until - now)))
            return self.refused[-1][1]

    def goes(self):
        with self.lock:
            self.under_way -= 1

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass  # one that went away


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        retry_after = self.server.came(self.path)
        if retry_after is None:
            time.sleep(self.server.takes)
            status, fields, pieces = self.server.answer(self.path, asked)
        else:
            status, fields, pieces = 429, {"Retry-After": str(retry_after)}, [b"too many requests\n"]
        try:
            self.send_response(status)
            for name, value in {**fields, "Transfer-Encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        except OSError:
            self.close_connection = True
            return self.server.goes()
        self.server.goes()  # before its client can know
        self.wfile.write(b"0\r\n\r\n")

    do_POST = do_GET

    def log_message(self, *_):
        pass
