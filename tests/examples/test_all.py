"""Every file under examples/ is run by a test in the program that it is for: a new one without such a test fails here."""
import inspect
import os
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))
import gateways  # noqa: E402
import test_gateways  # noqa: E402
import test_rolling  # noqa: E402
from server import PATIENCE, ROOT, run, weir  # noqa: E402

EXAMPLES = pathlib.Path(ROOT, "examples")
TESTS = pathlib.Path(ROOT, "tests")
# What each gateway is tried in; those that ask two weirs also in test_rolling.py.
STATES = ("allowed_reaches_the_backend", "allowed_without_fields", "denied_is_429", "weir_is_down", "limited_again", "weir_hangs",
          "http_2", "headers_do_not_make_the_check_too_long", "upgrade", "preflight", "web_page_may_read", "token_is_wrong",
          "read_in_two_ways")
# And each framework.
FRAMEWORK_STATES = ("told_what_is_left", "allowed_without_fields", "denied_is_429", "weir_is_down", "when_it_is_back", "slow_weir",
                    "long_headers", "https", "token_that_is_wrong", "without_a_limits_file")
# The file, and the test that runs it: a class of a file under tests/, or a test of CMake's. Those of gateways are found by
# what they start.
TESTED = {
    "events/slack.py": "end_to_end/test_audit.py TestEvents",
    "systemd/weir.socket": "end_to_end/test_socket_activation.py Units",
    "systemd/socket.conf": "end_to_end/test_socket_activation.py Units",
    "gateways/limits.yaml": "examples/test_gateways.py States",
    "web/limits.yaml": "end_to_end/test_web.py Framework",
    "web/weir_flask.py": "end_to_end/test_web.py Flask",
    "web/weir_flask_login.py": "end_to_end/test_web.py Login",
    "web/login.yaml": "end_to_end/test_web.py Login",
    "web/weir_django.py": "end_to_end/test_web.py Django",
    "web/weir_fastapi.py": "end_to_end/test_web.py FastApi",
    "web/weir_express.mjs": "end_to_end/test_web.py Express",
    "web/weir_fastify.mjs": "end_to_end/test_web.py Fastify",
    "pacing/limits.yaml": "end_to_end/test_pacing.py TestAsyncio",
    "pacing/asyncio_fleet.py": "end_to_end/test_pacing.py TestAsyncio",
    "pacing/asio_calls.cpp": "end_to_end/test_pacing.py TestAsio",
    "pacing/bucket_of_fifty.py": "end_to_end/test_pacing.py TestBucketOfFifty",
    "pacing/five_at_once.yaml": "end_to_end/test_pacing.py TestFiveAtOnce",
    "pacing/bullmq_jobs.mjs": "end_to_end/test_pacing.py TestBullMq",
    "pacing/celery_tasks.py": "end_to_end/test_pacing.py TestCelery",
    "pacing/delay_or_drop.conf": "end_to_end/test_pacing.py TestDelayOrDrop",
    "pacing/delay_or_drop.js": "end_to_end/test_pacing.py TestDelayOrDrop",
    "pacing/model_calls.py": "end_to_end/test_tokens.py Python",
    "pacing/litellm_callback.py": "end_to_end/test_tokens.py LiteLlm",
    "gateways/nginx_tokens.conf": "end_to_end/test_tokens.py Nginx",
    "pacing/plot.py": "examples/test_all.py Plot",
    "grafana/weir.json": "end_to_end/test_admin.py",
    **{f"prometheus/{name}": "end_to_end/test_admin.py" for name in ("weir.rules.yml", "weir.rules_test.yml", "objectives.json")},
    "replay/access.log": "replay/test_agreement.py",
    "replay/make_log.py": "replay/test_agreement.py",
    **{f"envoy/{name}": "examples/test_envoy.py" for name in ("limits.yaml", "rls.yaml", "tokens.yaml", "tls.yaml")},
    **{f"limits/{name}": "examples/test_all.py Limits"
       for name in ("bad_nets.txt", "internal_service.yaml", "internal_service_test.yaml", "language_models.yaml",
                    "language_models_test.yaml", "public_api.yaml", "public_api_test.yaml", "vendor_quotas.yaml",
                    "vendor_quotas_test.yaml")},
    **{f"{name}.cpp": f"example.{name}" for name in ("all_or_none", "batch", "coroutine", "limits_reserve", "one_limit", "per_user", "shared",
                                                   "shared_reserve", "text", "wait", "wait_asio")},
}


def gateway_classes():
    return [each for _, each in inspect.getmembers(test_gateways, inspect.isclass)
            if issubclass(each, test_gateways.States) and issubclass(each, unittest.TestCase)]


class All(unittest.TestCase):
    def test_every_example_has_a_test(self):
        files = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        files.remove("CMakeLists.txt")
        started = {f"gateways/{name}" for each in gateway_classes() for name in each.gateway.files}
        self.assertEqual(files, started | set(TESTED))

    def test_the_tests_are_there_and_run(self):
        built = (TESTS / "CMakeLists.txt").read_text()
        names = (EXAMPLES / "CMakeLists.txt").read_text()
        for example, test in TESTED.items():
            if test.startswith("example."):
                self.assertRegex(names, rf"foreach\(name [^)]*\b{test[8:]}\b|NAME {re.escape(test)} COMMAND", example)
                continue
            file, _, name = test.partition(" ")
            text = (TESTS / file).read_text()
            self.assertIn(f"class {name}" if name else pathlib.Path(example).name, text, example)
            if file.startswith("examples/"):
                self.assertIn(file, built)
                continue
            folder, _, stem = file.removesuffix(".py").partition("/test_")
            self.assertRegex(built, rf"foreach\(name [^)]*\b{stem if folder == 'end_to_end' else f'{folder}/{stem}'}\b", example)

    def test_each_gateway_is_tried_in_every_state(self):
        classes = gateway_classes()
        self.assertEqual(len(classes), 7)
        for each in classes:
            tests = " ".join(name for name in dir(each) if name.startswith("test_"))
            for state in STATES:
                self.assertIn(state, tests, each)

    def test_each_that_asks_two_weirs_is_tried_while_they_are_replaced(self):
        two = {each.gateway.files for each in gateway_classes()
               if any("10.0.0.2" in (EXAMPLES / "gateways" / name).read_text() for name in each.gateway.files)}
        self.assertEqual({*two, gateways.NGINX_LUA.files, ("rls.yaml",)},
                         {each.gateway.files for each in vars(test_rolling).values()
                          if inspect.isclass(each) and issubclass(each, test_rolling.Rolling) and each.gateway})

    def test_each_gateway_is_run(self):
        built = re.findall(r'foreach\(classes (.*)\)', (TESTS / "CMakeLists.txt").read_text())[0]
        for each in [*gateway_classes(), test_gateways.Documents]:
            self.assertIn(each.__name__, re.findall(r"\w+", built))

    def test_each_framework_is_tried_in_every_state(self):
        tests = " ".join(re.findall(r"def (test_\w+)\(self", (TESTS / "end_to_end/test_web.py").read_text().partition("class Framework")[2]))
        for state in FRAMEWORK_STATES:
            self.assertIn(state, tests)


class Limits(unittest.TestCase):
    def test_each_file_s_tests_pass_and_reach_all_of_it(self):
        folder = EXAMPLES / "limits"
        for tests in sorted(folder.glob("*_test.yaml")):
            code, out, errors = weir("test", tests, "--coverage")
            self.assertEqual((code, errors), (0, ""), out)
            self.assertIn(", 0 failed\n", out)
            self.assertIn(", 100.0 %\n", out)
        files = [each for each in sorted(folder.glob("*.yaml")) if not each.stem.endswith("_test")]
        self.assertEqual(len(files), 4)
        self.assertEqual(weir("lint", *files, "--now", "2026-11-21")[0], 0)
        # A list that a file names, and without which it is refused.
        self.assertIn("bad_nets.txt", (folder / "public_api.yaml").read_text())


class Plot(unittest.TestCase):
    def test_calls_become_a_picture(self):
        done = subprocess.run([sys.executable, EXAMPLES / "pacing/plot.py", "5", "0.05"], input="0\n0.1\n0.2\n", text=True, check=True,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(xml.etree.ElementTree.fromstring(done.stdout).find("{http://www.w3.org/2000/svg}title").text,
                         "3 calls in 0.2 s, never above burst + t / T")


if __name__ == "__main__":
    run()
