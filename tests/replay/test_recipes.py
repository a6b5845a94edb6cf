"""Each recipe of docs/replay.md reads a log of its program."""
import gzip
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import unittest

import make_formats
from program import SOURCE, WEIR, Folder, environment, run
from test_formats import requests_of

RECIPES = SOURCE / "docs/replay.md"
# Of each recipe who writes its lines, and the files that its command names; none is a program's output.
LOGS = {"nginx": ("combined", "var/log/nginx/access.log", "var/log/nginx/access.log.1"), "nginx, JSON": ("nginx json", "access.json"),
        "nginx to syslog": ("syslog", "var/log/syslog"),
        "Apache": ("combined", "var/log/apache2/access.log", "var/log/apache2/access.log.2.gz"),
        "Caddy": ("caddy", "var/log/caddy/access.log"), "Traefik": ("traefik", "var/log/traefik.log"),
        "HAProxy": ("syslog of haproxy", "var/log/haproxy.log"), "HAProxy, TCP": ("haproxy tcp",), "Envoy": ("envoy",),
        "Istio": ("istio",), "Istio, JSON": ("istio json",), "Kong": ("kong", "var/log/kong.json"),
        "Squid": ("squid", "var/log/squid/access.log"), "Zeek": ("zeek", "http.log"), "IIS": ("iis", "u_ex261121.log"),
        "AWS Application Load Balancer": ("alb",), "AWS Classic Load Balancer": ("elb",), "AWS API Gateway": ("api gateway",),
        "CloudFront": ("cloudfront", "E2K4.2026-11-21-05.a1.gz"), "Cloudflare": ("cloudflare", "20261121T050000Z_1.log.gz"),
        "Google Cloud Load Balancing": ("gcp",), "Docker": ("docker", "var/lib/docker/containers/1f/1f-json.log"),
        "Kubernetes, on the node": ("cri", "var/log/containers/web-1_default_web-2.log"),
        "syslog of RFC 5424": ("syslog 5424", "var/log/requests.log"), "PostgreSQL": ("csv", "requests.csv"),
        "anything else": (None, "app.log")}


def recipes():
    loader = importlib.machinery.SourceFileLoader("readme_run", str(SOURCE / "tests/readme/run"))
    page = importlib.util.module_from_spec(importlib.util.spec_from_loader("readme_run", loader))
    loader.exec_module(page)
    return [[cell.strip("`") for cell in row] for row in page.rows(RECIPES.read_text(), "log", "to get it", "to read it")]


class Recipes(unittest.TestCase):
    def test_each_reads_every_line(self):
        rows = recipes()
        self.assertEqual({name for name, *_ in rows}, set(LOGS))
        for name, _, command in rows:
            with self.subTest(name), Folder() as folder:
                requests = requests_of(1, False)
                writer, *files = LOGS[name]
                write = make_formats.WRITERS[writer] if writer else make_formats.APPLICATION
                for n, file in enumerate(files):   # each has the same share of the requests
                    self.write(folder, file, write(requests[n::len(files)]))
                if "|" in command:   # a program of this name writes the log
                    self.write(folder, "log", write(requests))
                    program = self.write(folder, "bin/" + command.split()[0], ["#!/bin/sh", f"cat {folder.path}/log"])
                    program.chmod(0o700)
                asked = re.sub(r"(?<= )/var/", folder.path + "/var/", command)
                path = f"{folder.path}/bin:{os.path.dirname(os.path.abspath(WEIR))}:{os.environ['PATH']}"
                done = subprocess.run(["bash", "-c", asked + " --json"], cwd=folder.path, env={**environment(), "PATH": path},
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                lines = json.loads(done.stdout)["lines"]
                self.assertEqual((lines["requests"] + lines["left_out"], lines["unreadable"]), (len(requests), 0))
                self.assertEqual(lines["left_out"] > 0, "--where" in command)

    def write(self, folder, name, lines):
        path = pathlib.Path(folder.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(line + "\n" for line in lines).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path


if __name__ == "__main__":
    run()
