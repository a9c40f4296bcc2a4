#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""dragoman get, models and remove against servers on this machine that imitate the sites where
models are kept: what is fetched, what is refused, what an interruption leaves. The models are
those of tests/data/import and models/fr-en."""
import errno
import gzip
import itertools
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from harness import PATIENCE_S, PROGRAM, SOURCES, FOLDERS, IntegrationTest, environment, main, wait_for
sys.path.insert(0, os.path.join(SOURCES, "tests", "chaos"))
from faults import CALLS, FOR_EVER, Plan, why_not
from model_hosts import (ModelHosts, Proxy, cut, flip, git_sha1, other, other_part, raw, redirect, sha256, silent, stall, status, whole,
                         zstd)

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
IMPORTS = os.path.join(SOURCES, "tests", "data", "import")
FIREFOX = os.path.join(IMPORTS, "bin-bergamot")
PLACE = "main-workspace/translations-models-v2/"


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def setUpModule():
    global FOLDER, HOSTS
    if not shutil.which("openssl"):
        raise unittest.SkipTest("needs openssl")
    FOLDER = tempfile.mkdtemp(prefix="dragoman-hosts-", dir=FOLDERS)
    HOSTS = ModelHosts(FOLDER)


def tearDownModule():
    HOSTS.close()
    shutil.rmtree(FOLDER)


class Get(IntegrationTest):
    def setUp(self):
        super().setUp()
        HOSTS.files.clear()
        HOSTS.types.clear()
        HOSTS.faults.clear()
        HOSTS.log.clear()
        self.models = os.path.join(self.directory, "data", "dragoman", "models")
        self.catalogue = {"format": 1, "date": "2026-01-02", "sources": [
            {"name": "firefox", "base": HOSTS.url("/"), "list": HOSTS.url("/v1/records"), "licence": "none is stated",
             "scores_by": "Mozilla"},
            {"name": "firefox-archive", "base": HOSTS.url("/media/"), "licence": "MPL-2.0", "scores_by": "Mozilla"},
            {"name": "argos", "base": HOSTS.url("/argos/"), "licence": "CC0"}], "models": []}

    # ---- What the servers have

    def publish(self, source, target, kind="tiny", version="3.0", folder=FIREFOX, **more):
        """Publishes a model as Firefox does, in Zstandard, with its record in the catalogue."""
        files = []
        for name in sorted(os.listdir(folder)):
            raw = read(folder, name)
            packed = zstd(raw)
            place = PLACE + sha256(packed)[:20] + source + target + kind + ".zst"
            HOSTS.files["/" + place] = packed
            files.append({"name": name, "place": place, "size": len(packed), "sha256": sha256(packed),
                          "raw_size": len(raw), "raw_sha256": sha256(raw)})
        model = {"source": source, "target": target, "from": "firefox", "kind": kind, "version": version,
                 "files": files, **more}
        self.catalogue["models"].append(model)
        return model

    def publish_archive(self, source, target, kind="tiny", version="1.0", **more):
        """Publishes a model as the older repository does, in gzip."""
        files = []
        for name in sorted(os.listdir(FIREFOX)):
            packed = gzip.compress(read(FIREFOX, name), mtime=0)
            place = f"models/{kind}/{source}{target}/{name}.gz"
            HOSTS.files["/media/" + place] = packed
            files.append({"name": name, "place": place, "size": len(packed), "sha256": sha256(packed)})
        model = {"source": source, "target": target, "from": "firefox-archive", "kind": kind, "version": version,
                 "bleu": 30.5, "comet": 0.81, "files": files, **more}
        self.catalogue["models"].append(model)
        return model

    def publish_hf(self, owner, name, folder, revision="main", commit="5" * 40, files=None):
        """Publishes a repository of Hugging Face, as its API lists it, under the mirror's paths."""
        siblings = []
        for file in sorted(files or os.listdir(folder)):
            data = read(folder, file)
            sibling = {"rfilename": file, "size": len(data), "blobId": git_sha1(data)}
            if file.endswith((".bin", ".safetensors", ".spm")):
                sibling["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 134}
            siblings.append(sibling)
            HOSTS.files[f"/{owner}/{name}/resolve/{commit}/{file}"] = data
        siblings.append({"rfilename": "../../evil", "size": 3})
        answer = {"id": f"{owner}/{name}", "sha": commit, "tags": ["marian", "license:cc-by-4.0"], "siblings": siblings}
        HOSTS.files[f"/api/models/{owner}/{name}/revision/{revision}?blobs=true"] = json.dumps(answer).encode()
        return f"/{owner}/{name}/resolve/{commit}/"

    # ---- What is called

    def environment(self, **more):
        return environment({"XDG_DATA_HOME": os.path.join(self.directory, "data"), "HOME": self.directory,
                            "XDG_CONFIG_HOME": os.path.join(self.directory, "config"), **more})

    def command(self, *arguments):
        path = os.path.join(self.directory, "catalogue.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.catalogue, file)
        fetching = [f"--catalogue={path}", f"--ca-file={HOSTS.ca}",
                    *([] if any("--retry-wait" in a for a in arguments) else ["--retry-wait=1ms"])]
        return [TOOL, *arguments, f"--models-dir={self.models}", *(fetching if arguments[0] != "remove" else [])]

    def run_tool(self, *arguments, code=0, env=None, **popen):
        done = subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              errors="replace", timeout=2 * PATIENCE_S, env=self.environment(**(env or {})),
                              cwd=self.directory, **popen)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotRegex(done.stderr, "Sanitizer|runtime error")
        return done

    def get(self, *arguments, **more):
        return self.run_tool("get", *arguments, **more)

    def installed(self):
        if not os.path.isdir(self.models):
            return []
        return sorted(name for name in os.listdir(self.models) if not name.startswith("."))

    def leftovers(self):
        """The files in the work folder apart from its lock and notes."""
        work = os.path.join(self.models, ".get")
        return sorted(set(os.listdir(work)) - {"lock", "hashes", "catalogue.json"}) if os.path.isdir(work) else []

    def refused(self, sentence, *arguments, code=1, leftovers=(), **more):
        done = self.get(*arguments, code=code, **more)
        self.assertRegex(done.stderr, sentence)
        self.assertEqual(self.installed(), [])
        self.assertEqual(self.leftovers(), list(leftovers))
        return done


class Plain(Get):
    def test_only_root_with_an_installed_program_fetches_into_the_servers_folder(self):
        self.publish("fr", "en")
        state = os.path.join(self.directory, "state")
        for name, own in ("built", self.models), ("copied", os.path.join(state, "models") if os.geteuid() == 0 else self.models):
            folder = os.path.join(self.directory, name)  # outside of the source tree
            os.mkdir(folder)
            shutil.copy(TOOL, folder)
            if name == "built":
                with open(os.path.join(folder, "config.status"), "w", encoding="utf-8"):
                    pass
            command = [os.path.join(folder, "dragoman"), *self.command("get", "fr-en")[1:]]
            done = subprocess.run([word for word in command if not word.startswith("--models-dir")], capture_output=True,
                                  encoding="utf-8", check=False, env=self.environment(STATE_DIRECTORY=state))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"fr-en is installed in {own}", done.stderr)
            shutil.rmtree(own)

    def test_fetches_checks_imports_tries_and_says_so(self):
        model = self.publish("fr", "en")
        done = self.get("fr-en")
        self.assertIn("firefox tiny 3.0", done.stderr)
        self.assertIn("licence: none is stated", done.stderr)
        self.assertRegex(done.stderr, r"1 model, 3 files, \S+ kB to fetch")
        self.assertIn("fr-en is installed in", done.stderr)
        self.assertIn("dragoman translate --from fr --to en", done.stderr)
        self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))
        folder = os.path.join(self.models, "fr-en")
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o755)
        self.assertIn("lex.bin", os.listdir(folder))
        card = read(folder, "card.md").decode()
        for file in model["files"]:
            self.assertIn(file["sha256"], card)
        self.assertIn("firefox, tiny, version 3.0", card)
        origin = json.loads(read(folder, "origin.json"))
        self.assertEqual((origin["source"], origin["target"], origin["from"]), ("fr", "en", "firefox"))
        translated = subprocess.run([TOOL, "translate", "--from", "fr", "--to", "en", "--quiet", "abc"], check=True,
                                    capture_output=True, env=self.environment(), encoding="utf-8")
        again = subprocess.run([TOOL, "translate", "--model", folder, "--quiet", "abc"], check=True, capture_output=True,
                               encoding="utf-8")
        self.assertEqual(translated.stdout, again.stdout)

    def test_does_not_fetch_what_is_installed(self):
        self.publish("fr", "en")
        self.get("fr-en")
        HOSTS.log.clear()
        self.assertIn("already installed", self.get("fr-en").stderr)
        self.assertEqual(HOSTS.log, [])
        self.get("fr-en", "--again")
        self.assertEqual(len(HOSTS.log), 3)

    def test_a_newer_version_takes_the_place_of_the_old_one(self):
        self.publish("fr", "en")
        self.get("fr-en")
        self.catalogue["models"].clear()
        self.publish("fr", "en", version="3.1", folder=os.path.join(IMPORTS, "bin-f32"))
        self.assertIn("takes the place of", self.get("fr-en").stderr)
        self.assertEqual(json.loads(read(self.models, "fr-en", "origin.json"))["version"], "3.1")
        self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_two_models_by_way_of_english(self):
        self.publish("fr", "en")
        self.publish("en", "de")
        done = self.get("fr-de")
        self.assertIn("it takes two, through English: fr-en and en-de", done.stderr)
        self.assertEqual(self.installed(), ["en-de", "fr-en"])

    def test_a_name_with_a_script_says_its_languages(self):
        self.publish("zh-Hans", "en")
        self.get("zh-en")
        self.assertEqual(self.installed(), ["zh-Hans-en"])
        for source in "zh", "zh-CN", "zh-Hans":
            subprocess.run([TOOL, "translate", "--from", source, "--to", "en", "--quiet", "abc"], check=True,
                           capture_output=True, env=self.environment())
        done = subprocess.run([TOOL, "translate", "--from", "de", "--to", "en", "--quiet", "abc"], check=False,
                              capture_output=True, env=self.environment(), encoding="utf-8")
        self.assertIn("not installed: dragoman get de-en", done.stderr)

    def test_all_with_a_language(self):
        self.publish("fr", "en")
        self.publish("en", "fr")
        self.publish("de", "en")
        self.get("--all-with", "fr")
        self.assertEqual(self.installed(), ["en-fr", "fr-en"])

    def test_the_older_repository_and_its_scores(self):
        self.publish_archive("fr", "en")
        done = self.get("fr-en")
        self.assertIn("BLEU 30.5, COMET 0.81", done.stderr)
        listed = self.run_tool("models").stdout
        self.assertRegex(listed, r"fr-en +tiny .*firefox-archive 1.0, \d{4}-\d\d-\d\d +BLEU 30.5, COMET 0.81; MPL-2.0")
        card = read(self.models, "fr-en", "card.md").decode()
        self.assertIn("claimed by Mozilla", card)
        self.assertIn("| good for | everyday sentences |", card)

    def test_choices(self):
        self.publish("fr", "en", kind="tiny", version="3.0")
        self.publish("fr", "en", kind="base", version="3.0", folder=os.path.join(IMPORTS, "bin-f32"))
        self.publish("fr", "en", kind="base-memory", version="3.1", filter="env.appinfo.OS == 'Android'")
        self.publish("fr", "en", kind="base", version="4.0a1")
        self.publish_archive("fr", "en", kind="tiny")
        wanted = {(): "tiny", ("--kind=tiny",): "tiny", ("--kind=base", "--version=3.0"): "base",
                  ("--source=firefox-archive",): "firefox-archive", ("--version=3.1",): "base-memory",
                  ("--version=4.0a1",): "a trial version"}
        wanted[()] = "firefox base 3.0" if self.size("base") > self.size("tiny") else "firefox tiny 3.0"
        for flags, text in wanted.items():
            with self.subTest(flags=flags):
                done = self.get("fr-en", "--print-urls", *flags)
                self.assertEqual(self.installed(), [])
                urls = done.stdout.split()
                self.assertTrue(all(url.startswith(HOSTS.url("/")) for url in urls))
        self.assertEqual(len(HOSTS.log), 0)
        self.assertIn(wanted[()], self.get("fr-en").stderr)
        self.assertIn("there is no fr-en with this", self.get("fr-en", "--kind=huge", code=1).stderr)

    def size(self, kind):
        return sum(file["size"] for model in self.catalogue["models"] if model["kind"] == kind and model["version"] == "3.0"
                   for file in model["files"])

    def test_lists_what_can_be_had(self):
        self.publish("fr", "en")
        self.publish_archive("fr", "en")
        self.publish("de", "en", version="3.0a1")
        listed = self.run_tool("models", "--available", "fr").stdout
        self.assertRegex(listed, r"\* fr-en +firefox +tiny +3.0 .*~30.5 +~0.810")
        self.assertNotIn("de-en", listed)
        self.assertIn("a trial version", self.run_tool("models", "--available").stdout)
        self.assertIn("no model with tlh", self.run_tool("models", "--available", "tlh", code=1).stderr)

    def test_removes(self):
        self.publish("fr", "en")
        self.get("fr-en")
        self.run_tool("remove", "fr-en")
        self.assertEqual((self.installed(), self.leftovers()), ([], []))
        self.assertIn("has no model fr-en", self.run_tool("remove", "fr-en", code=1).stderr)
        self.run_tool("remove", "../../etc", code=2)

    def test_what_is_no_model_stays(self):
        self.publish("fr", "en")
        kept = os.path.join(self.models, "fr-en", "letter.txt")
        os.makedirs(os.path.dirname(kept))
        with open(kept, "w", encoding="ascii") as file:
            file.write("dear")
        self.assertIn("is not a model directory", self.run_tool("remove", "fr-en", code=1).stderr)
        self.assertIn("already exists and is not a model", self.get("fr-en", code=1).stderr)
        self.run_tool("remove", "hashes", "--yes", code=1)
        self.assertTrue(os.path.exists(kept))

    def test_the_installed_catalogue_is_sound(self):
        done = subprocess.run([TOOL, "models", "--available"], capture_output=True, encoding="utf-8", check=True,
                              env=self.environment())
        self.assertGreater(done.stdout.count("\n* "), 100)
        done = subprocess.run([TOOL, "get", "--print-urls", "de-en", "en-de"], capture_output=True, encoding="utf-8",
                              check=True, env=self.environment())
        self.assertEqual(done.stdout.count("https://firefox-settings-attachments.cdn.mozilla.net/main-workspace/"), 6)

    def test_what_nobody_has(self):
        self.publish("fr", "en")
        self.refused("has no fr-tlh", "fr-tlh")
        self.refused("not a language pair", "french", code=2)
        self.refused("which model", code=2)

    def test_the_daemon_links_neither_library(self):
        needed = subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, encoding="utf-8", check=False)
        if needed.returncode:
            self.skipTest("needs readelf")
        self.assertNotRegex(needed.stdout, r"NEEDED.*lib(curl|zstd)")


class Large(Get):
    """A model with one file of some hundred KiB, so that there is something to interrupt."""

    def setUp(self):
        super().setUp()
        self.api = self.publish_hf("us", "ours-fr-en", os.path.join(SOURCES, "models", "fr-en"),
                                   files=["config.json", "model.safetensors", "source.spm"])
        self.weights = self.api + "model.safetensors"

    def get_hf(self, *more, **kinds):
        return self.get("hf:us/ours-fr-en", f"--mirror={HOSTS.url()}", *more, **kinds)

    def refused_hf(self, sentence, *more, **kinds):
        return self.refused(sentence, "hf:us/ours-fr-en", f"--mirror={HOSTS.url()}", *more, **kinds)


class Robust(Large):
    def test_an_interruption_every_64_kib(self):
        data = HOSTS.files[self.weights]
        HOSTS.faults[self.weights] = [cut(64 * 1024)] * (len(data) // (64 * 1024))
        self.get_hf("--retries=1")
        self.assertEqual(self.installed(), ["fr-en"])
        asked = HOSTS.asked(self.weights)
        self.assertGreater(len(asked), len(data) // (64 * 1024) // 2)
        self.assertGreater(len(set(asked)), len(asked) // 2)  # it resumes, and does not begin again

    def test_killed_in_between_the_next_one_goes_on(self):
        data = HOSTS.files[self.weights]
        n = 0
        while (n + 1) * 1000 * 1000 < len(data):
            n += 1
            HOSTS.faults[self.weights] = [cut(1000 * 1000)] + [status(404)]
            done = self.get_hf(code=1)
            self.assertEqual(self.installed(), [])
            self.assertEqual(self.leftovers(), ["fr-en"])
            self.assertIn("gone", done.stderr)
        HOSTS.faults.clear()
        self.get_hf()
        ranges = [int(asked[6:-1]) for asked in HOSTS.asked(self.weights) if asked]
        self.assertEqual(ranges, sorted(ranges))
        self.assertGreater(ranges[-1], len(data) // 2)
        self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_killed_at_every_64_kib_the_next_one_goes_on_from_there(self):
        step, kills = 64 * 1024, 8
        part = os.path.join(self.models, ".get", "fr-en", "files", "model.safetensors.part")
        for n in range(1, kills + 1):
            HOSTS.faults[self.weights] = [stall(step)]
            process = subprocess.Popen(self.command("get", "hf:us/ours-fr-en", f"--mirror={HOSTS.url()}"), stdin=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=self.environment())
            try:
                wait_for(lambda: os.path.exists(part) and os.path.getsize(part) == n * step, f"{n} times 64 KiB")
            finally:
                process.kill()
                process.wait()
            self.assertEqual(self.installed(), [])
        self.get_hf()
        self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))
        self.assertEqual(HOSTS.asked(self.weights), [None, *(f"bytes={n * step}-" for n in range(1, kills + 1))])

    def test_a_file_that_was_unpacked_is_not_fetched_again(self):
        first, *_, last = ("/" + file["place"] for file in self.publish("fr", "en")["files"])
        HOSTS.faults[last] = [status(404)] * 10
        self.get("fr-en", code=1)
        self.assertEqual(len(HOSTS.asked(first)), 1)
        HOSTS.faults.clear()
        HOSTS.log.clear()
        self.get("fr-en")
        self.assertEqual((len(HOSTS.asked(first)), len(HOSTS.asked(last))), (0, 1))

    def test_leftovers_go_after_a_week_without_a_further_attempt(self):
        HOSTS.faults[self.weights] = [status(404)] * 10
        work = os.path.join(self.models, ".get")
        old = os.path.join(work, "de-en", "files")
        os.makedirs(old)
        week = time.time() - 7 * 24 * 3600
        os.utime(os.path.dirname(old), (week - 3600, week - 3600))
        self.get_hf(code=1)
        self.assertEqual(self.leftovers(), ["fr-en"])
        os.utime(os.path.join(work, "fr-en"), (week + 3600, week + 3600))
        self.get_hf(code=1)  # this is an attempt: the week begins anew
        self.assertGreater(os.stat(os.path.join(work, "fr-en")).st_mtime, week + 7200)

    def test_ctrl_c_and_a_kill_leave_no_model(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
            with self.subTest(signal=number):
                HOSTS.log.clear()
                HOSTS.faults[self.weights] = [cut(200 * 1000)] + [status(503)] * 1000
                process = subprocess.Popen(
                    self.command("get", "hf:us/ours-fr-en", f"--mirror={HOSTS.url()}", "--retries=100", "--retry-wait=10min"),
                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment(), encoding="utf-8")
                try:
                    wait_for(lambda: HOSTS.asked(self.weights), "the request")
                    process.send_signal(number)
                    _, said = process.communicate(timeout=PATIENCE_S)
                finally:
                    process.kill()
                if number == signal.SIGKILL:
                    self.assertEqual(process.returncode, -number)
                else:
                    self.assertEqual(process.returncode, 1, said)
                    self.assertIn("goes on where this one ended", said)
                self.assertEqual(self.installed(), [])
        HOSTS.faults.clear()
        self.get_hf()
        self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_a_flipped_byte(self):
        HOSTS.faults[self.weights] = [flip(100 * 1000)]
        self.refused_hf("is not what was published: its SHA-256")
        self.get_hf()
        self.assertEqual(self.installed(), ["fr-en"])

    def test_a_flipped_byte_of_a_file_with_only_a_git_hash(self):
        HOSTS.faults[self.api + "config.json"] = [flip(3)]
        self.refused_hf("is not what was published: git would call it")

    def test_a_file_that_changed_between_two_attempts_is_fetched_whole(self):
        HOSTS.faults[self.weights] = [other(bytes(1000 * 1000))] + [status(404)]
        self.get_hf("--retries=0", code=1)
        HOSTS.faults.clear()
        self.get_hf()
        self.assertEqual(self.installed(), ["fr-en"])

    def test_a_server_without_ranges(self):
        HOSTS.faults[self.weights] = [cut(300 * 1000), whole]
        self.get_hf()
        self.assertEqual(self.installed(), ["fr-en"])

    def test_a_connection_that_stalls_is_given_up_and_gone_on_with(self):
        HOSTS.faults[self.weights] = [stall(300 * 1000)]
        done = self.get_hf("--stall-limit=1s", "--retries=1")
        self.assertIn("trying again in", done.stderr)
        self.assertEqual(self.installed(), ["fr-en"])
        asked = HOSTS.asked(self.weights)
        self.assertEqual((len(asked), asked[0]), (2, None))
        self.assertGreater(int(asked[1][6:-1]), 0)

    def test_one_that_stalls_for_good_ends(self):
        HOSTS.faults[self.weights] = [stall(0)] * 10
        self.refused_hf("goes on where this one ended", "--stall-limit=1s", "--retries=1", leftovers=["fr-en"])
        self.assertEqual(len(HOSTS.asked(self.weights)), 2)

    def proxy(self, **how):
        proxy = Proxy(**how)
        self.addCleanup(proxy.close)
        return proxy

    def test_a_proxy_of_the_environment_is_used(self):
        proxy = self.proxy()
        name = proxy.url.replace("//", "//me:secret@")
        self.get_hf(env={"https_proxy": name, "no_proxy": ""})
        self.assertEqual(self.installed(), ["fr-en"])
        self.assertTrue(proxy.heads)
        for head in proxy.heads:
            self.assertTrue(head.startswith(f"CONNECT localhost:{HOSTS.ports[0]} "), head)
            self.assertIn("Proxy-Authorization: Basic bWU6c2VjcmV0", head)
        n = len(proxy.heads)
        self.get_hf("--again", env={"https_proxy": name, "no_proxy": "localhost"})
        self.get_hf("--again", env={"http_proxy": name, "no_proxy": ""})  # this is for http, which is never used
        self.assertEqual(len(proxy.heads), n)

    def test_a_proxy_that_says_no(self):
        for code, sentence in {407: "proxy .*asks for a login.*https_proxy=http://NAME:PASSWORD@", 403: "the proxy refuses"}.items():
            with self.subTest(code=code):
                proxy = self.proxy(refuses=code)
                self.refused_hf(sentence, env={"https_proxy": proxy.url, "no_proxy": ""})
                self.assertEqual(len(proxy.heads), 1)
        proxy = self.proxy(refuses=503)
        self.refused_hf("trying again", "--retries=2", env={"https_proxy": proxy.url, "no_proxy": ""})
        self.assertEqual(len(proxy.heads), 3)

    def test_answers_that_are_worth_another_try(self):
        for code in 500, 502, 503, 429:
            with self.subTest(code=code):
                HOSTS.faults[self.weights] = [status(code)] * 3
                done = self.get_hf("--again")
                self.assertIn(f"answers {code}; trying again in", done.stderr)
        HOSTS.faults[self.weights] = [status(429, Retry_After="1")]
        self.assertIn("trying again in 1.0 s", self.get_hf("--again").stderr)

    def test_answers_that_are_not(self):
        self.publish("de", "en")
        place = "/" + self.catalogue["models"][0]["files"][0]["place"]
        for code, sentence in {404: "is gone .*--update-catalogue", 410: "is gone", 403: "refuses it", 400: "answers 400",
                               500: "answers 500"}.items():
            with self.subTest(code=code):
                HOSTS.faults[place] = [status(code)] * 10
                HOSTS.log.clear()
                self.refused(sentence, "de-en", "--retries=2", leftovers=["de-en"])
                self.assertEqual(len(HOSTS.asked(place)), 3 if code == 500 else 1)

    def test_redirects(self):
        second = "/cdn/x"
        HOSTS.files[second] = HOSTS.files[self.weights]
        HOSTS.faults[self.weights] = [redirect(HOSTS.other(second))]
        self.get_hf()
        self.assertEqual(HOSTS.asked(second), [None])
        HOSTS.faults[self.weights] = [redirect("http://localhost:9/x")]
        done = self.get_hf("--again", code=1)
        self.assertIn("not https", done.stderr)
        HOSTS.faults[self.weights] = [redirect("file:///etc/passwd")]
        self.assertIn("not https", self.get_hf("--again", code=1).stderr)
        HOSTS.faults[self.weights] = [redirect(HOSTS.url(self.weights))] * 50
        self.assertRegex(self.get_hf("--again", code=1).stderr, "[Rr]edirects")

    def test_certificates(self):
        done = self.get("hf:us/ours-fr-en", f"--mirror={HOSTS.misnamed()}", code=1)
        self.assertIn("certificate cannot be trusted", done.stderr)
        plain = [argument for argument in self.command("get", "hf:us/ours-fr-en", f"--mirror={HOSTS.url()}")
                 if not argument.startswith("--ca-file")]
        done = subprocess.run(plain, capture_output=True, encoding="utf-8", env=self.environment(), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("certificate cannot be trusted", done.stderr)
        self.assertEqual(self.installed(), [])

    def test_more_and_less_than_stated(self):
        data = HOSTS.files[self.weights]
        HOSTS.faults[self.weights] = [other(data + b"x" * 100)]
        self.refused_hf("larger than the")
        HOSTS.faults[self.weights] = [other(data[:-1])] * 10
        self.refused_hf("ends after|the server has nothing after", "--retries=2", leftovers=["fr-en"])

    def test_no_room_on_the_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000 * 1000, 1000 * 1000))
        self.refused_hf("cannot write", preexec_fn=limit, leftovers=["fr-en"])
        self.get_hf()
        self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_a_disk_that_fills_up(self):
        """The disk fills up at the first byte, while the model comes, while it is imported, and
        after that."""
        plan = Plan(os.path.join(self.directory, "plan"))
        if why_not(lambda *flags, env: subprocess.run([TOOL, *flags], env=self.environment(**env), capture_output=True, check=False)):
            self.skipTest("needs tests/chaos/faults.so and a program that runs with it")
        self.get_hf(env=plan.environment())
        n = plan.get("file-write", CALLS)
        self.assertGreater(n, 100)
        for nth in 1, n // 3, n - 1 - n // 8, n - 1:
            with self.subTest(nth=nth, of=n):
                shutil.rmtree(self.models)
                plan.arm("file-write", errno.ENOSPC, nth=nth, times=FOR_EVER)
                done = self.get_hf(code=1, env=plan.environment())
                self.assertIn("No space left on device", done.stderr)
                self.assertEqual(self.installed(), [])
                plan.rest()
                self.get_hf()
                self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_two_at_a_time(self):
        HOSTS.faults[self.weights] = [status(503)] * 10000
        first = subprocess.Popen(self.command("get", "hf:us/ours-fr-en", f"--mirror={HOSTS.url()}", "--retries=100"),
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment())
        try:
            wait_for(lambda: HOSTS.asked(self.weights), "the request")
            self.assertIn("another 'dragoman get'", self.get_hf(code=1).stderr)
        finally:
            first.kill()
            first.wait()

    def large_model(self, n_words):
        """A model with one layer in each stack and so many words, in F32: its embedding alone takes
        2 KiB a word."""
        folder = os.path.join(self.directory, "large")
        small = os.path.join(SOURCES, "models", "fr-en")
        os.mkdir(folder)
        shutil.copy(os.path.join(small, "source.spm"), folder)
        data = read(small, "model.safetensors")
        n = int.from_bytes(data[:8], "little")
        old, header, at = json.loads(data[8:8 + n]), {}, 0
        sizes = {256: 512, 1536: 1024, 9000: n_words}
        for name, entry in old.items():
            if name == "__metadata__" or name.endswith("_scale") or re.search(r"layers\.[1-9]", name):
                continue
            shape = [sizes.get(size, size) for size in entry["shape"]]
            end = at + 4 * math.prod(shape)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
            at = end
        config = json.loads(read(small, "config.json"))
        config.update(d_model=512, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=1024, decoder_ffn_dim=1024, alignment_layer=1,
                      vocab_size=n_words, decoder_vocab_size=n_words, max_length=8, num_beams=1)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        begin = json.dumps(header).encode()
        begin += b" " * (-len(begin) % 8)
        block = struct.pack("<4096f", *(random.Random(1).gauss(0, 0.02) for _ in range(4096)))
        with open(os.path.join(folder, "model.safetensors"), "wb") as file:
            file.write(len(begin).to_bytes(8, "little") + begin)
            for left in range(at, 0, -len(block)):
                file.write(block[:left])
        return folder

    def test_memory_does_not_depend_on_the_size(self):
        program = read(TOOL)
        if not program.startswith(b"\x7fELF") or b"__asan_" in program or b"__tsan_" in program:
            self.skipTest("the memory of sanitizers and valgrind is their own")
        self.publish_hf("us", "large-fr-en", self.large_model(36000))
        for how in (), ("--again", "--type=i8"):
            with self.subTest(how=how):
                process = subprocess.Popen(self.command("get", "hf:us/large-fr-en", f"--mirror={HOSTS.url()}", *how),
                                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment(), encoding="utf-8")
                most = 0
                # A peak only grows. The trial at the end is a separate process, and leaves time to
                # read the peak.
                while process.poll() is None:
                    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                        peak = re.search(r"VmHWM:\s+(\d+) kB", file.read())
                    most = max(most, int(peak.group(1)) if peak else 0)
                    time.sleep(0.01)
                self.assertEqual(process.returncode, 0, process.communicate()[1])
                process.stderr.close()
                print(f"peak of dragoman get {' '.join(how)}: {most} KiB")
                self.assertGreater(most, 0)
                self.assertLess(most, 64 * 1024)


class HostileServer(Large):
    """Answers that no honest server gives."""

    ENDLESS = {"by length": (b"Content-Length: 99999999999999\r\n\r\n", lambda: itertools.repeat(bytes(16384))),
               "until it closes": (b"\r\n", lambda: itertools.repeat(bytes(16384))),
               "in chunks": (b"Transfer-Encoding: chunked\r\n\r\n", lambda: itertools.repeat(b"4000\r\n" + bytes(0x4000) + b"\r\n"))}

    def endless(self, first, *headers):
        """Faults, each with its name, whose answers have a body without an end."""
        for name, (length, body) in self.ENDLESS.items():
            yield name, raw(b"HTTP/1.1 " + first + b"\r\n", *(header + b"\r\n" for header in headers), length, body())

    def test_endless_files(self):
        for name, fault in self.endless(b"200 OK"):
            with self.subTest(name):
                HOSTS.faults[self.weights] = [fault]
                self.refused_hf("larger than the")

    def test_endless_bodies_of_refusals(self):
        for first, sentence in {b"404 Not Found": "is gone", b"403 Forbidden": "refuses it", b"503 Busy": "answers 503"}.items():
            for name, fault in self.endless(first):
                with self.subTest(first=first, how=name):
                    HOSTS.faults[self.weights] = [fault]
                    self.refused_hf(sentence, "--retries=0", leftovers=["fr-en"])

    def test_endless_bodies_of_redirects(self):
        HOSTS.files["/cdn/x"] = HOSTS.files[self.weights]
        for name, fault in self.endless(b"302 Found", b"Location: " + HOSTS.other("/cdn/x").encode()):
            with self.subTest(name):
                HOSTS.faults[self.weights] = [fault]
                if name == "by length":
                    self.refused_hf("answers 302", leftovers=["fr-en"])
                else:  # libcurl need not read the body
                    self.assertRegex(subprocess.run(self.command("get", "hf:us/ours-fr-en", f"--mirror={HOSTS.url()}", "--again"),
                                                    stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False,
                                                    timeout=PATIENCE_S, env=self.environment()).stderr, "answers 302|is installed in")

    def test_endless_lists(self):
        listed = next(path for path in HOSTS.files if path.startswith("/api/"))
        for path, arguments in ((listed, ("hf:us/ours-fr-en", f"--mirror={HOSTS.url()}")), ("/v1/records", ("--update-catalogue",))):
            for name, fault in self.endless(b"200 OK"):
                with self.subTest(path=path, how=name):
                    HOSTS.faults[path] = [fault]
                    self.refused("the answer is larger than", *arguments)

    def test_heads_without_an_end(self):
        for name, pieces in {"a line": (b"HTTP/1.1 200 OK\r\nX: ", itertools.repeat(b"x" * 16384)),
                             "lines": (b"HTTP/1.1 200 OK\r\n", itertools.repeat(b"X: " + b"x" * 8000 + b"\r\n")),
                             "short lines": (b"HTTP/1.1 200 OK\r\n", itertools.repeat(b"X: y\r\n" * 1000)),
                             "answers before the answer": (itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 500),),
                             "the end of chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
                                                   itertools.repeat(b"X: y\r\n" * 1000))}.items():
            with self.subTest(name):
                HOSTS.faults[self.weights] = [raw(*pieces)]
                self.refused_hf("head of the answer is larger|Too long header|localhost:", "--retries=0", leftovers=["fr-en"])

    def test_what_is_no_answer(self):
        data = HOSTS.files[self.weights]
        for name, begin in {"nothing": b"", "no http": b"SSH-2.0-x\r\n", "no status": b"HTTP/1.1\r\n\r\n",
                            "no number": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
                            "below zero": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                            "no chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                            "a chunk below zero": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
                            "a coding that nobody knows": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: dragon\r\n\r\n"}.items():
            with self.subTest(name):
                HOSTS.faults[self.weights] = [raw(begin, data)]
                done = self.get_hf("--retries=0", code=1)
                self.assertRegex(done.stderr, "localhost:")
                self.assertEqual(self.installed(), [])

    def test_packed_by_the_server(self):
        packed = gzip.compress(HOSTS.files[self.weights])
        HOSTS.faults[self.weights] = [raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed), packed)]
        self.refused_hf("it ends after|nothing after|localhost", "--retries=0", leftovers=["fr-en"])

    def test_lengths_that_are_wrong(self):
        data = HOSTS.files[self.weights]
        for length, sentence in {len(data) - 100: "it ends after", len(data) + 100: "localhost:", 0: "it ends after 0"}.items():
            with self.subTest(length=length - len(data)):
                HOSTS.faults[self.weights] = [raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length, data)]
                self.refused_hf(sentence, "--retries=0", leftovers=["fr-en"])
                self.run_tool("remove", "fr-en")

    def test_a_connection_that_breaks_anywhere(self):
        data = HOSTS.files[self.weights]
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: \"1\"\r\n\r\n" % len(data)
        rng = random.Random(7)
        for at in [*sorted(rng.sample(range(len(head)), 6)), len(head), *(len(head) + rng.randrange(len(data)) for _ in range(6))]:
            with self.subTest(at=at):
                HOSTS.faults[self.weights] = [raw((head + data)[:at])]
                self.get_hf("--again", "--retries=1")
                self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_a_server_that_says_nothing(self):
        HOSTS.faults[self.weights] = [silent] * 2
        self.refused_hf("goes on where this one ended", "--stall-limit=1s", "--retries=1", leftovers=["fr-en"])
        with socket.create_server(("127.0.0.1", 0)) as listening:  # accepts, and never begins with TLS
            begin = time.monotonic()
            self.refused("localhost:", "hf:us/other", f"--mirror=https://localhost:{listening.getsockname()[1]}", "--stall-limit=1s",
                         "--retries=1", leftovers=["fr-en"])
            self.assertLess(time.monotonic() - begin, PATIENCE_S)

    def test_parts_of_another_version(self):
        """The server disregards If-Range, or sends another part than was requested."""
        data = HOSTS.files[self.weights]
        changed = data[:1000] + bytes(len(data) - 1000)
        for name, fault in {"another mark": other_part(ETag='"other"'), "another begin": other_part(-5),
                            "a negative begin": other_part(Content_Range="bytes -5-7/9"), "no begin": other_part(Content_Range=None),
                            "nothing left": status(416, Content_Range=f"bytes */{len(data)}")}.items():
            with self.subTest(name):
                HOSTS.log.clear()
                HOSTS.faults[self.weights] = [lambda handler, _: handler.serve(changed, 300000), fault]
                self.get_hf("--again")
                self.assertEqual(HOSTS.asked(self.weights), [None, "bytes=300000-", None])
                self.assertEqual((self.installed(), self.leftovers()), (["fr-en"], []))

    def test_a_server_that_never_has_the_part(self):
        for name, fault in {"another part": other_part(-5), "nothing left": status(416), "no begin": other_part(Content_Range=None)}.items():
            with self.subTest(name):
                HOSTS.faults[self.weights] = [cut(300000)] + [fault] * 20
                done = self.get_hf("--retries=3", code=1)
                self.assertRegex(done.stderr, "a different part|answers 416")
                self.assertEqual(self.installed(), [])
                self.assertLess(len(HOSTS.asked(self.weights)), 8)
                HOSTS.log.clear()


class Hostile(Get):
    def test_names_that_lead_outside(self):
        for key, value in (("name", "../../x"), ("name", "a/b"), ("name", ".hidden"), ("name", ""), ("place", "../x"),
                           ("place", "a//b"), ("place", "a?b#c"), ("sha256", "0"), ("size", -1), ("size", 1 << 60)):
            with self.subTest(key=key, value=value):
                self.catalogue["models"].clear()
                model = self.publish("fr", "en")
                model["files"][0][key] = value
                self.refused(r"models\[0\]", "fr-en")
        for key, value in (("source", "../en"), ("kind", "../x"), ("from", "nobody")):
            with self.subTest(key=key):
                self.catalogue["models"].clear()
                self.publish("fr", "en")[key] = value
                self.refused(r"models\[0\]", "fr-en")
        self.assertEqual(HOSTS.log, [])

    def test_sources_that_are_not_https(self):
        self.publish("fr", "en")
        for base in "http://localhost/", "file:///etc/", "https://user@host/", "https:///":
            with self.subTest(base=base):
                self.catalogue["sources"][0]["base"] = base
                self.refused(r"sources\[0\]", "fr-en")
        self.refused("expected an https address", "fr-en", "--mirror=http://localhost/", code=2)

    def test_streams_that_are_not_what_they_say(self):
        model = self.publish("fr", "en")
        raw = read(FIREFOX, model["files"][1]["name"])
        for what, packed, sentence in (
                ("a bomb", zstd(raw + bytes(1 << 24)), "more than the .* bytes that are stated"),
                ("cut", zstd(raw)[:-20], "ends too early"),
                ("damaged", b"\0" * 4 + zstd(raw)[4:], "stream is damaged"),
                ("more behind", zstd(raw) + b"more", "more bytes after its end|damaged"),
                ("shorter", zstd(raw[:-1]), "expected"),
                ("another", zstd(raw[:-1] + b"\x55"), "unpacks to something other")):
            with self.subTest(what):
                file = model["files"][1]
                file["size"], file["sha256"] = len(packed), sha256(packed)
                HOSTS.files["/" + file["place"]] = packed
                self.refused(sentence, "fr-en")

    def test_gzip_that_is_cut_short(self):
        model = self.publish_archive("fr", "en")
        file = model["files"][1]
        packed = HOSTS.files["/media/" + file["place"]][:-30]
        file["size"], file["sha256"] = len(packed), sha256(packed)
        HOSTS.files["/media/" + file["place"]] = packed
        done = self.get("fr-en", code=1)
        self.assertRegex(done.stderr, "ends too early|more than the")
        self.assertEqual(self.installed(), [])

    def test_a_model_that_cannot_be_imported(self):
        model = self.publish("fr", "en")
        file = model["files"][1]
        packed = zstd(b"no model at all")
        file.update(size=len(packed), sha256=sha256(packed), raw_size=15, raw_sha256=sha256(b"no model at all"))
        HOSTS.files["/" + file["place"]] = packed
        self.refused("fr-en: .*is not|fr-en: ", "fr-en")

    def test_catalogues_that_are_none(self):
        path = os.path.join(self.directory, "bad.json")
        for text in "", "{", '{"format":2}', '{"format":1,"sources":[],"models":[{}]}':
            with self.subTest(text=text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                done = subprocess.run([TOOL, "get", "fr-en", f"--catalogue={path}"], capture_output=True, encoding="utf-8",
                                      env=self.environment(), check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("bad.json", done.stderr)


class Sources(Get):
    def argos(self):
        """A package of Argos, without a published hash."""
        package = os.path.join(self.directory, "x.argosmodel")
        shutil.copy(os.path.join(IMPORTS, "tiny.argosmodel"), package)
        with zipfile.ZipFile(package, "a") as archive:
            root = archive.namelist()[0].partition("/")[0]
            archive.write(os.path.join(FIREFOX, "vocab.fren.spm"), f"{root}/sentencepiece.model")
        data = read(package)
        HOSTS.files["/argos/x.argosmodel"] = data
        self.catalogue["models"].append({"source": "fr", "target": "en", "from": "argos", "kind": "argos", "version": "1.9",
                                         "files": [{"name": "x.argosmodel", "place": "x.argosmodel"}]})
        return data

    def test_without_a_hash_only_when_it_is_accepted(self):
        data = self.argos()
        self.refused("--accept-unpinned", "fr-en")
        self.assertEqual(HOSTS.log, [])
        self.get("fr-en", "--accept-unpinned")
        self.assertEqual(self.installed(), ["fr-en"])
        self.assertIn("states no hash", read(self.models, "fr-en", "card.md").decode())
        self.assertIn(sha256(data) + "  " + HOSTS.url("/argos/x.argosmodel"), read(self.models, ".get", "hashes").decode())
        HOSTS.files["/argos/x.argosmodel"] = data + b"x"
        done = self.get("fr-en", "--accept-unpinned", "--again", code=1)
        self.assertIn("no longer the file that it was", done.stderr)

    def test_two_versions_are_never_joined(self):
        data = self.argos()
        self.catalogue["models"][0]["files"][0]["size"] = len(data)
        for mark, asked in (None, [None, None]), ('W/"1"', [None, None]), ('"1"', [None, f"bytes={len(data) // 2}-"]):
            with self.subTest(mark=mark):
                HOSTS.log.clear()
                HOSTS.types["/argos/x.argosmodel"] = {"ETag": mark}
                HOSTS.faults["/argos/x.argosmodel"] = [cut(len(data) // 2)]
                self.get("fr-en", "--accept-unpinned", "--again")
                self.assertEqual(HOSTS.asked("/argos/x.argosmodel"), asked)
                self.assertEqual(self.installed(), ["fr-en"])

    def test_opus_by_name(self):
        commit = "1234567890" * 4
        folder = os.path.join(self.directory, "opus")
        shutil.copytree(os.path.join(IMPORTS, "zip"), folder)
        for name in "source.spm", "target.spm":
            shutil.copy(os.path.join(FIREFOX, "vocab.fren.spm"), os.path.join(folder, name))
        with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
            json.dump({piece: i for i, piece in enumerate(["</s>", "<unk>", "\u2581", *"abcdefghijklmnopq"])}, file)
        self.publish_hf("Helsinki-NLP", "opus-mt-fr-en", folder, commit=commit)
        done = self.get("opus:fr-en", f"--mirror={HOSTS.url()}")
        self.assertIn("licence: cc-by-4.0", done.stderr)
        self.assertEqual(self.installed(), ["fr-en"])
        origin = json.loads(read(self.models, "fr-en", "origin.json"))
        self.assertEqual((origin["from"], origin["version"]), ("hf:Helsinki-NLP/opus-mt-fr-en", commit))
        self.assertNotIn("evil", json.dumps(HOSTS.log))
        again = self.get("fr-en", "--source=opus", f"--mirror={HOSTS.url()}")
        self.assertIn("already installed", again.stderr)

    def test_a_revision_and_another_name(self):
        commit = "ab" * 20
        self.publish_hf("me", "mine", os.path.join(SOURCES, "models", "fr-en"), revision=commit, commit=commit)
        self.get(f"hf:me/mine@{commit}", f"--mirror={HOSTS.url()}", "--as=fr-en", "--type=i8")
        self.assertEqual(self.installed(), ["fr-en"])
        path = f"/api/models/me/mine/revision/{'cd' * 20}?blobs=true"
        HOSTS.files[path] = HOSTS.files[f"/api/models/me/mine/revision/{commit}?blobs=true"]
        done = self.get(f"hf:me/mine@{'cd' * 20}", f"--mirror={HOSTS.url()}", code=1)
        self.assertIn("asked for revision", done.stderr)
        self.assertIn("no model me/other at revision main", self.get("hf:me/other", f"--mirror={HOSTS.url()}", code=1).stderr)
        self.get("hf:me", f"--mirror={HOSTS.url()}", code=2)

    def test_without_a_network(self):
        self.publish("fr", "en")
        urls = self.get("fr-en", "--print-urls").stdout.split()
        self.assertEqual(len(urls), 3)
        folder = os.path.join(self.directory, "carried")
        os.mkdir(folder)
        for url in urls[1:]:
            with open(os.path.join(folder, url.rpartition("/")[2]), "wb") as file:
                file.write(HOSTS.files[url.removeprefix(HOSTS.url())])
        self.refused("has no .*--print-urls", "fr-en", f"--offline={folder}", leftovers=["fr-en"])
        path = os.path.join(folder, urls[0].removeprefix("https://"))
        os.makedirs(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(HOSTS.files[urls[0].removeprefix(HOSTS.url())])
        self.get("fr-en", f"--offline={folder}")
        self.assertEqual((self.installed(), HOSTS.log), (["fr-en"], []))

    def records(self, *models):
        """Models of the catalogue as Mozilla's server lists them."""
        out = []
        for model in models:
            for file in model["files"]:
                out.append({"id": file["sha256"][:8], "schema": 1, "name": file["name"], "sourceLanguage": model["source"],
                            "targetLanguage": model["target"], "architecture": model["kind"], "version": model["version"],
                            "fileType": "model", "filter_expression": model.get("filter", ""),
                            "decompressedSize": file["raw_size"], "decompressedHash": file["raw_sha256"],
                            "last_modified": 1758911496123,
                            "attachment": {"location": file["place"], "size": file["size"], "hash": file["sha256"],
                                           "filename": file["name"] + ".zst", "mimetype": "application/zstd"}})
        return out

    def test_a_newer_catalogue(self):
        old, new = self.publish("fr", "en"), self.publish("de", "en", version="3.2")
        self.publish_archive("it", "en")
        records = self.records(new)
        HOSTS.files["/v1/records"] = json.dumps({"data": records[:2]}).encode()
        HOSTS.types["/v1/records"] = {"Next-Page": HOSTS.url("/v1/records?_token=2")}
        HOSTS.files["/v1/records?_token=2"] = json.dumps({"data": records[2:]}).encode()
        self.catalogue["models"].remove(new)
        done = self.get("--update-catalogue")
        self.assertEqual(done.stdout.splitlines(), ["new: de-en, tiny 3.2", f"gone: fr-en, tiny {old['version']}"])
        written = json.loads(read(self.models, ".get", "catalogue.json"))
        self.assertEqual([(m["source"], m["from"]) for m in written["models"]],
                         [("it", "firefox-archive"), ("de", "firefox")])
        self.assertEqual(written["models"][1]["files"], new["files"])
        self.assertEqual(written["models"][1]["changed"], 1758911496)
        plain = [argument for argument in self.command("get", "de-en") if not argument.startswith("--catalogue")]
        done = subprocess.run(plain, capture_output=True, encoding="utf-8", env=self.environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.installed(), ["de-en"])

    def test_lists_that_are_none(self):
        self.publish("fr", "en")
        for text in b"", b"{}", b'{"data":[{}]}', b'{"data":[]}'[:-1]:
            with self.subTest(text):
                HOSTS.files["/v1/records"] = text
                self.assertIn("/v1/records", self.get("--update-catalogue", code=1).stderr)
        HOSTS.files["/v1/records"] = b'{"data":[]}'
        HOSTS.types["/v1/records"] = {"Next-Page": "http://localhost/v1/records"}
        self.assertIn("does not have an https address", self.get("--update-catalogue", code=1).stderr)
        HOSTS.types["/v1/records"] = {"Next-Page": HOSTS.url("/v1/records")}
        self.assertIn("more than 100 pages", self.get("--update-catalogue", code=1).stderr)

    def test_a_catalogue_from_a_server_and_a_file_of_options(self):
        self.publish("fr", "en")
        HOSTS.files["/our/catalogue.json"] = json.dumps(self.catalogue).encode()
        folder = os.path.join(self.directory, "config", "dragoman")
        os.makedirs(folder)
        with open(os.path.join(folder, "get.conf"), "w", encoding="utf-8") as file:
            file.write(f"catalogue = {HOSTS.url('/our/catalogue.json')}\nca-file = {HOSTS.ca}\n")
        done = subprocess.run([TOOL, "get", "fr-en"], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL,
                              env=self.environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.isdir(os.path.join(self.directory, "data", "dragoman", "models", "fr-en")), done.stderr)


    def test_the_sample_of_the_file_of_options_has_them_all(self):
        self.publish("fr", "en")
        with open(os.path.join(SOURCES, "conf", "get.conf"), encoding="utf-8") as file:
            sample = file.read()
        options = dict(re.findall(r"^#([a-z-]+) =(.*)$", sample, re.M))
        told = subprocess.run([TOOL, "get", "--help"], capture_output=True, encoding="utf-8", check=True).stdout
        shared = subprocess.run([TOOL, "models", "--help"], capture_output=True, encoding="utf-8", check=True).stdout
        names = re.compile(r"^ +(?:-., )?--([a-z-]+)", re.M)
        self.assertEqual(set(options), (set(names.findall(told)) & set(names.findall(shared))) - {"help"})
        for name, value in options.items():
            if value.strip():
                self.assertRegex(told, rf"(?s)--{name}\b[^-]*{re.escape(value.strip())}\b")
        folder = os.path.join(self.directory, "config", "dragoman")
        os.makedirs(folder)
        with open(os.path.join(folder, "get.conf"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"^#(?=[a-z-]+ =)", "", sample, flags=re.M))
        self.assertEqual(len(self.get("fr-en", "--print-urls").stdout.split()), 3)
        # remove reads the same file, and has only the flags that it needs
        told = subprocess.run([TOOL, "remove", "--help"], capture_output=True, encoding="utf-8", check=True).stdout
        self.assertEqual(set(names.findall(told)), {"help", "yes", "reload", "models-dir", "admin-socket"})
        self.assertIn("unknown option", self.run_tool("remove", "fr-en", "--mirror=https://localhost/", code=2).stderr)
        self.assertIn("has no model fr-en", self.run_tool("remove", "fr-en", code=1, env={"DRAGOMAN_GET_RETRIES": "3"}).stderr)


class Served(Get):
    def test_a_running_daemon_serves_it_at_once(self):
        socket = os.path.join(self.directory, "admin.sock")
        server = self.start(f"--admin-socket={socket}", env={"XDG_DATA_HOME": os.path.join(self.directory, "data")})
        self.publish_hf("us", "ours-fr-en", os.path.join(SOURCES, "models", "fr-en"))
        done = self.get("hf:us/ours-fr-en", "--as=xx-yy", f"--mirror={HOSTS.url()}", "--reload", f"--admin-socket={socket}")
        self.assertIn("the server now serves xx-yy", done.stderr)
        body = json.dumps({"text": "Où est la gare ?", "model": "xx-yy"})
        code, _, answer = server.request("POST", "/v1/translate", body)
        self.assertEqual((code, "station" in answer.decode()), (200, True))
        self.assertRegex(self.run_tool("models", f"--admin-socket={socket}").stdout, r"xx-yy .* yes ")
        self.run_tool("remove", "xx-yy", "--reload", f"--admin-socket={socket}")
        code, _, answer = server.request("POST", "/v1/translate", body)
        self.assertEqual(code, 404)

    def test_a_daemon_that_wants_signatures_serves_what_was_signed(self):
        secret, public = os.path.join(self.directory, "release.key"), os.path.join(self.directory, "release.pub")
        subprocess.run([TOOL, "sign", "--generate", "--no-password", "--key", secret, "--public-key", public], capture_output=True,
                       check=True)
        socket = os.path.join(self.directory, "admin.sock")
        ours = os.path.join(self.directory, "ours")
        shutil.copytree(os.path.join(SOURCES, "models", "fr-en"), os.path.join(ours, "fr-en"))
        subprocess.run([TOOL, "sign", "--key", secret, os.path.join(ours, "fr-en")], capture_output=True, check=True)
        server = self.start(f"--admin-socket={socket}", f"--models-dir={ours}", "--require-signed-models", f"--trusted-keys={public}",
                            env={"XDG_DATA_HOME": os.path.join(self.directory, "data")})
        self.publish_hf("us", "ours-fr-en", os.path.join(SOURCES, "models", "fr-en"))
        get = ("hf:us/ours-fr-en", "--as=xx-yy", f"--mirror={HOSTS.url()}", "--reload", f"--admin-socket={socket}")
        refused = self.get(*get, code=1).stderr
        self.assertIn("xx-yy is installed, but not served yet", refused)
        self.assertIn("dragoman sign", refused)
        model = os.path.join(self.models, "xx-yy")
        subprocess.run([TOOL, "sign", "--key", secret, model], capture_output=True, check=True)
        self.assertEqual(server.request("GET", "/v1/models/xx-yy")[0], 404)
        self.assertIn("already installed", self.get(*get).stderr)
        self.assertEqual(server.request("GET", "/v1/models/xx-yy")[0], 200)

    def test_without_a_daemon(self):
        self.publish("fr", "en")
        done = self.get("fr-en", "--reload", f"--admin-socket={self.directory}/none", code=1)
        self.assertIn("fr-en is installed, but not served yet", done.stderr)
        self.assertEqual(self.installed(), ["fr-en"])


if __name__ == "__main__":
    main()
