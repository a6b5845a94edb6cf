"""Every command, with its exact answer on the wire."""
import contextlib
import os
import pty
import re
import shutil
import socket
import subprocess
import threading
import time
import unittest

from server import Closed, Error, Folder, OneServer, Server, Verbatim, encode, run_at_once, until, weir

VERSION = weir("--version")[1].split()[1].encode()
HELLO_3 = (b"%%11\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n"
           b"$2\r\nid\r\n:ID\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
           b"$7\r\nmodules\r\n*0\r\n$12\r\nweir_version\r\n$%d\r\n%s\r\n"
           b"$17\r\nstore_deadline_ms\r\n:0\r\n$11\r\nmax_wait_ms\r\n:3600000\r\n"
           b"$11\r\nmax_waiters\r\n:10000\r\n" % (len(VERSION), VERSION))
HELLO_2 = HELLO_3.replace(b"%11", b"*22").replace(b"proto\r\n:3", b"proto\r\n:2")


def without_id(raw):
    return re.sub(rb"\$2\r\nid\r\n:\d+", b"$2\r\nid\r\n:ID", raw)


def five(*numbers):
    return b"*5\r\n" + b"".join(b":%d\r\n" % n for n in numbers)


class OneConnection(OneServer):
    """Each test has a connection of its own."""

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.key = self.id()

    def rows(self, *rows, client=None):
        """Each row: a command as one text, and its reply's exact bytes."""
        for command, reply in rows:
            with self.subTest(command):
                self.assertEqual((client or self.client).ask_raw(*command.split()), reply)


class TestSmallCommands(OneConnection):
    def test_exact_replies(self):
        self.rows(
            ("PING", b"+PONG\r\n"),
            ("PING hello", b"$5\r\nhello\r\n"),
            ("PING a b", b"-ERR wrong number of arguments for 'ping' command\r\n"),
            ("ECHO hello", b"$5\r\nhello\r\n"),
            ("ECHO", b"-ERR wrong number of arguments for 'echo' command\r\n"),
            ("ECHO a b", b"-ERR wrong number of arguments for 'echo' command\r\n"),
            ("SELECT 0", b"+OK\r\n"),
            ("SELECT 1", b"-ERR DB index is out of range\r\n"),
            ("SELECT", b"-ERR wrong number of arguments for 'select' command\r\n"),
            ("DBSIZE x", b"-ERR wrong number of arguments for 'dbsize' command\r\n"),
            ("TIME x", b"-ERR wrong number of arguments for 'time' command\r\n"),
            ("CLIENT SETNAME worker-7", b"+OK\r\n"),
            ("CLIENT GETNAME", b"$8\r\nworker-7\r\n"),
            ("CLIENT SETINFO LIB-NAME redis-py", b"+OK\r\n"),
            ("CLIENT NO-EVICT on", b"+OK\r\n"),
            ("CLIENT SETNAME", b"-ERR wrong number of arguments for 'client|setname' command\r\n"),
            ("CLIENT", b"-ERR wrong number of arguments for 'client' command\r\n"),
            ("CLIENT BOGUS", b"-ERR unknown subcommand 'bogus'\r\n"),
            ("CONFIG GET save", b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
            ("CONFIG GET appendonly databases",
             b"*4\r\n$10\r\nappendonly\r\n$2\r\nno\r\n$9\r\ndatabases\r\n$1\r\n1\r\n"),
            ("CONFIG GET nothing-like-it", b"*0\r\n"),
            ("CONFIG", b"-ERR wrong number of arguments for 'config' command\r\n"),
            ("BOGUS a b", b"-ERR unknown command 'BOGUS'\r\n"),
            ("MULTI x", b"-ERR wrong number of arguments for 'multi' command\r\n"),
            ("EXEC", b"-ERR EXEC without MULTI\r\n"),
            ("DISCARD", b"-ERR DISCARD without MULTI\r\n"),
            ("SHUTDOWN LATER", b"-ERR syntax error\r\n"),
            ("RESET", b"+RESET\r\n"),
            ("CLIENT GETNAME", b"$-1\r\n"),
            ("COMMAND BOGUS", b"-ERR unknown subcommand 'bogus'\r\n"),
            ("QUIT", b"+OK\r\n"),
        )
        self.assertEqual(self.client.rest(), b"", "QUIT closes")

    def test_scripts_are_answered_with_what_to_send_instead(self):
        # The stores of express-rate-limit and rate-limiter-flexible send scripts; their users are shown this text.
        text = (b"-ERR weir runs no scripts; a rate limiter that sends one needs Redis itself. Send CL.THROTTLE key "
                b"max_burst count period instead: CL.THROTTLE user:42 15 30 60 allows 30 requests a minute and up to "
                b"16 at once\r\n")
        self.rows(("EVAL return(1) 0", text), ("eval_ro return(1) 0", text), ("EVALSHA 0123 1 key", text),
                  ("EVALSHA_RO 0123 0", text), ("SCRIPT LOAD return(1)", text), ("EVAL", text),
                  ("MULTI", b"+OK\r\n"), ("EVALSHA 0123 1 key", text),
                  ("EXEC", b"-EXECABORT Transaction discarded because of previous errors.\r\n"),
                  ("COMMAND INFO eval", b"*1\r\n*-1\r\n"),
                  ("CL.THROTTLE user:42 15 30 60", five(0, 16, 15, -1, 2)))
        for name in ("GET", "SET", "INCR", "FCALL"):
            self.assertEqual(self.client.ask_raw(name, "k"), b"-ERR unknown command '%s'\r\n" % name.encode())

    def test_any_letter_case(self):
        self.rows(("ping", b"+PONG\r\n"), ("PiNg", b"+PONG\r\n"), ("echO x", b"$1\r\nx\r\n"),
                  ("client SetName x", b"+OK\r\n"), ("Client getname", b"$1\r\nx\r\n"),
                  ("cl.Throttle case 1 1 3600", five(0, 2, 1, -1, 3600)),
                  ("gcra case 1 1 3600 tokens 0", five(0, 2, 1, -1, 3600)))
        self.assertIn(b"proto", self.client.ask("hello", "3", "setname", "y"))
        self.assertIn(b"role:master", self.client.ask("info", "Replication"))

    def test_inline_commands(self):
        for line, reply in ((b"PING\r\n", b"+PONG\r\n"), (b"ping\n", b"+PONG\r\n"),
                            (b"  ECHO   x  \r\n", b"$1\r\nx\r\n"),
                            (b'ECHO "a b\\x00\\r\\n"\r\n', b"$6\r\na b\0\r\n\r\n"),
                            (b"echo 'it\\'s'\r\n", b"$4\r\nit's\r\n"),
                            (b"CL.THROTTLE inline 15 30 60\r\n", five(0, 16, 15, -1, 2))):
            with self.subTest(line):
                self.client.send_bytes(line)
                self.client.reply()
                self.assertEqual(self.client.raw, reply)
        self.client.send_bytes(b'ECHO "open\r\n')
        self.assertEqual(self.client.reply(), Error("ERR Protocol error: unbalanced quotes in request"))
        self.assertEqual(self.client.rest(), b"")

    def test_hello(self):
        hello = self.client.ask_raw
        self.assertEqual(without_id(hello("HELLO")), HELLO_2)
        self.assertEqual(without_id(hello("HELLO", "3")), HELLO_3)
        self.assertEqual(without_id(hello("HELLO")), HELLO_3, "without a version it stays")
        self.assertEqual(without_id(hello("HELLO", "2")), HELLO_2)
        self.rows(("HELLO 1", b"-NOPROTO unsupported protocol version\r\n"),
                  ("HELLO 4", b"-NOPROTO unsupported protocol version\r\n"),
                  ("HELLO x", b"-ERR Protocol version is not an integer or out of range\r\n"),
                  ("HELLO 3 BOGUS", b"-ERR Syntax error in HELLO option 'bogus'\r\n"),
                  ("HELLO 3 AUTH default", b"-ERR Syntax error in HELLO option 'auth'\r\n"),
                  ("HELLO 3 SETNAME", b"-ERR Syntax error in HELLO option 'setname'\r\n"))
        self.assertEqual(self.client.ask_raw("CLIENT", "GETNAME"), b"$-1\r\n", "an error changes no protocol")
        self.client.ask("HELLO", "3", "SETNAME", "worker")
        self.assertEqual(self.client.ask("CLIENT", "GETNAME"), b"worker")
        self.client.ask("RESET")
        self.assertEqual(self.client.ask_raw("CLIENT", "GETNAME"), b"$-1\r\n", "RESET goes back to RESP2")

    def test_replies_of_resp3(self):
        self.client.ask("HELLO", "3")
        self.rows(("PING", b"+PONG\r\n"),
                  ("CLIENT GETNAME", b"_\r\n"),
                  ("CONFIG GET databases", b"%1\r\n$9\r\ndatabases\r\n$1\r\n1\r\n"),
                  ("COMMAND INFO nosuch", b"*1\r\n_\r\n"),
                  ("CL.THROTTLE resp3 15 30 60", five(0, 16, 15, -1, 2)),
                  ("GCRA resp3 15 30 60 TOKENS 0", five(0, 16, 15, -1, 2)))
        self.assertIsInstance(self.client.ask("INFO", "server"), Verbatim)
        self.assertIsInstance(self.client.ask("CLIENT", "INFO"), Verbatim)
        self.assertEqual(self.client.ask("COMMAND", "DOCS", "ping")[b"ping"][b"group"], b"weir")

    def test_a_connection_name_is_printable_and_without_spaces(self):
        refused = b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
        for name in (b"a b", b"a\r\nb", b"a\nb", b"\x1b[31m", b"a\0b", b"\x7f", "é".encode()):
            with self.subTest(name):
                self.assertEqual(self.client.ask_raw("CLIENT", "SETNAME", name), refused)
                self.assertEqual(self.client.ask_raw("HELLO", "2", "SETNAME", name), refused)
        self.assertIsNone(self.client.ask("CLIENT", "GETNAME"))

    def test_client_id_and_info(self):
        mine = self.client.ask("CLIENT", "ID")
        with self.server.client() as other:
            self.assertGreater(other.ask("CLIENT", "ID"), mine)
        self.client.ask("CLIENT", "SETNAME", "me")
        info = self.client.ask("CLIENT", "INFO").decode()
        self.assertRegex(info, rf"^id={mine} addr=127\.0\.0\.1:\d+ name=me age=\d+ idle=0 .*cmd=client user=default resp=2\n$")

    def test_clients_of_every_event_loop_are_listed_and_can_be_closed(self):
        with Server("--threads", "3") as server, server.client() as client:
            others = [server.client() for _ in range(7)]
            ids = [other.ask("CLIENT", "ID") for other in others]
            others[3].ask("CLIENT", "SETNAME", "three")
            others[4].ask("MULTI")
            others[4].ask("PING")
            mine = client.ask("CLIENT", "ID")

            def listed(*words):
                text = client.ask("CLIENT", "LIST", *words).decode()
                rows = [dict(field.split("=", 1) for field in line.split(" ")) for line in text.splitlines()]
                return {int(row["id"]): row for row in rows}
            self.assertEqual(sorted(listed()), sorted([mine, *ids]))
            rows = listed("ID", *ids)
            self.assertEqual(rows[ids[3]]["name"], "three")
            self.assertEqual((rows[ids[4]]["multi"], rows[ids[4]]["flags"], rows[ids[4]]["cmd"]), ("1", "x", "ping"))
            self.assertEqual(rows[ids[0]]["addr"], "127.0.0.1:%d" % others[0].socket.getsockname()[1])
            self.assertGreaterEqual(int(rows[ids[0]]["tot-mem"]), 1024)
            self.assertEqual(client.ask("CLIENT", "KILL", "ID", ids[0]), 1)
            self.assertEqual(others[0].rest(), b"")
            self.assertEqual(client.ask("CLIENT", "KILL", rows[ids[1]]["addr"]), "OK")
            self.assertEqual(others[1].rest(), b"")
            self.assertEqual(client.ask("CLIENT", "KILL", rows[ids[1]]["addr"]), "ERR No such client")
            self.assertEqual(client.ask("CLIENT", "KILL", "TYPE", "normal"), 5)
            self.assertEqual(list(listed()), [mine])
            self.assertEqual(client.ask("CLIENT", "KILL", "ID", mine, "SKIPME", "no"), 1)
            self.assertEqual(client.rest(), b"")
            for other in others:
                other.close()

    def test_clients_come_and_go_while_they_are_listed(self):
        with Server("--threads", "2") as server, server.client() as client:
            stop = threading.Event()

            def come_and_go():
                while not stop.is_set():
                    with server.client() as other, contextlib.suppress(OSError, Closed):
                        other.ask("CLIENT", "LIST")
                        other.send("CLIENT", "LIST")
                        other.send("CLIENT", "KILL", "ID", 1_000_000)
            threads = [threading.Thread(target=come_and_go) for _ in range(3)]
            for thread in threads:
                thread.start()
            for i in range(100):
                client.send_bytes(encode("CLIENT", "LIST") + encode("CLIENT", "KILL", "MAXAGE", 1000) + encode("ECHO", i))
                self.assertIn(b"cmd=client", client.reply())
                self.assertEqual(client.reply(), 0)
                self.assertEqual(client.reply(), b"%d" % i)
            stop.set()
            for thread in threads:
                thread.join()

    def test_snapshots_on_request(self):
        with Folder() as folder:
            path = folder.file("snapshot")
            with Server("--threads", "2", "--snapshot", path, "--snapshot-every", "1h") as server, server.client() as client:
                first = client.ask("LASTSAVE")
                self.assertAlmostEqual(first, time.time(), delta=60)
                self.assertFalse(os.path.exists(path))
                time.sleep(1.1)
                self.assertEqual(client.ask("BGSAVE"), "Background saving started")
                until(lambda: client.ask("LASTSAVE") > first, "a later one")
                self.assertTrue(os.path.exists(path))
        self.assertEqual(self.client.ask("BGSAVE"),
                         "ERR there is no snapshot to write: start weir with --snapshot FILE")

    def test_what_redis_cli_stat_and_monitors_read_is_there(self):
        fields = self.server.info()
        for name in ("blocked_clients", "used_memory", "used_memory_rss", "connected_clients", "maxclients",
                     "total_commands_processed", "total_connections_received", "rdb_bgsave_in_progress",
                     "aof_rewrite_in_progress", "loading", "rdb_last_save_time", "uptime_in_seconds"):
            self.assertGreaterEqual(int(fields[name]), 0, name)
        self.assertAlmostEqual(int(fields["used_memory_rss"]), self.server.rss(), delta=8 << 20)
        if shutil.which("redis-cli"):
            terminal, other_end = pty.openpty()
            with subprocess.Popen(["redis-cli", "-p", str(self.server.port), "--stat"], stdout=other_end) as stat:
                os.close(other_end)
                shown = ""
                while shown.count("\n") < 4:
                    shown += os.read(terminal, 4096).decode()
                stat.kill()
            os.close(terminal)
            self.assertIn("clients", shown)
            self.assertNotIn("-9223372036854775808", shown)

    def test_info(self):
        fields = self.server.info()
        self.assertEqual(fields["role"], "master")
        self.assertEqual(fields["redis_version"], "7.0.15")
        self.assertEqual(fields["maxmemory"], str(64 << 20))
        self.assertEqual(fields["process_id"], str(self.server.pid))
        self.assertGreaterEqual(int(fields["connected_clients"]), 1)
        for name in ("weir_version", "snapshot_errors", "snapshots", "denied", "live_keys", "capacity",
                     "refused_for_lack_of_room", "protocol_errors", "auth_failures", "rejected_connections",
                     "stalled_connections", "uptime_in_seconds", "loading"):
            self.assertIn(name, fields)
        one = self.client.ask("INFO", "REPLICATION").decode()
        self.assertTrue(one.startswith("# Replication\r\nrole:master\r\n"), one)
        self.assertNotIn("# Server", one)
        self.assertEqual(self.client.ask("INFO", "nosuch"), b"")
        two = self.client.ask("INFO", "server", "clients").decode()
        self.assertIn("# Server", two)
        self.assertIn("# Clients", two)
        self.assertNotIn("# Memory", two)

    def test_command(self):
        count = self.client.ask("COMMAND", "COUNT")
        table = self.client.ask("COMMAND")
        self.assertEqual(len(table), count)
        names = {row[0].decode() for row in table}
        self.assertEqual(names, set("""cl.throttle rl.throttle gcra weir.throttle weir.reserve weir.acquire weir.leave weir.cancel weir.settle weir.moment weir.extend weir.charge weir.refund weir.check weir.look weir.explain weir.config weir.time weir.reset weir.top weir.usage weir.holds weir.ban weir.raise weir.lower weir.shadow weir.unban weir.lift weir.overrides weir.audit del ping echo quit reset hello auth
            select client command info config time dbsize lastsave bgsave slowlog shutdown multi exec discard""".split()))
        self.assertEqual(self.client.ask("COMMAND", "INFO"), table)
        throttle, nothing = self.client.ask("COMMAND", "INFO", "Cl.Throttle", "nosuch")
        self.assertEqual((throttle[0], throttle[1], throttle[3:6]), (b"cl.throttle", -5, [1, 1, 1]))
        self.assertIsNone(nothing)
        self.assertEqual(self.client.ask("COMMAND", "INFO", "weir.throttle")[0][3:6], [1, -1, 2])
        docs = self.client.ask("COMMAND", "DOCS")
        self.assertEqual(len(docs), 2 * count)
        self.assertEqual(self.client.ask("COMMAND", "DOCS", "nosuch"), [])
        self.assertEqual(len(self.client.ask("COMMAND", "DOCS", "ping", "echo")), 4)

    def test_command_docs_of_one_name_twice_stays_in_step(self):
        self.client.send("COMMAND", "DOCS", "ping", "PING")
        self.client.send("ECHO", "next")
        self.client.socket.settimeout(2)
        self.client.reply()
        self.assertEqual(self.client.reply(), b"next")

    def test_config_get(self):
        got = self.client.ask("CONFIG", "GET", "*")
        fields = dict(zip(got[::2], got[1::2]))
        self.assertEqual(fields[b"maxmemory"], b"%d" % (64 << 20))
        self.assertEqual(fields[b"maxclients"], b"10000")
        # redis-benchmark asks for exactly these two.
        self.assertEqual(self.client.ask("CONFIG", "GET", "SAVE"), [b"save", b""])
        self.assertEqual(self.client.ask("CONFIG", "GET", "appendonly"), [b"appendonly", b"no"])
        self.assertEqual(self.client.ask("CONFIG", "SET", "save", "x"),
                         "ERR CONFIG supports only GET; settings are given when the server starts")

    def test_time(self):
        seconds, microseconds = (int(part) for part in self.client.ask("TIME"))
        self.assertAlmostEqual(seconds + microseconds / 1e6, time.time(), delta=5)
        self.assertLess(microseconds, 1_000_000)

    def test_dbsize_reset_and_del(self):
        with Server("--threads", "1") as server, server.client() as client:
            ask = client.ask
            self.assertEqual(ask("DBSIZE"), 0)
            for key in ("a", "b", "c", b"\0\xff\r\n"):
                self.assertEqual(ask("CL.THROTTLE", key, 0, 1, 3600)[0], 0)
            self.assertEqual(ask("CL.THROTTLE", "looked-at", 0, 1, 3600, 0)[0], 0)
            self.assertEqual(ask("DBSIZE"), 4)
            self.assertEqual(ask("WEIR.RESET", "a"), 1)
            self.assertEqual(ask("WEIR.RESET", "a"), 0)
            self.assertEqual(ask("CL.THROTTLE", "a", 0, 1, 3600), [0, 1, 0, -1, 3600], "as if never used")
            self.assertEqual(ask("CL.THROTTLE", "b", 0, 1, 3600)[0], 1, "others keep their debt")
            self.assertEqual(ask("DEL", "a", "nosuch", "b", "b", b"\0\xff\r\n"), 3)
            self.assertEqual(ask("DBSIZE"), 1)
            self.assertEqual(client.ask_raw("DEL"), b"-ERR wrong number of arguments for 'del' command\r\n")
            self.assertEqual(client.ask_raw("WEIR.RESET", "a", "b"),
                             b"-ERR wrong number of arguments for 'weir.reset' command\r\n")

    def test_shutdown(self):
        for words in (("SHUTDOWN",), ("shutdown", "nosave"), ("SHUTDOWN", "SAVE")):
            with self.subTest(words), Server("--threads", "2") as server, server.client() as client:
                idle = server.client()
                client.send(*words)
                self.assertEqual(client.rest(), b"", "no reply, the connection closes")
                client.close()
                self.assertEqual(idle.rest(), b"")
                idle.close()
                self.assertEqual(server.wait(), 0)

    def test_shutdown_from_another_machine_is_refused_unless_it_is_allowed(self):
        hosts = {"127.0.0.1": True, "::1": True}
        for address in subprocess.run(["hostname", "-I"], capture_output=True).stdout.decode().split():
            hosts[address] = False
        for flags, allowed in (((), False), (("--allow-shutdown",), True)):
            for host, local in hosts.items():
                at = f"[{host}]:0" if ":" in host else f"{host}:0"
                with self.subTest(host=host, allowed=allowed), contextlib.ExitStack() as stack:
                    try:
                        server = stack.enter_context(Server("--threads", "1", "--insecure", *flags, resp=(at,)))
                    except AssertionError:
                        continue  # no such address here
                    family = socket.AF_INET6 if ":" in host else socket.AF_INET
                    with socket.socket(family) as client:
                        client.settimeout(10)
                        client.connect((host, server.port))
                        client.sendall(encode("SHUTDOWN") + encode("QUIT"))
                        got = b""
                        while part := client.recv(4096):
                            got += part
                    if local or allowed:
                        self.assertEqual(got, b"")
                        self.assertEqual(server.wait(), 0)
                    else:
                        self.assertIn(b"-NOPERM SHUTDOWN is taken from this machine only", got)

    def test_shutdown_in_a_pipeline_answers_what_was_before_it(self):
        with Server("--threads", "1") as server, server.client() as client:
            client.send_bytes(encode("PING") + encode("CL.THROTTLE", "k", 0, 1, 60) + encode("SHUTDOWN") +
                              encode("PING"))
            self.assertEqual(client.rest(), b"+PONG\r\n" + five(0, 1, 0, -1, 60))
            client.close()
            self.assertEqual(server.wait(), 0)


class TestTransactions(OneConnection):
    def test_exec(self):
        self.rows(("MULTI", b"+OK\r\n"), ("PING", b"+QUEUED\r\n"), ("ECHO x", b"+QUEUED\r\n"),
                  ("CL.THROTTLE tx 1 1 3600", b"+QUEUED\r\n"), ("BOGUS", b"-ERR unknown command 'BOGUS'\r\n"),
                  ("EXEC", b"-EXECABORT Transaction discarded because of previous errors.\r\n"),
                  ("CL.THROTTLE tx 1 1 3600 0", five(0, 2, 2, -1, 0)),
                  ("MULTI", b"+OK\r\n"), ("EXEC", b"*0\r\n"),
                  ("MULTI", b"+OK\r\n"), ("MULTI", b"-ERR MULTI calls can not be nested\r\n"),
                  ("CL.THROTTLE tx 1 1 3600", b"+QUEUED\r\n"), ("DISCARD", b"+OK\r\n"),
                  ("EXEC", b"-ERR EXEC without MULTI\r\n"),
                  ("CL.THROTTLE tx 1 1 3600 0", five(0, 2, 2, -1, 0)),
                  ("MULTI", b"+OK\r\n"), ("CL.THROTTLE tx 1", b"-ERR wrong number of arguments for "
                                                              b"'cl.throttle' command\r\n"),
                  ("EXEC", b"-EXECABORT Transaction discarded because of previous errors.\r\n"),
                  ("PING", b"+PONG\r\n"))

    def test_replies_of_exec_keep_the_order_of_the_commands(self):
        k = self.key
        self.client.send("MULTI")
        for words in (("CL.THROTTLE", k, 1, 1, 3600), ("PING",), ("GCRA", k, 1, 1, 3600, "TOKENS", 0), ("ECHO", "x"),
                      ("CL.THROTTLE", k, 1, 1, 3600), ("CL.THROTTLE", k, 1, 1, 0), ("CL.THROTTLE", k, 1, 1, 3600),
                      ("DEL", k), ("CL.THROTTLE", k, 1, 1, 3600, 0)):
            self.client.send(*words)
        self.client.send("EXEC")
        self.assertEqual(self.client.reply(), "OK")
        for _ in range(9):
            self.assertEqual(self.client.reply(), "QUEUED")
        self.assertEqual(self.client.reply(),
                         [[0, 2, 1, -1, 3600], "PONG", [0, 2, 1, -1, 3600], b"x", [0, 2, 0, -1, 7200],
                          "ERR period: '0' is not an integer from 1 to 9223372036", [1, 2, 0, 3600, 7200], 1,
                          [0, 2, 2, -1, 0]])

    def test_a_transaction_of_one_connection_is_nobody_elses(self):
        self.client.ask("MULTI")
        self.client.ask("CL.THROTTLE", self.key, 0, 1, 3600)
        with self.server.client() as other:
            self.assertEqual(other.ask("CL.THROTTLE", self.key, 0, 1, 3600)[0], 0)
        self.assertEqual(self.client.ask("EXEC")[0][0], 1)
        self.client.ask("MULTI")
        self.client.ask("CL.THROTTLE", self.key + "2", 0, 1, 3600)
        self.client.close()
        with self.server.client() as other:
            self.assertEqual(other.ask("CL.THROTTLE", self.key + "2", 0, 1, 3600)[0], 0)

    def test_reset_ends_a_transaction(self):
        self.client.ask("MULTI")
        self.client.ask("PING")
        self.assertEqual(self.client.ask("RESET"), "RESET")
        self.assertEqual(self.client.ask("EXEC"), "ERR EXEC without MULTI")


class TestClientReply(OneConnection):
    def test_off_and_on(self):
        self.client.send_bytes(encode("CLIENT", "REPLY", "OFF") + encode("PING") + encode("BOGUS") +
                               encode("CL.THROTTLE", self.key, 1, 1, 3600) + encode("CLIENT", "REPLY", "ON") +
                               encode("CL.THROTTLE", self.key, 1, 1, 3600))
        self.assertEqual(self.client.reply(), "OK")
        self.assertEqual(self.client.reply(), [0, 2, 0, -1, 7200], "what was not answered was charged")

    def test_skip(self):
        self.client.send_bytes(encode("PING") + encode("CLIENT", "REPLY", "SKIP") +
                               encode("CL.THROTTLE", self.key, 1, 1, 3600) +
                               encode("CL.THROTTLE", self.key, 1, 1, 3600) + encode("ECHO", "x"))
        self.assertEqual(self.client.reply(), "PONG")
        self.assertEqual(self.client.reply(), [0, 2, 0, -1, 7200])
        self.assertEqual(self.client.reply(), b"x")

    def test_errors(self):
        self.rows(("CLIENT REPLY", b"-ERR wrong number of arguments for 'client|reply' command\r\n"),
                  ("CLIENT REPLY MAYBE", b"-ERR syntax error\r\n"), ("CLIENT REPLY ON", b"+OK\r\n"))


class TestPassword(OneConnection):
    flags = ("--user", "api")
    env = {"WEIR_PASSWORD": "s3cret"}
    wrong = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
    noauth = b"-NOAUTH Authentication required.\r\n"

    def test_nothing_works_before_auth(self):
        for command in ("PING", "ECHO x", "CL.THROTTLE k 1 1 1", "GCRA k 1 1 1", "RL.THROTTLE k 1 1 1", "DEL k",
                        "WEIR.RESET k", "SHUTDOWN", "SHUTDOWN NOSAVE", "INFO", "CONFIG GET *", "DBSIZE", "TIME",
                        "CLIENT ID", "COMMAND", "MULTI", "EXEC", "SELECT 0"):
            with self.subTest(command):
                self.assertEqual(self.client.ask_raw(*command.split()), self.noauth)
        self.assertTrue(self.client.ask("HELLO", "3").startswith("NOAUTH HELLO must be called"))
        self.assertEqual(self.client.ask_raw("RESET"), b"+RESET\r\n")
        self.assertEqual(self.client.ask_raw("QUIT"), b"+OK\r\n")

    def test_auth(self):
        self.rows(("AUTH", b"-ERR wrong number of arguments for 'auth' command\r\n"),
                  ("AUTH api s3cret x", b"-ERR syntax error\r\n"),
                  ("AUTH api wrong", self.wrong), ("AUTH nobody s3cret", self.wrong),
                  ("AUTH s3cret", self.wrong),  # one word is the password of `default`, and that is not our user
                  ("PING", self.noauth), ("AUTH api s3cret", b"+OK\r\n"), ("PING", b"+PONG\r\n"),
                  ("RESET", b"+RESET\r\n"), ("PING", self.noauth))

    def test_auth_in_hello(self):
        self.assertEqual(self.client.ask_raw("HELLO", "3", "AUTH", "api", "wrong"), self.wrong)
        self.assertEqual(self.client.ask_raw("PING"), self.noauth)
        self.assertEqual(without_id(self.client.ask_raw("HELLO", "3", "AUTH", "api", "s3cret", "SETNAME", "me")),
                         HELLO_3)
        self.assertEqual(self.client.ask("CLIENT", "GETNAME"), b"me")

    def test_the_default_user(self):
        with Server("--threads", "1", env={"WEIR_PASSWORD": "s3cret"}) as server, server.client() as client:
            self.rows(("AUTH wrong", self.wrong), ("AUTH s3cret", b"+OK\r\n"), ("PING", b"+PONG\r\n"),
                      client=client)

    def test_auth_without_a_password_set(self):
        with Server("--threads", "1") as server, server.client() as client:
            for words in (("AUTH", "x"), ("AUTH", "default", "x")):
                self.assertEqual(client.ask_raw(*words),
                                 b"-ERR AUTH <password> called without any password configured for the default "
                                 b"user. Are you sure your configuration is correct?\r\n")
            self.assertEqual(client.ask("PING"), "PONG")

    def test_ten_words_before_auth(self):
        self.assertEqual(self.client.ask_raw("PING", *"123456789"), self.noauth)
        self.client.send_bytes(b"*11\r\n")
        self.assertEqual(self.client.rest(), b"-ERR Protocol error: unauthenticated multibulk length\r\n")

    def test_sixteen_kib_before_auth(self):
        self.assertEqual(self.client.ask_raw("PING", b"x" * 16000), self.noauth)
        self.client.send_bytes(b"*2\r\n$4\r\nPING\r\n$16385\r\n")
        self.assertEqual(self.client.rest(), b"-ERR Protocol error: unauthenticated bulk length\r\n")
        with self.server.client() as client:
            client.send_bytes(b"x" * 20000)
            self.assertEqual(client.rest(), b"-ERR Protocol error: too big inline request\r\n")

    def test_after_auth_the_limits_are_gone(self):
        self.client.send_bytes(encode("AUTH", "api", "s3cret") + encode("ECHO", b"x" * 100_000) +
                               encode("DEL", *range(1000)))
        self.assertEqual(self.client.reply(), "OK")
        self.assertEqual(self.client.reply(), b"x" * 100_000)
        self.assertEqual(self.client.reply(), 0)


class TestThrottle(OneConnection):
    """Semantics through the wire: first request, drain, denial, oversized cost, look, part of the burst. Periods are so
    long that the test takes no part of a unit out of any answer but the seconds, of which one may pass."""

    def same(self, got, *wanted):
        self.assertEqual(got[:3], list(wanted[:3]))
        for seconds, most in zip(got[3:], wanted[3:]):
            self.assertTrue(seconds == most or most - 2 <= seconds <= most and most > 2, (got, wanted))

    def throttle(self, *words):
        return self.client.ask("CL.THROTTLE", self.key, *words)

    def test_first_request(self):
        for name in ("CL.THROTTLE", "RL.THROTTLE", "GCRA"):
            self.assertEqual(self.client.ask_raw(name, self.key + name, 15, 30, 60), five(0, 16, 15, -1, 2))

    def test_drain_takes_exactly_max_burst_and_one(self):
        for taken in range(1, 17):
            self.same(self.throttle(15, 1, 3600), 0, 16, 16 - taken, -1, taken * 3600)
        self.same(self.throttle(15, 1, 3600), 1, 16, 0, 3600, 16 * 3600)

    def test_a_denial_moves_nothing(self):
        self.throttle(0, 1, 3600)
        first = self.throttle(0, 1, 3600)
        for _ in range(500):
            self.client.send("CL.THROTTLE", self.key, 0, 1, 3600)
        for _ in range(500):
            last = self.client.reply()
        self.same(last, 1, 1, 0, 3600, 3600)
        self.assertLessEqual(last[3], first[3])

    def test_cost_above_the_burst_is_never(self):
        self.same(self.throttle(4, 1, 3600, 2), 0, 5, 3, -1, 7200)
        self.same(self.throttle(4, 1, 3600, 6), 1, 5, 3, -1, 7200)
        self.same(self.throttle(4, 1, 3600, 3), 0, 5, 0, -1, 5 * 3600)

    def test_cost_above_the_burst_of_an_unused_key(self):
        self.same(self.throttle(4, 1, 3600, 6), 1, 5, 5, -1, 0)
        self.same(self.throttle(4, 1, 3600, 0), 0, 5, 5, -1, 0)

    def test_cost_of_the_whole_burst(self):
        self.same(self.throttle(4, 1, 3600, 5), 0, 5, 0, -1, 5 * 3600)

    def test_a_look_takes_nothing_and_makes_no_key(self):
        # A server of its own: in the shared one others' keys expire while this counts.
        with Server("--threads", "1") as server, server.client() as client:
            for _ in range(3):
                self.same(client.ask("CL.THROTTLE", self.key, 4, 1, 3600, 0), 0, 5, 5, -1, 0)
                self.same(client.ask("GCRA", self.key, 4, 1, 3600, "TOKENS", 0), 0, 5, 5, -1, 0)
            self.assertEqual(client.ask("DBSIZE"), 0)
        self.throttle(4, 1, 3600, 5)
        self.same(self.throttle(4, 1, 3600, 0), 0, 5, 0, -1, 5 * 3600)

    def test_what_is_left_stays_usable_when_more_is_denied(self):
        self.throttle(4, 1, 3600, 3)
        self.same(self.throttle(4, 1, 3600, 5), 1, 5, 2, 3 * 3600, 3 * 3600)
        self.same(self.throttle(4, 1, 3600, 2), 0, 5, 0, -1, 5 * 3600)

    def test_waiting_retry_after_is_enough(self):
        for count, period, burst in ((1, 1, 0), (1000, 1, 1)):
            key = f"{self.key}-{count}"
            ask = lambda *cost: self.client.ask("CL.THROTTLE", key, burst, count, period, *cost)
            # At a fast rate, parts drain while the test asks: ask until one is denied.
            denied = until(lambda: next((a for a in (ask(burst + 1) for _ in range(50)) if a[0] == 1), None),
                           "a denial")
            self.assertEqual(denied[3], 1)
            time.sleep(denied[3])
            self.assertEqual(ask(burst + 1)[0], 0)

    def test_the_rows_of_redis_cells_table_that_need_no_time(self):
        # limit 5 at 1/s in that table; here 1 an hour, so that no time passes between the rows.
        T = 3600
        for cost, wanted in ((6, (1, 5, 5, -1, 0)), (1, (0, 5, 4, -1, T)), (1, (0, 5, 3, -1, 2 * T)),
                             (1, (0, 5, 2, -1, 3 * T)), (1, (0, 5, 1, -1, 4 * T)), (1, (0, 5, 0, -1, 5 * T)),
                             (1, (1, 5, 0, T, 5 * T)), (5, (1, 5, 0, 5 * T, 5 * T)), (6, (1, 5, 0, -1, 5 * T)),
                             (0, (0, 5, 0, -1, 5 * T))):
            self.same(self.throttle(4, 1, T, cost), *wanted)

    def test_a_key_is_bytes(self):
        for key in (b"", b"\0", b"\0a", b"\0b", b"\xff\xfe", b"a\r\nb", b"a" * 100_000, b"a" * 99_999):
            self.assertEqual(self.client.ask("CL.THROTTLE", key, 0, 1, 3600)[0], 0, key[:9])
            self.assertEqual(self.client.ask("CL.THROTTLE", key, 0, 1, 3600)[0], 1, key[:9])

    def test_a_changed_limit_keeps_the_debt_in_units(self):
        self.throttle(9, 10, 86400, 10)
        self.assertEqual(self.throttle(9, 10, 86400)[0], 1)
        got = self.throttle(999, 1000, 1)
        self.assertEqual(got[:2], [0, 1000])
        self.assertGreaterEqual(got[2], 989)
        self.client.ask("CL.THROTTLE", self.key + "2", 99, 1, 3600, 50)
        lowered = self.client.ask("CL.THROTTLE", self.key + "2", 9, 1, 3600)
        self.assertEqual(lowered[:3], [1, 10, 0])
        self.assertGreater(lowered[3], 0)


class TestArithmetic(OneConnection):
    """Numbers at and beyond every bound: never a negative answer, a limit that admits everything, or a key locked forever."""

    MAX = 2**63 - 1

    def throttle(self, *words):
        return self.client.ask("CL.THROTTLE", self.key, *words)

    def refused(self, reply, text):
        self.assertIsInstance(reply, Error)
        self.assertEqual(reply, text)
        self.assertEqual(self.client.ask("CL.THROTTLE", self.key, 1, 1, 3600, 0), [0, 2, 2, -1, 0],
                         "an error changes nothing")

    def test_quantities_that_wrap_elsewhere(self):
        for quantity in (2**55, 2**62, self.MAX, 18446744074, 18446744073, 2**32, 2**54):
            self.assertEqual(self.throttle(4, 1, 1, quantity), [1, 5, 5, -1, 0])
            self.assertEqual(self.client.ask("GCRA", self.key, 4, 1, 1, "TOKENS", quantity), [1, 5, 5, -1, 0])

    def test_bursts_that_wrap_elsewhere(self):
        for max_burst in (self.MAX - 1, 18446744072, 9223372036):
            self.refused(self.throttle(max_burst, 1, 1),
                         f"ERR max_burst: {max_burst} at 1 per 1s would take longer than 2^63 ns to drain; "
                         "the maximum is 9223372035")
        self.assertEqual(self.throttle(9223372035, 1, 1), [0, 9223372036, 9223372035, -1, 1])

    def test_max_burst_and_one_overflows(self):
        self.refused(self.throttle(self.MAX, 1, 1),
                     f"ERR max_burst: '{self.MAX}' is not an integer from 0 to {self.MAX - 1}")

    def test_fast_rates_count_tokens(self):
        for rate in (2_000_000, 10**9, 10_000):
            key = f"{self.key}-{rate}"
            limited, limit, remaining, retry, reset = self.client.ask("CL.THROTTLE", key, 10**9 - 1, rate, 1,
                                                                      10**9 // 2)
            self.assertEqual((limited, limit, remaining, retry, reset),
                             (0, 10**9, 10**9 // 2, -1, -(-10**9 // 2 // rate) if rate < 10**9 else 1))

    def test_reset_rounds_up_to_a_second(self):
        self.assertEqual(self.throttle(9, 2_000_000, 1), [0, 10, 9, -1, 1])

    def test_remaining_is_at_most_the_limit(self):
        self.assertEqual(self.throttle(999_999, 1500, 1), [0, 1_000_000, 999_999, -1, 1])

    def test_more_than_one_unit_a_nanosecond(self):
        for count in (10**10, 2**32):
            self.refused(self.throttle(0, count, 1),
                         f"ERR count: {count} per 1s is more than one per nanosecond; the maximum is 1000000000")

    def test_slow_rates_are_enforced(self):
        for seconds in (31536000, 3155760000, 9223372036):
            key = f"{self.key}-{seconds}"
            self.assertEqual(self.client.ask("CL.THROTTLE", key, 0, 1, seconds), [0, 1, 0, -1, seconds])
            limited, limit, remaining, retry, reset = self.client.ask("CL.THROTTLE", key, 0, 1, seconds)
            self.assertEqual((limited, limit, remaining), (1, 1, 0))
            self.assertTrue(seconds - 2 <= retry == reset <= seconds, (retry, reset))
        self.refused(self.throttle(0, 1, 9223372037), "ERR period: '9223372037' is not an integer from 1 to 9223372036")

    def test_a_burst_of_more_than_32_bits(self):
        self.assertEqual(self.throttle(2**32 + 1, 10**9, 1)[:2], [0, 2**32 + 2])

    def test_zero_and_negative(self):
        for words, field, least, most in (((-1, 1, 1), "max_burst", 0, self.MAX - 1), ((1, 0, 1), "count", 1, self.MAX),
                                          ((1, -1, 1), "count", 1, self.MAX), ((1, 1, 0), "period", 1, 9223372036),
                                          ((1, 1, -1), "period", 1, 9223372036),
                                          ((1, 1, 1, -1), "quantity", 0, self.MAX)):
            value = min(words, key=lambda w: (w > 0, w))
            self.refused(self.throttle(*words), f"ERR {field}: '{value}' is not an integer from {least} to {most}")

    def test_what_is_not_an_integer(self):
        for bad in ("NaN", "inf", "1.5", "1e3", "0x10", " 1", "1 ", "", "9223372036854775808", "99999999999999999999",
                    "١", "+1", "01", "-0", "1\0", "--1", "-"):
            for place, field in enumerate(("max_burst", "count", "period", "quantity")):
                words = [1, 1, 1, 1]
                words[place] = bad
                with self.subTest(bad=bad, field=field):
                    reply = self.throttle(*words)
                    self.assertIsInstance(reply, Error)
                    self.assertTrue(reply.startswith(f"ERR {field}: '"), reply)
                    self.assertIn(" is not an integer from ", reply)

    def test_arity(self):
        for name in ("CL.THROTTLE", "RL.THROTTLE", "GCRA"):
            text = f"ERR wrong number of arguments for '{name.lower()}' command"
            for words in ((), ("k",), ("k", 1, 1), ("k", 1, 1, 1, "TOKENS", 1, 1)):
                with self.subTest(name=name, words=words):
                    self.assertEqual(self.client.ask(name, *words), text)
        self.assertEqual(self.client.ask("CL.THROTTLE", "k", 1, 1, 1, 1, 1),
                         "ERR wrong number of arguments for 'cl.throttle' command")


class TestGcra(OneConnection):
    """The errors that clients of Redis' development branch know."""

    def test_errors(self):
        positive = "ERR value is out of range, must be positive"
        between = "ERR value is out of range, value must between 1 and 9223372036854775807"
        period = "ERR period must be > 0 and < 1e12"
        for words, text in (
                ("x 1 1", positive), ("+1 1 1", positive), ("1.0 1 1", positive), ("-1 1 1", positive),
                ("1 0 1", between), ("1 -1 1", between),
                ("1 x 1", "ERR value is not an integer or out of range"),
                ("1 1 x", "ERR value is not a valid float"), ("1 1 nan", "ERR value is not a valid float"),
                ("1 1 0", period), ("1 1 -1", period), ("1 1 inf", period), ("1 1 -inf", period), ("1 1 1e12", period),
                ("1 1 1e400", period), ("1 1 0.0", period),
                ("1 1 1 COUNT 1", "ERR syntax error"), ("1 1 1 TOKENS", "ERR Missing TOKENS value")):
            with self.subTest(words):
                self.assertEqual(self.client.ask("GCRA", self.key, *words.split()), text)
        for bad in ("-1", "x", "1.5"):
            self.assertTrue(self.client.ask("GCRA", self.key, 1, 1, 1, "TOKENS", bad).startswith("ERR "))
        self.assertEqual(self.client.ask("GCRA", self.key, 1, 1, 3600, "TOKENS", 0), [0, 2, 2, -1, 0])

    def test_period_is_a_decimal_number_of_seconds(self):
        for period, reset in (("0.5", 1), ("2.5", 3), ("1e3", 1000), ("1.5e3", 1500), (".5", 1)):
            key = f"{self.key}-{period}"
            self.assertEqual(self.client.ask("GCRA", key, 0, 1, period), [0, 1, 0, -1, reset])

    def test_the_same_state_as_cl_throttle(self):
        self.assertEqual(self.client.ask("GCRA", self.key, 4, 1, 3600, "TOKENS", 4), [0, 5, 1, -1, 4 * 3600])
        self.assertEqual(self.client.ask("CL.THROTTLE", self.key, 4, 1, 3600)[:3], [0, 5, 0])
        self.assertEqual(self.client.ask("GCRA", self.key, 4, 1, 3600)[:3], [1, 5, 0])


class TestWhenFull(unittest.TestCase):
    def fill(self, when_full):
        # 1 MiB is some 50,000 slots.
        with Server("--threads", "1", "--memory", "1MiB", "--when-full", when_full) as server, server.client() as client:
            drained = [f"drained-{i}" for i in range(500)]
            for key in drained:
                self.assertEqual(client.ask("CL.THROTTLE", key, 0, 1, 3600)[0], 0)
            answers = []
            for start in range(0, 80_000, 1000):
                client.send_bytes(b"".join(encode("CL.THROTTLE", f"flood-{i}", 0, 1, 3600)
                                           for i in range(start, start + 1000)))
                answers += [client.reply()[0] for _ in range(1000)]
            for key in drained:
                self.assertEqual(client.ask("CL.THROTTLE", key, 0, 1, 3600)[0], 1, "a flood made it forget")
            self.assertGreater(int(server.info()["refused_for_lack_of_room"]), 10_000)
            return answers

    def test_deny(self):
        answers = self.fill("deny")
        self.assertGreater(sum(answers), 10_000)
        self.assertGreater(answers.count(0), 40_000)

    def test_allow(self):
        self.assertEqual(sum(self.fill("allow")), 0)


if __name__ == "__main__":
    run_at_once()
