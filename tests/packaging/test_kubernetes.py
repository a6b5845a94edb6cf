"""packaging/kubernetes: the plain manifests beside a running server. With WEIR_LONG=1 and Go the chart too, by Helm's engine:
its manifests are read as strictly as by Kubernetes, and with the values that it has they are the plain ones."""
import http.client
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from server import PATIENCE, Folder, Server, run, until, weir  # noqa: E402

FOLDER = ROOT / "packaging/kubernetes"
PLAIN = FOLDER / "weir.yaml"
SECRET = {"WEIR_HTTP_TOKEN": "t0ken", "WEIR_PASSWORD": "s3cret"}


def manifests(text):
    return {each["kind"]: each for each in yaml.safe_load_all(text) if each}


class Plain(unittest.TestCase):
    def setUp(self):
        self.all = manifests(PLAIN.read_text())
        self.pod = self.all["Deployment"]["spec"]["template"]
        (self.container,) = self.pod["spec"]["containers"]

    def test_every_kind_is_there(self):
        self.assertEqual(set(self.all), {"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"})

    def test_all_select_the_pods(self):
        labels = self.pod["metadata"]["labels"]
        spec = {kind: each.get("spec", {}) for kind, each in self.all.items()}
        for selector in (spec["Service"]["selector"], spec["Deployment"]["selector"]["matchLabels"],
                         spec["NetworkPolicy"]["podSelector"]["matchLabels"], spec["PodDisruptionBudget"]["selector"]["matchLabels"]):
            self.assertEqual(selector, labels)

    def test_the_flags_are_known_and_fit_each_other(self):
        known = set(re.findall(r"--[a-z-]+", weir("serve", "--help")[1]))
        flags = dict(each.split("=", 1) for each in self.container["args"])
        self.assertEqual(set(flags) - known, set())
        ports = {each["name"]: each["containerPort"] for each in self.container["ports"]}
        self.assertEqual(ports, {name: int(flags[f"--{name}"].rsplit(":", 1)[1]) for name in ports})
        for policy in self.all["NetworkPolicy"]["spec"]["ingress"]:
            self.assertLessEqual({each["port"] for each in policy["ports"]}, set(ports))
        for each in self.all["Service"]["spec"]["ports"]:
            self.assertEqual(ports[each["targetPort"]], each["port"])
        grace = int(flags["--drain-grace"].removesuffix("s"))
        self.assertGreaterEqual(self.pod["spec"]["terminationGracePeriodSeconds"], grace + 10)
        probe = self.container["readinessProbe"]
        self.assertGreater(grace, 2 * probe["periodSeconds"] * probe["failureThreshold"])
        (mount,) = self.container["volumeMounts"]
        self.assertNotIn("subPath", mount)
        self.assertEqual(pathlib.Path(flags["--limits"]).parent, pathlib.Path(mount["mountPath"]))
        self.assertIn(pathlib.Path(flags["--limits"]).name, self.all["ConfigMap"]["data"])

    def test_a_server_with_these_flags_answers_the_probes_and_reads_a_changed_map(self):
        limits = self.all["ConfigMap"]["data"]["limits.yaml"]
        with Folder() as folder:
            mount_map(folder.path, "1", limits)
            flags = [re.sub(r"0\.0\.0\.0:\d+", "0.0.0.0:0", each).replace("/etc/weir", folder.path) for each in self.container["args"]]
            with Server(*(each for each in flags if not each.startswith("--resp")), resp=("0.0.0.0:0",), env=SECRET) as server:
                ports = dict(zip(("resp", "http", "admin"), server.ports))
                for name in ("livenessProbe", "readinessProbe"):
                    probe = self.container[name]["httpGet"]
                    until(lambda: get(ports[probe["port"]], probe["path"])[0] == 200, f"the {name} is answered")
                self.assertEqual(get(ports["admin"], "/metrics", Authorization="Bearer t0ken")[0], 200)
                self.assertNotIn('limit="later"', get(ports["admin"], "/metrics", Authorization="Bearer t0ken")[1])
                mount_map(folder.path, "2", limits + "  later: { by: [user], rate: 1/s }\n")
                until(lambda: 'limit="later"' in get(ports["admin"], "/metrics", Authorization="Bearer t0ken")[1], "it reads the map again")
                server.signal(15)
                until(lambda: get(ports["admin"], "/readyz")[0] == 503, "it says that it leaves")
                server.signal(15)

    def test_it_does_not_start_without_the_secret(self):
        code, _, errors = weir("serve", "--resp=0.0.0.0:0", "--http=0.0.0.0:0")
        self.assertEqual(code, 2, errors)
        self.assertEqual([each["secretRef"]["name"] for each in self.container["envFrom"]], ["weir"])


def mount_map(folder, version, limits):
    """As the kubelet writes a ConfigMap: the files in a folder of their own, to which a link is swapped."""
    root = pathlib.Path(folder)
    (root / f"..{version}").mkdir()
    (root / f"..{version}/limits.yaml").write_text(limits)
    (root / "..data_tmp").symlink_to(f"..{version}")
    os.rename(root / "..data_tmp", root / "..data")
    if version == "1":
        (root / "limits.yaml").symlink_to("..data/limits.yaml")


def get(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@unittest.skipUnless(os.environ.get("WEIR_LONG") == "1" and shutil.which("go"), "compiles Helm's engine: WEIR_LONG=1, and Go")
class Chart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        build = os.environ.get("WEIR_BUILD", str(ROOT / "build/dev"))
        cls.helm = cls.folder.file("helm")
        done = subprocess.run(["go", "build", "-o", cls.helm, "."], cwd=ROOT / "tests/packaging/helm", capture_output=True, text=True,
                              env={"GOCACHE": os.path.join(build, "go-cache"), **os.environ, "GOTOOLCHAIN": "local",
                                   "GOFLAGS": "-mod=readonly -buildvcs=false"})
        if "requires go >=" in done.stderr or "invalid go version" in done.stderr:
            raise unittest.SkipTest("Go is older than Helm asks for")
        assert done.returncode == 0, done.stderr

    def render(self, values=None):
        """The exit code, the manifests, and what is wrong with them."""
        more = [self.folder.file("values.yaml", values)] if values else []
        done = subprocess.run([self.helm, FOLDER / "chart", "weir", "default", *more], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_by_default_it_is_the_plain_manifests(self):
        code, text, errors = self.render()
        self.assertEqual((code, errors), (0, ""))
        if os.environ.get("WEIR_WRITE") == "1":
            head = PLAIN.read_text().partition("---\n")[0]
            PLAIN.write_text(head + text)
        self.assertEqual(PLAIN.read_text().partition("---\n")[2], text.partition("---\n")[2])

    def test_what_values_say(self):
        code, text, errors = self.render("rls: true\nargs: [--insecure, --merge]\nreplicas: 3\ndrainGraceSeconds: 30\nsecret: other\n"
                                         "limits: |\n  version: 1\n  limits:\n    a: { rate: 1/s }\n"
                                         "networkPolicy: { clients: [{ podSelector: { matchLabels: { app: web } } }], storePort: 6380 }\n")
        self.assertEqual((code, errors), (0, ""))
        made = manifests(text)
        deployment = made["Deployment"]["spec"]
        pod = deployment["template"]["spec"]
        self.assertEqual((deployment["replicas"], pod["terminationGracePeriodSeconds"]), (3, 50))
        args = pod["containers"][0]["args"]
        self.assertEqual(args[-2:], ["--insecure", "--merge"])
        self.assertLessEqual({"--rls=0.0.0.0:8081", "--drain-grace=30s"}, set(args))
        self.assertEqual(pod["containers"][0]["envFrom"], [{"secretRef": {"name": "other"}}])
        self.assertIn(8081, [each["port"] for each in made["Service"]["spec"]["ports"]])
        self.assertEqual(made["NetworkPolicy"]["spec"]["ingress"][0]["from"], [{"podSelector": {"matchLabels": {"app": "web"}}}])
        self.assertEqual(made["NetworkPolicy"]["spec"]["egress"][0]["ports"][0], {"port": 6380})
        self.assertEqual(made["ConfigMap"]["data"]["limits.yaml"], "version: 1\nlimits:\n  a: { rate: 1/s }\n")

    def test_what_kubernetes_would_not_take_is_refused(self):
        code, _, errors = self.render("resources: { limit: { memory: 1Mi } }\n")
        self.assertEqual(code, 1)
        self.assertIn('unknown field "limit"', errors)


if __name__ == "__main__":
    run(300)
