#!/usr/bin/python3
"""The image that packaging/oci makes of the portable program: what the specification asks of a layout, and the image run as a
container would, but without an engine. test_packaging.py builds it."""
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests/end_to_end"))

from server import PATIENCE, Folder, Server, environment  # noqa: E402

IMAGE = os.path.join(SOURCE, f"build/package/weir-linux-{platform.machine()}.oci.tar")
DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}


def descriptor(kind):
    return {"type": "object", "required": ["mediaType", "digest", "size"],
            "properties": {"mediaType": {"const": f"application/vnd.oci.image.{kind}"}, "digest": DIGEST, "size": {"type": "integer"}}}


def document(kind, **properties):
    """Of the image specification 1.1, as far as ours goes: no field but these."""
    return {"type": "object", "required": ["schemaVersion", "mediaType", *properties], "additionalProperties": False,
            "properties": {"schemaVersion": {"const": 2}, "mediaType": {"const": f"application/vnd.oci.image.{kind}"}, **properties}}


INDEX = document("index.v1+json", manifests={"type": "array", "minItems": 1, "maxItems": 1, "items": descriptor("manifest.v1+json")})
MANIFEST = document("manifest.v1+json", config=descriptor("config.v1+json"),
                    layers={"type": "array", "minItems": 1, "items": descriptor("layer.v1.tar+gzip")})
TEXTS = {"type": "array", "items": {"type": "string"}}
CONFIG = {"type": "object", "required": ["architecture", "os", "rootfs"], "additionalProperties": False, "properties": {
    "created": {"type": "string", "format": "date-time", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
    "architecture": {"enum": ["amd64", "arm64"]}, "os": {"const": "linux"},
    "config": {"type": "object", "additionalProperties": False, "properties": {
        "User": {"type": "string"}, "ExposedPorts": {"type": "object"}, "Env": TEXTS, "Entrypoint": TEXTS, "Cmd": TEXTS,
        "WorkingDir": {"type": "string"}, "StopSignal": {"type": "string"}, "Labels": {"type": "object"}}},
    "rootfs": {"type": "object", "required": ["type", "diff_ids"], "properties": {
        "type": {"const": "layers"}, "diff_ids": {"type": "array", "items": DIGEST}}},
    "history": {"type": "array", "items": {"type": "object", "properties": {"created": {"type": "string"}, "created_by": {"type": "string"}}}}}}


class Layout:
    """Each document, judged, and each blob as what its descriptor says."""

    def __init__(self):
        with tarfile.open(IMAGE) as image:
            self.files = {each.name: image.extractfile(each).read() for each in image.getmembers() if each.isfile()}
        self.index = self.judged(self.files["index.json"], INDEX)
        self.manifest = self.judged(self.blob(self.index["manifests"][0]), MANIFEST)
        self.config = self.judged(self.blob(self.manifest["config"]), CONFIG)
        (layer,) = self.manifest["layers"]
        self.layer = gzip.decompress(self.blob(layer))

    def judged(self, text, schema):
        read = json.loads(text)
        jsonschema.validate(read, schema)
        return read

    def blob(self, said):
        content = self.files["blobs/" + said["digest"].replace(":", "/")]
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (said["digest"].split(":")[1], said["size"]), said
        return content


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layout = Layout()
        cls.own = cls.layout.config["config"]
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.__exit__)
        cls.root = os.path.join(cls.folder.path, "root")
        os.chmod(cls.folder.path, 0o755)
        with tarfile.open(fileobj=io.BytesIO(cls.layout.layer)) as tar:
            cls.members = {each.name: each for each in tar.getmembers()}
            tar.extractall(cls.root, numeric_owner=True)

    def inside(self, *command):
        """`command` as an engine runs it: its user, no mounts or processes of ours, and a root that nobody can write to."""
        script = ('mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && user=$1 && shift && '
                  'exec chroot --userspec=$user --groups= "$0" "$@"')
        return "unshare", "--mount", "sh", "-c", script, self.root, self.own["User"], *command

    def test_is_a_layout_in_which_each_digest_holds(self):
        self.assertEqual(json.loads(self.layout.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        self.assertEqual(len(self.layout.files), 2 + 3, "index, layout; manifest, config and layer")
        self.assertEqual(self.layout.config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(self.layout.layer).hexdigest()])

    def test_has_the_program_and_nothing_that_could_start_another(self):
        files = {name for name, each in self.members.items() if each.isfile() or each.issym()}
        self.assertEqual(files, {"bin/weir", "bin/ratelimit", "usr/share/doc/weir/copyright"})
        owners = {(each.uid, each.gid) for name, each in self.members.items() if name != "var/lib/weir"}
        self.assertEqual(owners, {(0, 0)})
        self.assertEqual({each.mode for each in self.members.values() if each.isfile()}, {0o755, 0o644})
        folder = self.members["var/lib/weir"]
        self.assertEqual((f"{folder.uid}:{folder.gid}", folder.mode), (self.own["User"], 0o700))
        self.assertNotIn("0", self.own["User"].split(":"))

    def test_is_the_same_when_it_is_made_again(self):
        before = hashlib.sha256(open(IMAGE, "rb").read()).hexdigest()
        subprocess.run([os.path.join(SOURCE, "packaging/oci"), platform.machine()], env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"},
                       umask=0o077, check=True, capture_output=True)
        self.assertEqual(hashlib.sha256(open(IMAGE, "rb").read()).hexdigest(), before)

    @unittest.skipUnless(os.getuid() == 0, "only root can change the root")
    def test_serves_and_ends_as_an_engine_ends_it(self):
        cmd = [each.replace("0.0.0.0:6390", "0.0.0.0:0") for each in self.own["Cmd"]]
        with Server(resp=(), env={"WEIR_PASSWORD": "s3cret"}, program=self.inside(*self.own["Entrypoint"], *cmd)) as server:
            asked = subprocess.run(self.inside("/bin/weir", "check", "a", "--limit", "1/h", "--port", str(server.port)),
                                   env=environment(WEIR_PASSWORD="s3cret"), capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(asked.returncode, 0, asked)
            with open(f"/proc/{server.pid}/status", encoding="utf-8") as status:
                self.assertIn("Uid:\t65532\t65532\t65532\t65532", status.read())
            server.signal(getattr(signal, self.own["StopSignal"]))
            self.assertEqual(server.wait(), 0, server.stderr())

    @unittest.skipUnless(os.getuid() == 0, "only root can change the root")
    def test_does_not_listen_to_everybody_without_a_password(self):
        done = subprocess.run(self.inside(*self.own["Entrypoint"], *self.own["Cmd"]), env=environment(), capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--insecure", done.stderr)

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not there")
    def test_skopeo_takes_it(self):
        subprocess.run(["skopeo", "copy", f"oci-archive:{IMAGE}", f"dir:{self.folder.path}/copy"], check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
