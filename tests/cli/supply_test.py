"""Tests what a release consists of: pinned dependencies, the bill of materials, archives with the same bytes,
signed notes; and that the program uses no network."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest

# Notes and refuses each socket that could leave the machine. A driver of a GPU may use local ones.
NO_NETWORK = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int Refuse(void) {
  const char what = 'n';
  const char* path = getenv("SOCKETS");
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, &what, 1) != 1) abort();
  close(file);
  errno = EPERM;
  return -1;
}

int socket(int family, int type, int protocol) {
  if (family != AF_UNIX) return Refuse();
  return (int)syscall(SYS_socket, family, type, protocol);
}
"""

# Asks the library for a socket, to check that it works.
ASKS = "import socket\ntry:\n  socket.socket(socket.AF_INET)\nexcept PermissionError:\n  print('refused')\n"


class Libraries(CliTest):
    def test_none_is_loaded_from_the_current_folder(self):
        """An empty entry of a search path stands for the current folder, where strangers' files may be."""
        built = [TANDEM.resolve(), *TANDEM.resolve().parent.glob("libtandem*.so")]
        for path in built:
            with self.subTest(path.name):
                dynamic = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True)
                found = re.search(r"Library runpath: \[(.*)\]", dynamic.stdout)
                self.assertIsNotNone(found)
                for entry in found[1].split(":"):
                    self.assertRegex(entry, r"^(/|\$ORIGIN(/|$))")
        (self.folder / "libxxhash.so.0").write_text("not a library")
        self.run_tandem("--version")


class Network(CliTest):
    def test_the_program_opens_no_socket(self):
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            self.skipTest("no C compiler")
        library = self.folder / "no_network.so"
        source = self.write("n.c", NO_NETWORK)
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", library, source], check=True)
        sockets = self.folder / "sockets"
        env = {**os.environ, "LD_PRELOAD": str(library), "SOCKETS": str(sockets)}
        asked = subprocess.run([sys.executable, "-c", ASKS], env=env, capture_output=True, text=True)
        self.assertEqual((asked.stdout, sockets.read_text()), ("refused\n", "n"))
        sockets.unlink()
        self.write("states.jsonl", '{"state": "1 2 3 4 5 6 7 0 8", "optimal": 1}\n')
        self.write("small.yaml", "domain: {name: npuzzle, size: 3}\nnetwork: {width: 8, blocks: 1}\n"
                   "generate: {max_scramble: 4, target: value_iteration, workers: 1}\n"
                   "train: {batch_size: 20, iterations_per_update: 1, max_updates: 2, threads: 1}\n"
                   "device: auto\n")
        for words in (["train", "small.yaml", "--out", "run"],
                      ["train", "--resume", "run", "--set", "train.max_updates=3"],
                      ["solve", "--model", "run", "--states", "states.jsonl"],
                      ["evaluate", "run", "--states", "states.jsonl"], ["report", "run"],
                      ["generate", "small.yaml", "--set", "generate.target=walk_length", "--examples", "8",
                       "--out", "shards"],
                      ["shards", "shards"]):
            result = subprocess.run([TANDEM, *words], cwd=self.folder, env=env, capture_output=True,
                                    text=True, timeout=120)
            self.assertEqual(result.returncode, 0, f"{words}: {result.stderr}")
            self.assertFalse(sockets.exists(), f"{words} opened a socket")


class Pinned(unittest.TestCase):
    def test_every_package_from_pypi_has_a_version_and_a_hash(self):
        files = sorted((SOURCE / "scripts/requirements").glob("*.txt"))
        self.assertIn("torch.txt", [path.name for path in files])
        for path in files:
            text = re.sub(r" \\\n *", " ", path.read_text())
            for line in text.splitlines():
                if not line.startswith("#"):
                    self.assertRegex(line, r"^[a-z0-9.-]+==\S+( --hash=sha256:[0-9a-f]{64})+$", path.name)

    def test_packages_that_share_a_folder_have_one_version(self):
        """The CUDA toolkit is installed beside PyTorch, and must not replace its libraries."""
        def pins(name):
            text = (SOURCE / "scripts/requirements" / f"{name}.txt").read_text()
            return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.M))
        torch, cuda = pins("torch"), pins("cuda")
        self.assertEqual({name: cuda[name] for name in torch.keys() & cuda},
                         {name: torch[name] for name in torch.keys() & cuda})

    def test_scripts_install_from_pypi_only_with_hashes(self):
        found = []
        for path in [*(SOURCE / "scripts").iterdir(), SOURCE / "Makefile", SOURCE / ".ci/run"]:
            # The latter does what a user does, who has no list of hashes.
            if not path.is_file() or path.name in ("lock_requirements", "try_wheel"):
                continue
            text = path.read_text().replace("\\\n", " ")
            found += [(path.name, line) for line in text.splitlines()
                      if re.search(r"\bpip\"? install\b", line) and not re.search(r"^\s*(#|echo)", line)]
        self.assertIn("setup", [name for name, _ in found])
        without = [line for _, line in found if "--require-hashes" not in line]
        self.assertEqual(len(without), 1, without)
        self.assertIn('"torch==$torch"', without[0])  # a version that the user names by TORCH


class BillOfMaterials(CliTest):
    def test_names_what_the_program_links_and_what_set_up_installs(self):
        command = [sys.executable, SOURCE / "scripts/sbom", "--build", TANDEM.parent]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        again = self.folder / "again.json"
        subprocess.run([*command, "--out", again], check=True)
        self.assertEqual(again.read_text(), text)
        bill = json.loads(text)
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        parts = {each["name"]: each for each in bill["components"]}
        for each in bill["components"]:
            self.assertTrue(each["version"] and each["purl"] and each["licenses"], each)
        self.assertIn("pkg:pypi/torch@2.11.0", bill["dependencies"][0]["dependsOn"])
        if shutil.which("dpkg-query") and shutil.which("ldd"):
            self.assertEqual(parts["libtbb12"]["properties"][0]["value"], "linked")
            self.assertIn("Apache-2.0", [each["license"]["name"] for each in parts["libtbb12"]["licenses"]])
            self.assertEqual(parts["ninja-build"]["properties"][0]["value"], "set-up")


class ReleaseNotes(CliTest):
    def setUp(self):
        super().setUp()
        if shutil.which("ssh-keygen") is None:
            self.skipTest("no ssh-keygen")
        self.key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", self.key],
                       check=True)
        public = self.key.with_suffix(".pub").read_text().split()
        self.write("signers", f"releaser {public[0]} {public[1]}\n")
        self.artefact = self.write("tandem.tar.gz", "an archive")

    def notes(self, *args, code=0):
        result = subprocess.run([SOURCE / "scripts/release_notes", *map(str, args)], capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stderr

    def verify(self, notes):
        return subprocess.run(["ssh-keygen", "-Y", "verify", "-f", self.folder / "signers", "-I", "releaser",
                               "-n", "tandem-release", "-s", f"{notes}.sig"], input=notes.read_bytes(),
                              capture_output=True).returncode

    def test_are_signed_and_name_the_files_by_their_hashes(self):
        out = self.folder / "out"
        for _ in range(2):  # also over older notes
            self.notes("0.1.0", "--draft", "--key", self.key, "--out", out, self.artefact)
        notes = out / "tandem-0.1.0.md"
        text = notes.read_text()
        self.assertIn(f"{hashlib.sha256(b'an archive').hexdigest()}  tandem.tar.gz\n", text)
        self.assertIn("### Added", text)
        self.assertEqual(self.verify(notes), 0)
        notes.write_text(text.replace("tandem.tar.gz", "another.tar.gz"))
        self.assertNotEqual(self.verify(notes), 0)

    def test_a_version_that_is_not_in_the_changelog_is_refused(self):
        error = self.notes("9.9.9", "--draft", "--key", self.key, "--out", self.folder / "out", code=1)
        self.assertIn("CHANGELOG.md has no part `## 9.9.9`", error)

    def test_a_key_that_cannot_sign_is_an_error(self):
        error = self.notes("0.1.0", "--draft", "--key", self.folder / "none", "--out", self.folder / "out",
                           code=1)
        self.assertIn("ssh-keygen cannot sign", error)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
