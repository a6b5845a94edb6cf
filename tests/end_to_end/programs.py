"""Other programs that tests start and ask by HTTP: gateways, and applications in other languages."""
import http.client
import os
import pathlib
import socket
import subprocess

from server import PATIENCE, until


def answers_at(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def ask(port, method="GET", path="/", headers=()):
    """(status, headers, body) of one request; a header may come twice."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path)
        for name, value in headers:
            connection.putheader(name, value)
        if method == "POST":
            connection.putheader("Content-Length", "4")
        connection.endheaders(b"body" if method == "POST" else None)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class Program:
    """A program that is to listen on `port`, in a Folder that is gone with it."""

    def __init__(self, command, port, folder, **env):
        self.port = port
        self.folder = folder
        self.log = open(folder.file("log"), "w+b")
        self.process = subprocess.Popen(command, cwd=folder.path, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, env={**os.environ, "HOME": folder.path, **env})
        try:
            # The first start of an interpreter on a busy machine takes its time.
            until(lambda: self.process.poll() is not None or answers_at(port), f"{command[0]} listens", 3 * PATIENCE)
            assert self.process.poll() is None, self.text()
        except BaseException:
            self.close()
            raise

    def text(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.__exit__()
