"""Folders of envoyproxy/ratelimit's files: weir lint, weir explain and weir serve with --rls-config."""
import json
import os
import signal
import unittest

from server import Folder, Server, run, until, weir

SHOP = """\
domain: shop
descriptors:
- key: plan
  rate_limit: { unit: minute, requests_per_unit: 20 }
- { key: plan, value: "g*", share_threshold: true, shadow_mode: yes, rate_limit: { unit: HOUR, requests_per_unit: 0x10 } }
"""
WRONG = "fine.txt: config error, unknown key 'domian'; did you mean domain? (line 1, column 1)\n"


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.path = self.folder.path
        self.file = self.folder.file("shop.yaml", SHOP)


class TestTools(WithFolder):
    def test_lint_tells_all_that_is_wrong(self):
        self.assertEqual(weir("lint", "--rls-config", self.path), (0, f"{self.path}: clean: 1 domain, 2 limits\n", ""))
        self.folder.file("fine.txt", "domian: x\n")
        self.folder.file("a.yaml", "domain: [\n")
        code, out, _ = weir("lint", "--rls-config", self.path)
        self.assertEqual((code, out), (1, "a.yaml: error loading config file: yaml: did not find expected node content "
                                          "while parsing a flow node (line 1, column 1)\n" + WRONG))
        code, out, _ = weir("lint", "--rls-config", self.path, "--json")
        said = json.loads(out)
        self.assertEqual((code, said["errors"], said["findings"][1]["file"]), (1, 2, "fine.txt"))

    def test_lint_of_what_is_not_there_or_empty(self):
        gone = os.path.join(self.path, "gone")
        self.assertEqual(weir("lint", "--rls-config", gone),
                         (2, f"{gone}: cannot read it: No such file or directory\n", ""))
        os.mkdir(gone)
        told = f"{gone}: warning: there is no file, so no domain is known and nothing is limited\n"
        self.assertEqual(weir("lint", "--rls-config", gone), (0, told, ""))
        self.assertEqual(weir("lint", "--rls-config", gone, "--strict"), (1, told, ""))
        self.assertEqual(weir("lint")[0], 2)

    def test_files_of_one_domain(self):
        self.folder.file("two.yaml", "domain: shop\n")
        self.assertEqual(weir("lint", "--rls-config", self.path)[:2],
                         (1, "two.yaml: duplicate domain 'shop' in config file; it is in shop.yaml already (line 1, "
                             "column 1)\n"))
        self.assertEqual(weir("lint", "--rls-config", self.path, "--rls-merge-domains")[0], 0)

    def test_explain_says_which_limit_a_descriptor_meets(self):
        def explain(*words):
            return weir("explain", "--rls-config", self.path, "--domain", "shop", *words)
        self.assertEqual(explain("plan=free"), (0, "shop.plan: 20 per MINUTE\ncounted under 4:shop4:plan4:free\n", ""))
        self.assertEqual(explain("plan=gold"),
                         (0, "shop.plan_g*: 16 per HOUR, shadow_mode\ncounted under 4:shop4:plan2:g*\n", ""))
        self.assertEqual(explain("plan=gold", "path=/"), (0, "no limit\n", ""))
        self.assertEqual(weir("explain", "--rls-config", self.path, "a=b"), (2, "", "weir: rls-config needs domain\n"))
        self.assertEqual(explain("a=b", "--json")[2],
                         "weir: cost, class, now and json are for a limits file, not for rls-config\n")
        self.assertEqual(weir("explain", "--rls-config", self.path, "--domain", "x", "a=b")[2],
                         "weir: unknown domain 'x'\n")


class TestServe(WithFolder):
    def test_a_folder_that_does_not_load_ends_it(self):
        self.folder.file("fine.txt", "domian: x\n")
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--rls-config", self.path)
        self.assertEqual((code, errors), (2, f"weir: rls-config: '{self.path}' cannot be used\n{WRONG}"))
        code, _, errors = weir("serve", "--resp", "127.0.0.1:0", "--rls-merge-domains")
        self.assertEqual((code, errors), (2, "weir: rls-merge-domains and rls-algorithm need rls-config or rls-xds\n"))

    def test_it_is_read_again_when_it_changes(self):
        with Server("--rls-config", self.path) as server:
            said = server.info
            self.assertEqual([said()[f"rls_{name}"] for name in ("file", "domains", "limits", "reloads", "reload_errors")],
                             [self.path, "1", "2", "0", "0"])
            os.mkdir(os.path.join(self.path, "sub"))
            self.folder.file("sub/store", "domain: store\n")
            until(lambda: said()["rls_domains"] == "2", "a new file is read")
            os.remove(self.file)
            until(lambda: said()["rls_domains"] == "1", "a file that has gone takes its domain along")
            os.remove(os.path.join(self.path, "sub/store"))
            until(lambda: said()["rls_last_error"] == f"{self.path}: there is no file", "an empty folder is an error")
            self.assertEqual(said()["rls_domains"], "1")
            self.folder.file("fine.txt", "domian: x\n")
            until(lambda: said()["rls_last_error"] == WRONG.strip(), "so is one that does not load")
            errors = int(said()["rls_reload_errors"])
            server.signal(signal.SIGHUP)
            until(lambda: int(said()["rls_reload_errors"]) > errors, "SIGHUP reads it too")
            os.mkfifo(os.path.join(self.path, "pipe"))
            until(lambda: "pipe: cannot read it: Not a regular file" in server.stderr(), "a FIFO holds nobody up")


if __name__ == "__main__":
    run()
