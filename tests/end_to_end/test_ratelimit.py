"""`weir ratelimit` in the place of envoyproxy/ratelimit: each variable of its environment, its ports, its health."""
import http.client
import os
import re
import socket
import subprocess
import time
import unittest

import grpc

import xds
from ports import free_port
from rls import DAY, OK, OVER, Client, Limit, descriptor
from server import PATIENCE, ROOT, WEIR, Folder, Server, environment, run, until, weir
from test_tls import Authority

SHOP = """domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 3 }
"""
# Ports that are free, since tests run beside each other.
PORTS = dict(GRPC_HOST="127.0.0.1", GRPC_PORT="0", HOST="127.0.0.1", PORT="0", DEBUG_HOST="127.0.0.1", DEBUG_PORT="0")
TABLE = re.compile(r"^\| `([A-Z_*]+)` \| (.*?) \|$", re.M)


class Ratelimit(Server):
    def __init__(self, folder, *flags, program=(WEIR, "ratelimit"), **env):
        super().__init__(*flags, program=program, resp=(), env={"RUNTIME_ROOT": folder, "LOG_LEVEL": "INFO", **PORTS, **env})

    def at(self, name):
        """What the address of that name is: "127.0.0.1:1234" or a path."""
        address, = (each for each in self.addresses if each.startswith(name))
        return re.sub(r"^([a-z]* )?(https?://|grpcs?://|unix:)", "", address)

    def get(self, name, path, method="GET"):
        connection = http.client.HTTPConnection(self.at(name), timeout=PATIENCE)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def health(self):
        return self.get("health", "/healthcheck")[0]

    def client(self, **options):
        return Client(self.at("grpc"), **options)


def refused(**env):
    """The last line of a start that fails."""
    code, _, errors = weir("ratelimit", env={"RUNTIME_ROOT": "/nowhere", **PORTS, **env})
    assert code == 2, (code, errors)
    return errors.splitlines()[-1]


class Redis:
    def __init__(self, test, folder, *flags):
        self.port = free_port()
        self.folder = folder
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no", "--bind",
                                         "127.0.0.1", "--dir", folder.path, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        until(lambda: self.ask("PING") != "", "redis answers")

    def ask(self, *words, auth=()):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *auth, *words], capture_output=True, timeout=PATIENCE)
        return done.stdout.decode()


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.__exit__)
        os.makedirs(self.folder.file("config"))
        self.folder.file("config/shop.yaml", SHOP)

    def start(self, *flags, **env):
        server = Ratelimit(self.folder.path, *flags, **env)
        self.addCleanup(server.__exit__, None)
        return server

    def codes(self, server, times, **options):
        with server.client(**options) as client:
            return [client.ask("shop", descriptor(user="u")).code for _ in range(times)]


class Variables(WithFolder):
    """A name that the table has is in one of these tests, or the last of them fails."""

    def test_the_table_of_the_docs_is_that_of_the_help(self):
        with open(f"{ROOT}/docs/envoy-migrating.md") as file:
            docs = [(name, sets.replace("`", "")) for name, sets in TABLE.findall(file.read())]
        _, text, _ = weir("ratelimit", "--help")
        told = [tuple(line.split(None, 1)) for line in text.partition("Variables of the environment")[2].splitlines()[1:] if line.strip()]
        self.assertGreater(len(told), 50)
        self.assertEqual(docs, told)

    def test_every_variable_is_tested(self):
        with open(__file__) as file:
            source = file.read()
        _, text, _ = weir("ratelimit", "--help")
        names = re.findall(r"^  ([A-Z_]+) ", text.partition("Variables of the environment")[2], re.M)
        self.assertEqual([name for name in names if not re.search(rf"\b{name}\b", source)], [])

    def test_what_is_wrong(self):
        for (env, said) in (
                (dict(BACKEND_TYPE="memcache"), "BACKEND_TYPE: memcache cannot count for weir: it needs redis, or no REDIS_URL at all"),
                (dict(BACKEND_TYPE="etcd"), "BACKEND_TYPE: it is redis, or left out"),
                (dict(CONFIG_TYPE="GRPC_XDS_SOTW", CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS="a:b,c"),
                 "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'c' is neither KEY=VALUE nor KEY:VALUE"),
                (dict(CONFIG_TYPE="x"), "CONFIG_TYPE: 'x' is not FILE or GRPC_XDS_SOTW"),
                (dict(REDIS_TLS_SKIP_HOSTNAME_VERIFICATION="1"),
                 "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: weir checks the name of its store; leave it out, and give the store a "
                 "certificate of its name"),
                (dict(GRPC_PORT="65536"), "GRPC_PORT: '65536' is not a port from 0 to 65535"),
                (dict(SHADOW_MODE="yes"), "SHADOW_MODE: 'yes' is not true or false"),
                (dict(LOG_LEVEL="loud"), "LOG_LEVEL: 'loud' is not WARN, WARNING, PANIC, FATAL, ERROR, INFO, DEBUG or TRACE"),
                (dict(REDIS_TYPE="RING"), "REDIS_TYPE: 'RING' is not SINGLE, SENTINEL or CLUSTER"),
                (dict(REDIS_TYPE="SENTINEL", REDIS_URL="h:1"), "REDIS_URL: it is not MASTER,HOST:PORT,... as REDIS_TYPE=SENTINEL says"),
                (dict(REDIS_URL="/run/redis", REDIS_TLS="true"), "REDIS_URL: a path goes with REDIS_TYPE=SINGLE, and without REDIS_TLS"),
                (dict(GRPC_SERVER_USE_TLS="true"), "GRPC_SERVER_USE_TLS: it needs GRPC_SERVER_TLS_CERT"),
                (dict(GRPC_SERVER_USE_TLS="true", GRPC_UDS="/run/x"), "GRPC_SERVER_USE_TLS: a Unix socket (GRPC_UDS) does not speak TLS"),
                (dict(GRPC_MAX_CONNECTION_AGE_GRACE="1"), "GRPC_MAX_CONNECTION_AGE_GRACE: '1' is not a time such as 500ms, 60s or 1h"),
                (dict(REDIS_URL="h:1", REDIS_TIMEOUT="5"), "store-deadline: '5' is not a time such as 500ms, 60s or 1h"),
                (dict(NEAR_LIMIT_RATIO="most"), "NEAR_LIMIT_RATIO: 'most' is not a number such as 0.8"),
                (dict(WEIR_DRAIN_GRACE="2h"), "drain-grace: 2h is above the maximum (1h)"),
                (dict(USE_PROMETHEUS="true", PROMETHEUS_ADDR="x"),
                 "PROMETHEUS_ADDR: 'x' is not HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:6390"),
                ({}, "/nowhere/config: cannot read it: No such file or directory")):
            with self.subTest(env=env):
                self.assertEqual(refused(**env).removeprefix("weir: "), said)

    def test_what_does_nothing(self):
        # Were one of them read, the server would not start, ask for certificates, or count elsewhere.
        idle = """REDIS_SOCKET_TYPE REDIS_POOL_SIZE REDIS_POOL_ON_EMPTY_BEHAVIOR REDIS_PIPELINE_WINDOW REDIS_PIPELINE_LIMIT
            REDIS_CLUSTER_PIPELINE_PARALLELISM REDIS_STARTUP_MAX_INTERVAL REDIS_PERSECOND REDIS_PERSECOND_URL REDIS_PERSECOND_AUTH
            REDIS_AUTH REDIS_SENTINEL_AUTH MEMCACHE_HOST_PORT EXPIRATION_JITTER_MAX_SECONDS LOCAL_CACHE_SIZE_IN_BYTES
            RUNTIME_IGNOREDOTFILES RUNTIME_WATCH_ROOT CONFIG_GRPC_XDS_NODE_ID USE_STATSD STATSD_PORT
            USE_DOG_STATSD EXTRA_TAGS STATS_FLUSH_INTERVAL PROMETHEUS_MAPPER_YAML PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS
            TRACING_ENABLED OTEL_EXPORTER_OTLP_ENDPOINT PROMETHEUS_ADDR
            GRPC_SERVER_TLS_CERT GRPC_SERVER_TLS_KEY GRPC_CLIENT_TLS_CACERT GRPC_CLIENT_TLS_SAN
            GRPC_SERVER_TLS_CA_CERT WEIR_STORE WEIR_PASSWORD WEIR_USER RLS_CONFIG""".split()
        server = self.start(**{name: "rubbish" for name in idle})
        self.assertEqual(self.codes(server, 4), [OK, OK, OK, OVER])
        told = re.search(r"ratelimit: variables that do nothing here: (.*)", server.stderr())[1].split(", ")
        self.assertLess({"REDIS_SOCKET_TYPE", "REDIS_POOL_SIZE", "STATSD_PORT", "EXTRA_TAGS"}, set(told))
        self.assertEqual([name for name in told if name not in idle or "AUTH" in name.replace("PERSECOND_AUTH", "")], [])
        self.assertEqual([each.split("127.0.0.1")[0] for each in server.addresses], ["grpc://", "health http://", "config http://"])

    def test_an_xds_server(self):
        with Folder() as folder:
            authority = Authority(folder, "authority")
            read = lambda path: open(path, "rb").read()
            certificate, key = authority.issue("localhost")
            mine, my_key = authority.issue("weir")
            tls = grpc.ssl_server_credentials([(read(key), read(certificate))], read(authority.certificate), True)
            with xds.Xds(tls=tls) as source:
                source.current = ("1", [xds.config("shop", xds.descriptor("user", limit=xds.rate_limit(xds.DAY, 3)))], {})
                server = self.start(
                    CONFIG_TYPE="GRPC_XDS_SOTW", CONFIG_GRPC_XDS_SERVER_URL=source.address, CONFIG_GRPC_XDS_NODE_ID="envoy-ratelimit",
                    CONFIG_GRPC_XDS_NODE_METADATA="zone:a,team:b", CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS="X-Token:secret",
                    CONFIG_GRPC_XDS_SERVER_USE_TLS="true", CONFIG_GRPC_XDS_SERVER_TLS_CACERT=authority.certificate,
                    CONFIG_GRPC_XDS_SERVER_TLS_SAN="localhost", CONFIG_GRPC_XDS_CLIENT_TLS_CERT=mine, CONFIG_GRPC_XDS_CLIENT_TLS_KEY=my_key,
                    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL="100ms", XDS_CLIENT_BACKOFF_MAX_INTERVAL="200ms",
                    XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES="100000",
                    # These do nothing.
                    CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL="x", XDS_CLIENT_BACKOFF_RANDOM_FACTOR="x", XDS_CLIENT_BACKOFF_JITTER="x")
                until(lambda: "shop.user" in server.get("config", "/rlconfig")[1], "its limits are in force")
                self.assertEqual(self.codes(server, 4), [OK, OK, OK, OVER])
                self.assertEqual(source.requests[0][2:4], ("envoy-ratelimit", {"zone": "a", "team": "b"}))
                self.assertEqual(source.headers[0]["x-token"], "secret")

    def test_an_empty_variable_is_one_that_is_not_set(self):
        server = self.start(**dict.fromkeys(("REDIS_URL", "REDIS_TYPE", "BACKEND_TYPE", "SHADOW_MODE", "GRPC_UDS", "LOG_FORMAT"), ""))
        self.assertEqual(self.codes(server, 4), [OK, OK, OK, OVER])
        server.says("REDIS_URL is not set, so this process counts in its own memory")

    def test_flags_come_before_the_environment(self):
        server = self.start("--rls-shadow-mode", "--grpc-max-connection-age", "1h", GRPC_MAX_CONNECTION_AGE="rubbish")
        self.assertEqual(self.codes(server, 4), [OK] * 4)

    def test_the_modes(self):
        for env, codes in ((dict(SHADOW_MODE="true"), [OK] * 4), (dict(SHADOW_MODE="f"), [OK, OK, OK, OVER]),
                           (dict(QUOTA_MODE="T"), [OK, OK, OK, OVER])):
            with self.subTest(env=env):
                self.assertEqual(self.codes(self.start(**env), 4), codes)
        with self.start(QUOTA_MODE="1").client() as client:
            self.assertEqual([client.ask("shop", descriptor(user="a", hits=n), descriptor(user="b")).code for n in (4, 1)], [OK, OK],
                             "one of two quotas is enough")
            over = descriptor(user="a")
            self.assertEqual([client.ask("shop", over).code, client.ask("shop", over, descriptor(other="x")).code], [OVER, OK],
                             "what has no limit is a quota that is not over")

    def test_what_is_charged_where_a_descriptor_is_over(self):
        for env, left in (({}, 0), (dict(STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT="true"), 1)):
            with self.subTest(env=env), self.start(**env).client() as client:
                client.ask("shop", descriptor(user="a", hits=9), descriptor(user="b", hits=1))
                status, = client.ask("shop", descriptor(user="b", hits=0)).statuses
                self.assertEqual(status.remaining, status.limit.count - 1 + left)

    def test_what_clients_and_filters_are_told(self):
        with self.start(LIMIT_RESPONSE_HEADERS_ENABLED="true", RESPONSE_DYNAMIC_METADATA="true").client() as client:
            answer = client.ask("shop", descriptor(user="a"))
            self.assertEqual([name for name, _ in answer.headers], ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"])
            self.assertEqual(answer.metadata["domain"], "shop")
            over = [descriptor(user="b", limit=(limit, DAY), hits=9) for limit in (1, 2)]
            full = descriptor(user="c", limit=(9, DAY), hits=9)
            self.assertEqual(client.ask("shop", full, *over, descriptor(user="d", limit=(9, DAY), hits=9)).headers[0][1], "2", "of the last that denies")
        with self.start(LIMIT_RESPONSE_HEADERS_ENABLED="true", LIMIT_LIMIT_HEADER="a", LIMIT_REMAINING_HEADER="b",
                        LIMIT_RESET_HEADER="c").client() as client:
            self.assertEqual([name for name, _ in client.ask("shop", descriptor(user="a")).headers], ["a", "b", "c"])

    def test_where_the_files_are(self):
        os.makedirs(self.folder.file("ratelimit/limits"))
        self.folder.file("ratelimit/limits/a.yaml", SHOP)
        self.folder.file("ratelimit/limits/b.yaml", SHOP.replace("user", "other"))
        server = self.start(RUNTIME_SUBDIRECTORY="ratelimit", RUNTIME_APPDIRECTORY="limits", MERGE_DOMAIN_CONFIG="true")
        self.assertEqual(server.get("config", "/rlconfig"), (200, "".join(
            f"shop.{key}: unit=DAY requests_per_unit=3, shadow_mode: false, quota_mode: false\n" for key in ("user", "other"))))

    def test_the_log(self):
        self.assertRegex(self.start(LOG_FORMAT="json").stderr(), r'^\{"time":')
        self.assertIn("[info] ", self.start().stderr())
        self.assertNotIn("[info] ", self.start(LOG_LEVEL="warning").stderr())
        self.assertEqual(self.start(LOG_LEVEL="error").stderr(), "")

    def test_what_is_taken_as_something_else(self):
        server = self.start(GRPC_MAX_CONNECTION_AGE="0", GRPC_MAX_CONNECTION_AGE_GRACE="0s", LOG_FORMAT="bogus", USE_STATSD="false",
                            XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES="0")
        self.assertEqual(self.codes(server, 4), [OK, OK, OK, OVER])
        self.assertEqual(re.findall(r"ratelimit: (.* taken as .*|.*do nothing.*)", server.stderr()),
                         ["LOG_FORMAT: 'bogus' is taken as text", "GRPC_MAX_CONNECTION_AGE: '0' is taken as 87600h",
                          "GRPC_MAX_CONNECTION_AGE_GRACE: '0s' is taken as 87600h"])
        for said, taken in (("0", "60s"), ("0s", "60s"), ("-0", "60s"), ("100us", "1ms"), ("100\u00b5s", "1ms"), ("-1s", "1ms"),
                            ("2000000h", "87600h")):
            with self.subTest(timeout=said):
                server = self.start(REDIS_URL="127.0.0.1:1", REDIS_TIMEOUT=said)
                self.assertRegex(server.stderr(), f"REDIS_TIMEOUT: '.*' is taken as {taken}")
        for said in ("1.5s", "+5s", ".5s", "30s1m", "1m0.5s"):  # as Go reads it
            with self.subTest(timeout=said):
                self.assertNotIn("taken as", self.start(REDIS_URL="127.0.0.1:1", REDIS_TIMEOUT=said, GRPC_MAX_CONNECTION_AGE="1.5h30m").stderr())

    def test_what_an_xds_client_takes_as_something_else(self):
        server = self.start(CONFIG_TYPE="GRPC_XDS_SOTW", CONFIG_GRPC_XDS_SERVER_URL="127.0.0.1:1", CONFIG_GRPC_XDS_NODE_METADATA="k=v,c",
                            FORCE_START_WITHOUT_INITIAL_CONFIG="true", XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES="-1",
                            XDS_CLIENT_BACKOFF_INITIAL_INTERVAL="0", XDS_CLIENT_BACKOFF_MAX_INTERVAL="10ms")
        self.assertEqual(re.findall(r"ratelimit: (.* taken as .*|.*left out)", server.stderr()),
                         ["CONFIG_GRPC_XDS_NODE_METADATA: 'c' is neither KEY=VALUE nor KEY:VALUE, and is left out",
                          "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '0' is taken as 100ms", "XDS_CLIENT_BACKOFF_MAX_INTERVAL: '10ms' is taken as 100ms",
                          "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '-1' is taken as 0"])

    def test_the_names_of_its_metrics(self):
        server = self.start("--rls-stats-names", USE_PROMETHEUS="true", PROMETHEUS_ADDR="127.0.0.1:0", NEAR_LIMIT_RATIO="0.3")
        self.codes(server, 5)
        text = server.get("metrics", "/metrics")[1]
        for name, value in (("total_hits", 5), ("over_limit", 2), ("within_limit", 3), ("near_limit", 3), ("shadow_mode", 0),
                            ("over_limit_with_local_cache", 0)):
            self.assertIn(f"\n# TYPE ratelimit_service_rate_limit_{name} counter\n", text)
            self.assertIn(f'\nratelimit_service_rate_limit_{name}{{domain="shop",key1="user"}} {value}\n', text)
        self.assertNotIn("ratelimit_service", self.start(USE_PROMETHEUS="true", PROMETHEUS_ADDR="127.0.0.1:0").get("metrics", "/metrics")[1])

    def test_the_age_of_connections(self):
        server = self.start(GRPC_MAX_CONNECTION_AGE="1s", GRPC_MAX_CONNECTION_AGE_GRACE="1s")
        # A stream that nobody ends goes with its connection.
        with server.client() as client, self.assertRaises(grpc.RpcError) as ended:
            for _ in client.watch():
                pass
        self.assertEqual(ended.exception.code().name, "UNAVAILABLE")


class Listeners(WithFolder):
    def test_its_own_ports_by_its_own_name(self):
        program = self.folder.file("ratelimit")
        os.symlink(WEIR, program)
        # Its default ports may be taken here; what it says of one that is tells which it wanted.
        for name, port in (("GRPC_PORT", 8081), ("PORT", 8080), ("DEBUG_PORT", 6070), ("PROMETHEUS_ADDR", 9090)):
            with self.subTest(name), socket.socket() as taken:
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    taken.bind(("0.0.0.0", port))
                except OSError:
                    pass  # by another program: the same
                taken.listen()
                env = {**os.environ, **PORTS, "RUNTIME_ROOT": self.folder.path, "USE_PROMETHEUS": "true", "PROMETHEUS_ADDR": "127.0.0.1:0"}
                for each in {"GRPC_PORT": ("GRPC_PORT", "GRPC_HOST"), "PORT": ("PORT", "HOST"), "DEBUG_PORT": ("DEBUG_PORT", "DEBUG_HOST")}.get(name, (name,)):
                    del env[each]
                done = subprocess.run([program], env=env, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"cannot listen on 0.0.0.0:{port}: Address already in use", done.stderr.decode())

    def test_the_pages_and_nothing_else(self):
        server = self.start(USE_PROMETHEUS="true", PROMETHEUS_ADDR="127.0.0.1:0", PROMETHEUS_PATH="/m")
        self.assertEqual(server.get("health", "/healthcheck"), (200, "OK"))
        self.assertEqual(server.get("config", "/rlconfig")[1],
                         "shop.user: unit=DAY requests_per_unit=3, shadow_mode: false, quota_mode: false\n")
        until(lambda: server.get("metrics", "/m")[0] == 200, "it serves")
        self.assertIn("weir_rls_decisions_total", server.get("metrics", "/m")[1])
        for name, path in (("health", "/healthcheck"), ("config", "/rlconfig"), ("metrics", "/m")):
            self.assertEqual([server.get(name, path, "HEAD"), server.get(name, path, "POST")[0]], [(200, ""), 405])
            for other in ("/", "/json", "/metrics", "/healthz", "/v1/check", "/debug/pprof/"):
                self.assertEqual(server.get(name, other)[0], 404, (name, other))
        self.assertEqual(len(server.addresses), 4)
        self.assertEqual(len(self.start(USE_PROMETHEUS="true", DISABLE_STATS="true").addresses), 3)
        self.assertNotIn("asks nobody for a password", server.stderr(), "all of it is on loopback")
        self.assertIn("asks nobody for a password", self.start(HOST="0.0.0.0").stderr())

    def test_a_unix_socket(self):
        path = self.folder.file("socket")
        server = self.start(GRPC_UDS=path)
        with Client(f"unix:{path}") as client:
            self.assertEqual(client.ask("shop", descriptor(user="u")).statuses[0].limit, Limit(3, DAY, ""))
        self.assertEqual(server.addresses[0], f"grpc unix:{path}")

    def test_both_kinds_of_addresses(self):
        try:
            socket.socket(socket.AF_INET6).bind(("::1", 0))
        except OSError:
            return  # a machine without IPv6, where GRPC_HOST=:: cannot be
        port = self.start(GRPC_HOST="::").at("grpc").rsplit(":", 1)[1]
        for host in ("127.0.0.1", "[::1]"):
            with Client(f"{host}:{port}") as client:
                self.assertEqual(client.ask("shop", descriptor(user="u")).code, OK)

    def test_tls(self):
        authority = Authority(self.folder, "authority")
        certificate, key = authority.issue("localhost")
        other = authority.issue("other")  # for localhost too
        files = [open(each, "rb").read() for each in (authority.certificate, *reversed(other))]
        env = dict(GRPC_SERVER_USE_TLS="true", GRPC_SERVER_TLS_CERT=certificate, GRPC_SERVER_TLS_KEY=key)
        name = [("grpc.ssl_target_name_override", "localhost")]
        alone, mutual = grpc.ssl_channel_credentials(files[0]), grpc.ssl_channel_credentials(*files)
        ca = dict(GRPC_CLIENT_TLS_CACERT=authority.certificate)
        for more, tls, served in (({}, alone, True), (ca, mutual, True), (ca, alone, False),
                                  (ca | dict(GRPC_CLIENT_TLS_SAN="localhost"), mutual, True),
                                  (ca | dict(GRPC_CLIENT_TLS_SAN="elsewhere"), mutual, False),
                                  (ca | dict(GRPC_CLIENT_TLS_SAN="other"), mutual, False)):  # its subject, no name of it
            with self.subTest(more=more), self.start(**env, **more).client(tls=tls, options=name) as client:
                ask = lambda: client.ask("shop", descriptor(user="u"))
                if served:
                    self.assertEqual(ask().code, OK)
                else:
                    self.assertEqual(client.refused(ask)[0], "UNAVAILABLE")


    @unittest.skipUnless(os.environ.get("WEIR_LONG"), "up to ten seconds: WEIR_LONG=1")
    def test_certificates_that_are_renewed(self):
        first, second = Authority(self.folder, "first"), Authority(self.folder, "second")
        old, new = first.issue("localhost"), second.issue("localhost")
        server = self.start(GRPC_SERVER_USE_TLS="true", GRPC_SERVER_TLS_CERT=old[0], GRPC_SERVER_TLS_KEY=old[1])

        def trusted(authority):
            with open(authority.certificate, "rb") as file:
                tls = grpc.ssl_channel_credentials(file.read())
            with server.client(tls=tls, options=[("grpc.ssl_target_name_override", "localhost")]) as client:
                try:
                    return client.ask("shop", descriptor(user="u")).code == OK
                except grpc.RpcError:
                    return False

        self.assertEqual([trusted(first), trusted(second)], [True, False])
        os.rename(new[0], old[0])
        until(lambda: "[error] new files: tls" in server.stderr(), "a pair that does not fit is refused", 20)
        self.assertTrue(trusted(first))
        os.rename(new[1], old[1])
        until(lambda: trusted(second), "the new pair is shown", 20)
        self.assertFalse(trusted(first))


class Health(WithFolder):
    def test_it_drains(self):
        server = self.start()
        host, port = server.at("grpc").split(":")
        with server.client() as client, socket.create_connection((host, int(port))) as open_call:
            states = client.watch()
            self.assertEqual([next(states), server.health()], [1, 200])
            # A call that has begun and not ended: the preface, empty SETTINGS, and HEADERS of a POST by indices alone. It is
            # there when a PING after it is answered.
            open_call.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\3\1\4\0\0\0\1\x83\x86\x84" +
                              b"\0\0\x08\6\0\0\0\0\0" + b"it is in")
            open_call.settimeout(PATIENCE)
            told = b""
            while b"\0\0\x08\6\1\0\0\0\0it is in" not in told:
                told += open_call.recv(4096) or self.fail(f"closed after {told}")
            server.signal(15)
            self.assertEqual(next(states), 2)
            self.assertEqual(server.health(), 500)
        self.assertEqual(server.wait(), 0)

    def test_it_may_need_a_domain(self):
        os.remove(self.folder.file("config/shop.yaml"))
        server, other = self.start(HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED="true"), self.start()
        self.assertEqual([server.health(), other.health()], [500, 200])
        with server.client() as client, other.client() as others:
            states = client.watch("ratelimit")
            self.assertEqual([next(states), client.health(), client.health("ratelimit"), others.health()], [2, 2, 2, 1])
            self.folder.file("config/shop.yaml", SHOP)
            until(lambda: server.health() == 200, "there is a domain")
            self.assertEqual([client.health(), next(states)], [1, 1])

    def test_it_may_start_without_limits(self):
        self.folder.file("config/shop.yaml", "domain: shop\nx: y\n")
        self.assertIn("config error, unknown key 'x'", refused(RUNTIME_ROOT=self.folder.path))
        server = self.start(FORCE_START_WITHOUT_INITIAL_CONFIG="true")
        with server.client() as client:
            self.assertEqual(client.refused(client.ask, "shop", descriptor(user="u")), ("UNKNOWN", "no rate limit configuration loaded"))
            self.assertEqual([server.health(), server.get("config", "/rlconfig")], [200, (200, "")])
            server.says("config error, unknown key 'x'")
            self.folder.file("config/shop.yaml", SHOP)
            until(lambda: server.get("config", "/rlconfig")[1], "the file is read")
            self.assertEqual(client.ask("shop", descriptor(user="u")).code, OK)


    def test_before_an_xds_server_has_sent_limits_nothing_listens(self):
        ports = {name: str(free_port()) for name in ("GRPC_PORT", "PORT", "DEBUG_PORT")}

        def refuses(name):
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", int(ports[name]))) != 0

        with xds.Xds() as source:
            wanted = dict(CONFIG_TYPE="GRPC_XDS_SOTW", CONFIG_GRPC_XDS_SERVER_URL=source.address, **ports)

            def begin():
                process = subprocess.Popen([WEIR, "ratelimit"], env=environment(**{**PORTS, **wanted}), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                for each in (process.stdout.close, process.wait, process.kill):
                    self.addCleanup(each)
                return process

            process = begin()
            until(lambda: source.requests, "it asks for limits")
            self.assertTrue(all(refuses(name) for name in ports))
            process.terminate()
            self.assertEqual((process.wait(PATIENCE), process.stdout.read()), (0, b""))
            process = begin()
            until(lambda: len(source.requests) > 1, "it asks again")
            self.assertTrue(all(refuses(name) for name in ports))
            source.send("1", xds.config("shop", xds.descriptor("user", limit=xds.rate_limit(xds.DAY, 3))))
            self.assertIn(b" listening on ", process.stdout.readline())
            with Client(f"127.0.0.1:{ports['GRPC_PORT']}") as client:
                self.assertEqual([client.ask("shop", descriptor(user="u")).code for _ in range(4)], [OK, OK, OK, OVER])
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0)
            server = self.start(FORCE_START_WITHOUT_INITIAL_CONFIG="true", **{**wanted, "CONFIG_GRPC_XDS_SERVER_URL": "127.0.0.1:1"})
            self.assertEqual(server.health(), 200)


class Store(WithFolder):
    def decides(self, server, prefix, redis, auth=()):
        def one():
            self.codes(server, 1)
            return redis.ask("KEYS", "*", auth=auth).splitlines()
        keys = until(one, "the store counts")
        self.assertEqual([key for key in keys if not key.startswith(prefix)], [])

    def test_a_redis_with_a_password(self):
        redis = Redis(self, self.folder, "--requirepass", "p@ss:w/rd")
        for url in (f"127.0.0.1:{redis.port}", f"redis://127.0.0.1:{redis.port}", f"redis://:p%40ss%3Aw%2Frd@127.0.0.1:{redis.port}/0"):
            auth = {} if "@" in url else dict(REDIS_AUTH="default:p@ss:w/rd")
            with self.subTest(url):
                server = self.start(REDIS_SOCKET_TYPE="tcp", REDIS_TYPE="single", REDIS_URL=url, REDIS_TIMEOUT="2s", CACHE_KEY_PREFIX="a b&", **auth)
                self.decides(server, "a b&{", redis, auth=("-a", "p@ss:w/rd", "--no-auth-warning"))
                self.assertNotIn("w/rd", server.stderr())

    def test_a_socket_and_a_store_that_goes(self):
        path = self.folder.file("redis.sock")
        redis = Redis(self, self.folder, "--unixsocket", path)
        server = self.start(REDIS_URL=path, REDIS_HEALTH_CHECK_ACTIVE_CONNECTION="true")
        until(lambda: server.health() == 200, "the store is there")
        self.decides(server, "weir:", redis)
        redis.process.kill()
        until(lambda: server.health() == 500, "the store has gone")
        with server.client() as client:
            self.assertEqual(client.health(), 2)
        self.assertEqual(self.start(REDIS_URL=path).health(), 200, "unless it is said, the store is not asked about")

    def test_what_is_denied_is_not_asked_again(self):
        # Of a year, so that none ends meanwhile.
        self.folder.file("config/shop.yaml", SHOP.replace("day", "year"))
        redis = Redis(self, self.folder)
        calls = lambda: sum(int(n) for n in re.findall(r"cmdstat_(?:eval|evalsha|get|set|incrby|time):calls=(\d+)",
                                                       redis.ask("INFO", "commandstats")))
        for env, asks in (({}, False), (dict(LOCAL_CACHE_SIZE_IN_BYTES="1048576"), False), (dict(LOCAL_CACHE_SIZE_IN_BYTES="1"), False),
                          (dict(LOCAL_CACHE_SIZE_IN_BYTES="0"), True)):
            with self.subTest(env=env):
                redis.ask("FLUSHALL")
                server = self.start(REDIS_URL=f"127.0.0.1:{redis.port}", REDIS_TIMEOUT="2s", CACHE_KEY_PREFIX="p", **env)
                self.decides(server, "p{", redis)
                redis.ask("FLUSHALL")
                self.assertEqual(self.codes(server, 4), [OK, OK, OK, OVER])
                before = calls()
                self.assertEqual(self.codes(server, 20), [OVER] * 20)
                self.assertEqual(calls() > before, asks)
                with server.client() as client:  # hits of its own are denied, too; none ask what there is
                    for hits, has_asked in ((2, asks), (0, True)):
                        before = calls()
                        self.assertEqual(client.ask("shop", descriptor(user="u", hits=hits)).code, OVER)
                        self.assertEqual(calls() > before, has_asked, hits)
        self.assertIn("LOCAL_CACHE_SIZE_IN_BYTES: '1' is taken as 4096",
                      self.start(REDIS_URL="127.0.0.1:1", LOCAL_CACHE_SIZE_IN_BYTES="1").stderr())

    def test_the_forms_of_a_url(self):
        for env, said in (
                (dict(REDIS_TYPE="SENTINEL", REDIS_URL="main,127.0.0.1:1,127.0.0.1:2", REDIS_SENTINEL_AUTH="u:x%", REDIS_AUTH="secret"),
                 "redis+sentinel://:***@127.0.0.1:1,127.0.0.1:2/main"),
                (dict(REDIS_TYPE="CLUSTER", REDIS_URL="redis://me:secret@127.0.0.1:1,redis://127.0.0.1:2"),
                 "redis+cluster://me:***@127.0.0.1:1,127.0.0.1:2"),
                (dict(REDIS_TYPE="CLUSTER", REDIS_URL="127.0.0.1:1", REDIS_TLS="true"), "rediss+cluster://127.0.0.1:1"),
                (dict(REDIS_URL="redis://127.0.0.1:1/3"), "redis://127.0.0.1:1/3")):
            with self.subTest(env=env):
                server = self.start(**env)
                text = until(lambda: "127.0.0.1:1" in server.stderr() and server.stderr(), "the log says which")
                self.assertIn(said, text)
                self.assertNotIn("secret", text)

    def test_tls(self):
        authority = Authority(self.folder, "authority")
        certificate, key = authority.issue("localhost")
        redis = Redis(self, self.folder)
        tls_port = free_port()
        redis.ask("CONFIG", "SET", "tls-cert-file", certificate, "tls-key-file", key, "tls-ca-cert-file", authority.certificate)
        self.assertEqual(redis.ask("CONFIG", "SET", "tls-port", str(tls_port)).strip(), "OK")
        server = self.start(REDIS_URL=f"localhost:{tls_port}", REDIS_TLS="true", REDIS_TLS_CACERT=authority.certificate,
                            REDIS_TLS_CLIENT_CERT=certificate, REDIS_TLS_CLIENT_KEY=key, REDIS_TIMEOUT="2s")
        self.decides(server, "weir:", redis)


if __name__ == "__main__":
    run()
