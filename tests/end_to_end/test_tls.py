"""TLS with python's ssl and redis-cli: which clients are let in, and that none can hold up the others."""
import contextlib
import shutil
import signal
import socket
import ssl
import subprocess
import unittest
import warnings

from ports import free_port
from server import Closed, Error, Folder, Server, encode, run, until, weir

# What a client sees that is refused after its side of the handshake: a reset, an alert, or the end.
REFUSED = (ssl.SSLError, ConnectionError, Closed)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.key, self.certificate = folder.file(f"{name}.key"), folder.file(f"{name}.pem")
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                      self.key, "-out", self.certificate, "-subj", f"/CN={name}", "-days", "2")

    def _openssl(self, *args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, timeout=20)

    def issue(self, name, start=None, end=None):
        """The paths of a certificate for localhost and of its key. Times as openssl writes them: 20200101000000Z."""
        key, request, certificate = (self.folder.file(f"{self.name}-{name}.{end}") for end in ("key", "csr", "crt"))
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                      "-out", request, "-subj", f"/CN={name}")
        if start is None:
            extensions = self.folder.file("extensions", "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
            self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key,
                          "-CAcreateserial", "-days", "1", "-extfile", extensions, "-out", certificate)
        else:  # only `openssl ca` can make what has expired already
            config = self.folder.file("ca.conf", f"[ca]\ndefault_ca=c\n[c]\ndatabase={self.folder.file('index', '')}\n"
                                      f"new_certs_dir={self.folder.path}\nrand_serial=yes\ndefault_md=sha256\n"
                                      "policy=p\n[p]\ncommonName=supplied\n")
            self._openssl("ca", "-batch", "-config", config, "-cert", self.certificate, "-keyfile", self.key, "-in",
                          request, "-out", certificate, "-notext", "-startdate", start, "-enddate", end)
        return certificate, key


class WithCertificates(unittest.TestCase):
    mutual = False

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.authority = Authority(cls.folder, "authority")
        cls.server_files = cls.authority.issue("localhost")
        cls.server = cls.serve()

    @classmethod
    def serve(cls, *args, **options):
        flags = ["--tls-cert", cls.server_files[0], "--tls-key", cls.server_files[1]]
        if cls.mutual:
            flags += ["--tls-ca", cls.authority.certificate]
        return Server("--threads", "2", *flags, *args, **options)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)
        cls.folder.__exit__()

    def trust(self, files=None, authority=None):
        context = ssl.create_default_context(cafile=(authority or self.authority).certificate)
        if files:
            context.load_cert_chain(*files)
        return context

    def client(self, **options):
        client = self.server.client(tls=self.trust(**options))
        self.addCleanup(client.close)
        return client

    def works(self):
        self.assertEqual(self.client().ask("PING"), "PONG")


class TestTls(WithCertificates):
    def test_commands(self):
        client = self.client()
        self.assertEqual(client.ask("CL.THROTTLE", "tls", 0, 1, 3600), [0, 1, 0, -1, 3600])
        self.assertEqual(client.ask("HELLO", "3")[b"proto"], 3)
        self.assertEqual(client.ask("ECHO", b"x" * 200_000), b"x" * 200_000)
        client.send_bytes(encode("ECHO", "y") * 5000 + encode("QUIT") + encode("PING"))
        self.assertEqual(client.rest(), b"$1\r\ny\r\n" * 5000 + b"+OK\r\n")

    def test_versions(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.trust()
            context.minimum_version = context.maximum_version = version
            with self.server.client(tls=context) as client:
                self.assertEqual(client.socket.version().replace(".", "_"), version.name)
                self.assertEqual(client.ask("PING"), "PONG")
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = self.trust()
            context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = version
            with self.assertRaises(REFUSED, msg=version):
                self.server.client(tls=context)
        self.works()

    def test_the_certificate_is_the_one_given(self):
        other = Authority(self.folder, "stranger")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.server.client(tls=self.trust(authority=other))
        self.works()

    @unittest.skipUnless(shutil.which("redis-cli"), "no redis-cli")
    def test_redis_cli(self):
        done = subprocess.run(["redis-cli", "-p", str(self.server.port), "--tls", "--sni", "localhost", "--cacert",
                               self.authority.certificate, "CL.THROTTLE", "cli", "15", "30", "60"],
                              capture_output=True, timeout=10)
        if b"Unrecognized option" in done.stderr:
            self.skipTest("this redis-cli has no TLS")
        self.assertEqual(done.stdout.split(), [b"0", b"16", b"15", b"-1", b"2"])

    def asked(self, *args, **options):
        return weir("check", self.id(), "--limit", "5/h", "--port", self.server.port, *args, **options)

    def test_weir_check(self):
        ca = ("--tls-ca", self.authority.certificate)
        self.assertEqual(self.asked(*ca)[0], 0)
        self.assertEqual(self.asked(*ca, "--host", "localhost", "--json")[0], 0)
        self.assertEqual(self.asked(*ca, "--tls-name", "localhost")[0], 0)
        self.assertEqual(self.asked("--tls", env={"SSL_CERT_FILE": self.authority.certificate})[0], 0)
        self.assertEqual([self.asked(*ca)[0] for _ in range(2)], [0, 1], "denied is not an error")

    def test_weir_check_verifies(self):
        ca = ("--tls-ca", self.authority.certificate)
        stranger = Authority(self.folder, "other")
        for args, why in (((*ca, "--tls-name", "weir.example"), "its certificate: it is not for 'weir.example'"),
                          ((), f"127.0.0.1:{self.server.port}"), (("--tls",), "no trusted authority has signed it"),
                          (("--tls-ca", stranger.certificate), "no trusted authority has signed it"),
                          (("--tls-ca", "/nowhere"), "tls-ca: '/nowhere': No such file or directory"),
                          ((*ca, "--tls-cert", self.server_files[0]), "tls-cert and tls-key must be given together")):
            with self.subTest(args):
                code, out, errors = self.asked(*args)
                self.assertEqual((code, out, errors.count("\n")), (2, "", 1), errors)
                self.assertTrue(errors.startswith("weir: "))
                self.assertIn(why, errors)
        late = self.authority.issue("late", "20200101000000Z", "20200102000000Z")
        with Server("--threads", "1", "--tls-cert", late[0], "--tls-key", late[1]) as expired:
            _, _, errors = weir("check", "k", "--limit", "5/h", "--port", expired.port, *ca)
            self.assertIn("its certificate: it expired at Jan  2 00:00:00 2020", errors)

    def test_plain_clients_on_the_tls_port(self):
        for bytes_sent in (encode("PING"), b"PING\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x80" * 100, bytes(1000),
                           b"\x16\x03\x01\xff\xff" + b"x" * 70_000):
            with self.subTest(bytes_sent[:20]):
                client = self.server.client()
                with contextlib.suppress(ConnectionError):
                    client.send_bytes(bytes_sent)
                self.assertNotIn(b"PONG", client.rest())
                client.close()
        self.works()

    def test_half_open_handshakes(self):
        with self.serve("--stall-timeout", "1h") as server:
            stuck = self.half_open(server)
            for _ in range(5):
                with server.client(tls=self.trust()) as client:
                    self.assertEqual(client.ask("PING"), "PONG", "those who are stuck hold up nobody")
            for client in stuck:
                client.close()
        with self.serve("--stall-timeout", "1s") as server:
            for client in self.half_open(server):
                client.rest()  # ends when the server cuts it off
                client.close()
            with server.client(tls=self.trust()) as client:
                until(lambda: b"\r\nconnected_clients:1\r\n" in client.ask("INFO", "clients"), "the half-open are gone")

    def half_open(self, server):
        """Connections that have sent more and more of their first bytes, from none to all."""
        hello = ssl.MemoryBIO()
        half = self.trust().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            half.do_handshake()
        first_bytes = hello.read()
        stuck = [server.client() for _ in range(20)]
        for number, client in enumerate(stuck):
            client.send_bytes(first_bytes[:number * len(first_bytes) // 19])
        return stuck

    def test_a_client_that_never_reads(self):
        with self.serve("--stall-timeout", "1s") as server, server.client(tls=self.trust()) as other:
            before = server.rss()
            deaf = server.client(tls=self.trust())
            deaf.fill(encode("ECHO", b"x" * 10_000))
            self.assertLess(server.rss() - before, 32 << 20)
            self.assertEqual(other.ask("PING"), "PONG")
            until(lambda: b"stalled_connections:1" in other.ask("INFO", "stats"), "the cut")
            deaf.close()

    def test_half_a_command(self):
        with self.serve("--stall-timeout", "1s") as server, server.client(tls=self.trust()) as other:
            with server.client(tls=self.trust()) as half:
                half.send_bytes(b"*2\r\n$4\r\nPI")
                with contextlib.suppress(ssl.SSLError):
                    self.assertEqual(half.rest(), b"")
            self.assertEqual(other.ask("PING"), "PONG", "idle is not a stall")

    def test_sigterm_answers_what_has_arrived(self):
        with self.serve() as server:
            clients = [server.client(tls=self.trust()) for _ in range(6)]
            for client in clients:
                client.ask("PING")
            server.signal(signal.SIGSTOP)
            for client in clients:
                client.send_bytes(encode("ECHO", "x") * 3000)
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGCONT)
            for client in clients:
                self.assertEqual(client.rest(), b"$1\r\nx\r\n" * 3000)
                client.close()
            self.assertEqual(server.wait(), 0)

    def test_resets_leave_nothing(self):
        with self.serve() as server:
            def quiet():
                with server.client(tls=self.trust()) as client:
                    return b"\r\nconnected_clients:1\r\n" in client.ask("INFO", "clients")
            until(quiet, "a quiet server")
            before = server.descriptors()
            for number in range(100):
                client = server.client(tls=self.trust() if number % 2 else None)
                client.send_bytes(b"*3\r\n$4\r\nPI")
                if number % 2:
                    client.socket = socket.socket(fileno=client.socket.detach())
                client.reset()
            until(quiet, "all sessions gone")
            until(lambda: server.descriptors() <= before, "all descriptors closed")


class TestComingAgain(WithCertificates):
    """The second connection of a client is that of a session that it has."""

    mutual = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.__exit__(None)
        cls.server = cls.serve("--http", "127.0.0.1:0")
        cls.ours = cls.authority.issue("client")

    def again(self, port, context, asks, answer):
        """Whether each of three connections resumed a session."""
        session, resumed = None, []
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
                with context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                    resumed.append(client.session_reused)
                    client.sendall(asks)
                    said = b""
                    while answer not in said:
                        more = client.recv(4096)
                        self.assertTrue(more, said)
                        said += more
                    session = client.session
        return resumed

    def test_a_session_is_resumed(self):
        resp, http = self.server.ports
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for port, asks, answer in ((resp, b"PING\r\n", b"+PONG\r\n"),
                                       (http, b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1 200 ")):
                with self.subTest(version=version.name, port="resp" if port == resp else "http"):
                    context = self.trust(files=self.ours)
                    context.minimum_version = context.maximum_version = version
                    self.assertEqual(self.again(port, context, asks, answer), [False, True, True])

    def test_a_new_authority_ends_the_sessions_that_the_old_one_vouched_for(self):
        context = self.trust(files=self.ours)
        resp = self.server.ports[0]
        self.assertEqual(self.again(resp, context, b"PING\r\n", b"+PONG\r\n"), [False, True, True])
        with socket.create_connection(("127.0.0.1", resp), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as client:
                client.sendall(b"PING\r\n")
                client.recv(100)
                session = client.session
        with open(self.authority.certificate, "rb") as file:
            before = file.read()
        with open(Authority(self.folder, "newer").certificate, "rb") as file:
            after = file.read()
        for content in (after, before):
            said = self.server.stderr().count("certificates and keys read again")
            self.folder.file("authority.pem", content)
            self.server.signal(signal.SIGHUP)
            until(lambda: self.server.stderr().count("certificates and keys read again") > said, "SIGHUP")
            if content == after:
                with self.assertRaises(REFUSED), socket.create_connection(("127.0.0.1", resp), timeout=10) as plain:
                    with context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                        client.sendall(b"PING\r\n")
                        if not client.recv(100):
                            raise Closed

    def test_openssl(self):
        for version in ("-tls1_2", "-tls1_3"):
            ticket = self.folder.file("ticket")
            for flag, said in (("-sess_out", "New, "), ("-sess_in", "Reused, ")):
                with self.subTest(version=version, flag=flag):
                    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.ports[0]}", version,
                                           "-CAfile", self.authority.certificate, "-cert", self.ours[0], "-key", self.ours[1],
                                           "-ign_eof", flag, ticket], input=b"PING\r\nQUIT\r\n", capture_output=True, timeout=20)
                    self.assertIn(b"+PONG", done.stdout)
                    self.assertIn(said.encode(), done.stdout)

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl(self):
        url = f"https://127.0.0.1:{self.server.ports[1]}/openapi.json"
        for version in ("1.2", "1.3"):
            done = subprocess.run(["curl", "-sS", f"--tlsv{version}", "--tls-max", version, "--cacert", self.authority.certificate,
                                   "--cert", self.ours[0], "--key", self.ours[1], "-H", "Connection: close", "-o", "/dev/null",
                                   "-o", "/dev/null", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", url, url, url],
                                  capture_output=True, timeout=20)
            self.assertEqual((done.stdout, done.stderr), (b"200 1\n" * 3, b""))

    @unittest.skipUnless(shutil.which("nginx"), "no nginx")
    def test_nginx(self):
        """Which keeps the session of its upstream unless it is told not to."""
        port = free_port()
        where = self.folder.path
        config = self.folder.file("nginx.conf", f"""
            daemon off; master_process off; pid {where}/nginx.pid; error_log {where}/nginx.log; events {{}}
            http {{ access_log off; client_body_temp_path {where}/t1; proxy_temp_path {where}/t2;
                    fastcgi_temp_path {where}/t3; uwsgi_temp_path {where}/t4; scgi_temp_path {where}/t5;
                    server {{ listen 127.0.0.1:{port}; location / {{
                        proxy_pass https://127.0.0.1:{self.server.ports[1]};
                        proxy_ssl_certificate {self.ours[0]}; proxy_ssl_certificate_key {self.ours[1]};
                        proxy_ssl_session_reuse on; }} }} }}""")
        nginx = subprocess.Popen(["nginx", "-e", f"{where}/nginx.log", "-c", config, "-p", where])
        self.addCleanup(nginx.wait)
        self.addCleanup(nginx.terminate)

        def status():
            with contextlib.suppress(OSError):
                with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                    client.sendall(b"GET /openapi.json HTTP/1.0\r\n\r\n")
                    return client.recv(4096).split(b" ")[1]
        until(status, "nginx answers")
        self.assertEqual([status() for _ in range(5)], [b"200"] * 5)


class TestMutualTls(WithCertificates):
    mutual = True

    def refused(self, **options):
        """With TLS 1.3 a client learns of it when it reads."""
        with self.assertRaises(REFUSED):
            with self.server.client(tls=self.trust(**options)) as client:
                client.ask("PING")

    def works(self):
        with self.server.client(tls=self.trust(files=self.authority.issue("client"))) as client:
            self.assertEqual(client.ask("PING"), "PONG")

    def test_a_client_of_our_authority(self):
        self.works()

    def test_strangers(self):
        self.refused()
        self.refused(files=Authority(self.folder, "stranger").issue("client"))
        self.refused(files=self.authority.issue("late", "20200101000000Z", "20200102000000Z"))
        self.refused(files=self.authority.issue("early", "20900101000000Z", "20900102000000Z"))
        self.works()

    def test_weir_check_shows_a_certificate(self):
        with self.serve(env={"WEIR_PASSWORD": "s3cret"}) as server:
            def asked(*args, **options):
                return weir("check", "k", "--limit", "5/h", "--port", server.port, "--tls-ca",
                            self.authority.certificate, *args, **options)
            certificate, key = self.authority.issue("checker")
            ours = ("--tls-cert", certificate, "--tls-key", key)
            self.assertEqual(asked(*ours, env={"WEIR_PASSWORD": "s3cret"})[0], 0)
            self.assertIn("NOAUTH", asked(*ours)[2])
            self.assertIn("certificate required", asked(env={"WEIR_PASSWORD": "s3cret"})[2])

    def test_it_is_guard_enough_beyond_loopback(self):
        with self.serve(resp=("0.0.0.0:0",)) as server:
            with server.client(tls=self.trust(files=self.authority.issue("client"))) as client:
                self.assertEqual(client.ask("PING"), "PONG")

    def test_a_password_is_asked_for_too(self):
        with self.serve(env={"WEIR_PASSWORD": "s3cret"}) as server:
            with server.client(tls=self.trust(files=self.authority.issue("client"))) as client:
                self.assertEqual(client.ask("PING"), Error("NOAUTH Authentication required."))
                self.assertEqual(client.ask("AUTH", "s3cret"), "OK")


if __name__ == "__main__":
    run()
