# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""System calls fail at random while glossaries, jobs, keys and quotas are written: the daemon goes
on, and everything that it has acknowledged is there after a restart. A seed, which every failure
prints, decides which calls fail; the library that makes them fail is tests/chaos/faults.c.

DRAGOMAN_CHAOS_RUNS is the number of runs (40, a fifth of them with Redis), DRAGOMAN_CHAOS_SEED
the number of the first (1)."""
import errno
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

from harness import MODELS_DIR, SOURCES, IntegrationTest, environment, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "chaos"))
sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from faults import CALLS, FOR_EVER, Plan, why_not  # noqa: E402
from redis import Redis  # noqa: E402

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
RUNS = int(os.environ.get("DRAGOMAN_CHAOS_RUNS", "40"))
RUNS_IN_REDIS = -(-RUNS // 5)
FIRST = int(os.environ.get("DRAGOMAN_CHAOS_SEED", "1"))
ERRORS = {
    "file-read": (errno.EIO, errno.EINTR, 0),
    "file-write": (errno.ENOSPC, errno.EIO, errno.EINTR, 0),
    "socket-read": (errno.ECONNRESET, errno.EINTR, 0),
    "socket-write": (errno.ECONNRESET, errno.EPIPE, errno.EINTR, 0),
    "open": (errno.EMFILE, errno.ENFILE, errno.EIO),
    "rename": (errno.EIO, errno.ENOSPC),
    "unlink": (errno.EIO,),
    "fsync": (errno.EIO, errno.ENOSPC),
    "mmap": (errno.ENOMEM,),
    "accept": (errno.EMFILE, errno.ECONNABORTED, errno.EINTR),
    "malloc": (errno.ENOMEM,),
}
SENTENCES = ("Le chat dort.", "La maison est grande.", "Je vois un chien dans le jardin.", "Comment allez-vous ?",
             "Il fait beau aujourd'hui.", "Nous avons trouvé la gare.")
NOT_ANSWERED = (OSError, http.client.HTTPException)
MOST = 8  # the largest number of jobs or glossaries at a time
ABSENT = "absent"


def without_times(value):
    """A copy without the members that differ in every answer."""
    if isinstance(value, list):
        return [without_times(one) for one in value]
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items()
                if name not in ("request_id", "id", "created", "timing", "billed_characters")}
    return value


class Keeping(IntegrationTest):
    def more_flags(self):
        return ()

    def setUp(self):
        super().setUp()
        reason = why_not(self.run_program)
        if reason:
            self.skipTest(reason)
        self.plan = Plan(os.path.join(self.directory, "plan"))
        self.keys = os.path.join(self.directory, "keys")
        self.flags = (f"--models-dir={MODELS_DIR}", f"--jobs-dir={self.directory}/jobs", "--require-key=yes",
                      f"--glossaries-dir={self.directory}/glossaries", f"--keys-file={self.keys}", "--threads=1",
                      *self.more_flags())
        self.secrets = {}  # by name: keys that the tool has acknowledged
        self.glossaries = {}  # by id: the possible contents, with ABSENT where it may be gone
        self.jobs = {}  # by id: its lines, or ABSENT where it may be gone
        self.failed = set()  # jobs
        self.short = set()  # jobs with a line that got no memory
        self.characters = [0, 0]  # the least and the most that was charged
        self.n = 0
        self.kind = None
        self.add_key(faulty=False)
        self.server = self.begin()
        self.oracle = {}
        for text in SENTENCES:
            self.oracle[text] = self.translate(text)
        self.wait_until_usage_is_written()

    def fail_allocations(self):
        if self.plan.get("malloc", CALLS) == 0:
            self.skipTest("the sanitizer's allocator does not ask malloc")
        self.kind, self.error, self.chance = "malloc", errno.ENOMEM, random.Random(FIRST)

    def begin(self):
        return self.start(*self.flags, env=self.plan.environment())

    # ---- What is asked for. Each returns None where nothing was acknowledged.

    def ask(self, method, path, body=None, kind="application/json"):
        """The status and the answer; (None, None) when the connection did not bring one."""
        headers = {"Authorization": f"Bearer {self.secrets['key1']}", "Content-Type": kind}
        try:
            status, _, answer = self.server.request(method, path, body, headers)
        except NOT_ANSWERED:
            return None, None
        return status, answer

    def translate(self, text):
        self.characters[1] += len(text)
        status, answer = self.ask("POST", "/v1/translate", json.dumps({"text": text, "target": "en"}))
        if status != 200:
            return None
        self.characters[0] += len(text)
        return json.loads(answer)["translations"][0]["text"]

    def a_translation(self):
        text = self.chance.choice(SENTENCES)
        got = self.translate(text)
        self.assertIn(got, (None, self.oracle[text]))

    def words(self):
        self.n += 1
        return [[f"mot{self.n}", f"word{self.n}"], ["chat", self.chance.choice(("hound", "moggy"))]]

    def a_glossary(self):
        if len(self.glossaries) >= MOST:
            return
        terms = self.words()
        status, answer = self.ask("POST", "/v1/glossaries", json.dumps(
            {"name": f"g{self.n}", "source": "fr", "target": "en", "terms": terms}))
        if status == 201:
            self.glossaries[json.loads(answer)["id"]] = [terms]

    def a_glossary_replaced(self):
        if self.glossaries:
            one = self.chance.choice(sorted(self.glossaries))
            terms = self.words()
            status, _ = self.ask("PUT", f"/v1/glossaries/{one}", json.dumps(
                {"name": f"g{self.n}", "source": "fr", "target": "en", "terms": terms}))
            if status == 200 and ABSENT not in self.glossaries[one]:
                self.glossaries[one] = [terms]
            else:
                self.glossaries[one].append(terms)

    def a_glossary_deleted(self):
        if self.glossaries:
            one = self.chance.choice(sorted(self.glossaries))
            status, _ = self.ask("DELETE", f"/v1/glossaries/{one}")
            if status == 204:
                self.glossaries[one] = [ABSENT]
            elif status != 404:
                self.glossaries[one].append(ABSENT)

    def a_job(self):
        if len(self.jobs) >= MOST:
            return
        lines = self.chance.choices(SENTENCES, k=self.chance.randint(1, 12))
        body = "\n".join(lines)
        self.characters[1] += len(body)
        status, answer = self.ask("POST", "/v1/jobs?target=en", body.encode(), "text/plain; charset=utf-8")
        if status == 201:
            self.characters[0] += len(body)
            self.jobs[json.loads(answer)["id"]] = (lines, False)

    def a_job_deleted(self):
        if self.jobs:
            one = self.chance.choice(sorted(self.jobs))
            status, _ = self.ask("DELETE", f"/v1/jobs/{one}")
            if status == 204:
                self.jobs[one] = (None, True)
            elif status != 404:
                self.jobs[one] = (self.jobs[one][0], True)

    def add_key(self, faulty=True):
        """Adds a key with the tool, which fails now and then as the daemon does."""
        name = f"key{len(self.secrets) + 1}" if not faulty else f"key{self.chance.randrange(10**9)}"
        plan = Plan(os.path.join(self.directory, "tools-plan"))
        if faulty and self.kind not in ("socket-read", "socket-write", "accept"):
            plan.arm(self.kind, self.error, self.chance.randint(1, 400 if self.kind == "malloc" else 6))
        done = subprocess.run([TOOL, "keys", "add", name, f"--file={self.keys}"], env=environment(plan.environment()),
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self.secrets[name] = next(word for word in done.stdout.split() if word.startswith("dgk_"))
        else:
            aborted = done.returncode == -signal.SIGABRT and "out of memory" in done.stderr
            self.assertTrue(done.returncode == 1 and done.stderr or aborted, done)

    def a_reload(self):
        self.server.signal(signal.SIGHUP)

    # ---- What is to be there.

    def look_at(self, method, path, wanted):
        seen = []  # a server that has just started says 503 until Redis has told it everything
        wait_for(lambda: seen.append(self.ask(method, path)) or seen[-1][0] != 503, f"an answer to {path}")
        status, answer = seen[-1]
        self.assertIn(status, wanted, (path, answer))
        return status, answer

    def check_glossaries(self):
        for one, allowed in list(self.glossaries.items()):
            status, answer = self.look_at("GET", f"/v1/glossaries/{one}", (200, 404))
            found = ABSENT if status == 404 else [[t["source"], t["target"]] for t in json.loads(answer)["terms"]]
            self.assertIn(found, allowed, one)
            if found == ABSENT:
                del self.glossaries[one]
            else:
                self.glossaries[one] = [found]

    def job(self, one):
        return json.loads(self.look_at("GET", f"/v1/jobs/{one}", (200,))[1])

    def check_jobs(self):
        for one, (lines, may_be_gone) in list(self.jobs.items()):
            status, _ = self.look_at("GET", f"/v1/jobs/{one}", (200, 404))
            if status == 404:
                self.assertTrue(may_be_gone, one)
                del self.jobs[one]
                continue
            self.assertIsNotNone(lines, f"{one} was deleted")
            wait_for(lambda one=one: self.job(one)["state"] not in ("waiting", "running"), "the end of the job")
            state = self.job(one)
            if state["state"] == "failed" and state.get("error") and (self.error == errno.EIO or one in self.failed):
                self.failed.add(one)  # the disk was broken, and the client is told
                continue
            if state["failed"] and self.kind == "malloc":
                self.short.add(one)  # a line that has no memory for some seconds is reported, and its place is empty
            self.assertEqual((state["state"], state["lines"], state["done"]), ("done", len(lines), len(lines)), state)
            self.assertTrue(state["failed"] == 0 or one in self.short, state)
            result = self.look_at("GET", f"/v1/jobs/{one}/result", (200,))[1].decode().split("\n")[:len(lines)]
            self.assertEqual(result.count(""), state["failed"])
            self.assertEqual(result, [self.oracle[line] if found else "" for line, found in zip(lines, result, strict=True)])
            self.jobs[one] = (lines, may_be_gone)

    def usage(self):
        return json.loads(self.look_at("GET", "/v1/usage", (200,))[1])["month"]

    def check_usage(self):
        used = self.usage()["characters"]
        self.assertTrue(self.characters[0] <= used <= self.characters[1], (used, self.characters))
        return used

    def check_keys(self):
        """Checks the latest keys: otherwise each run would ask for more than the one before."""
        for name, secret in [*self.secrets.items()][-8:]:
            status, _, answer = self.server.request("GET", "/v1/usage", headers={"Authorization": f"Bearer {secret}"})
            self.assertEqual(status, 200, (name, answer))

    def written(self, used):
        if not os.path.exists(self.keys + ".usage"):
            return False
        with open(self.keys + ".usage", encoding="ascii") as file:
            return any(line.split()[1:2] == ["key1"] and line.split()[3:4] == [str(used)] for line in file)

    def wait_until_usage_is_written(self):
        """Waits the second that this takes."""
        wait_for(lambda: self.written(self.check_usage()), "the usage file")

    def goes_on(self):
        """Whether the server answers. If it does not, it ends: one of its threads may just have got
        no memory."""
        try:
            self.assertEqual(self.server.request("GET", "/healthz")[0], 200)
            return True
        except NOT_ANSWERED as error:
            wait_for(lambda: self.server.process.poll() is not None, f"the end of a daemon that does not answer ({error!r})")
            return False

    def begin_anew(self):
        """After the end of a server that had no memory for a few bytes: it says so."""
        self.assertTrue(self.kind == "malloc" and self.server.wait() == -signal.SIGABRT, self.server.process.returncode)
        self.server.expected_codes = (-signal.SIGABRT,)
        self.next_server()

    def next_server(self):
        self.assertEqual(self.server.complaints(), "")
        self.servers.remove(self.server)  # its log would only fill the screen
        shutil.rmtree(self.server.directory)
        self.server = self.begin()

    def one_run(self, seed):
        self.chance = random.Random(seed)
        self.kind = self.chance.choice(sorted(ERRORS))
        self.error = self.chance.choice(ERRORS[self.kind])
        times = self.chance.choice((1, 1, 3, FOR_EVER))
        if self.error in (errno.EINTR, 0):
            times = min(times, 3)  # a caller that tries again has to come to an end
        far = {"malloc": 3000, "file-write": 8, "open": 12}.get(self.kind, 6)
        nth = 1 + int(self.chance.random() ** 2 * far)
        hits, before = self.plan.hits(), self.characters[0]
        self.plan.arm(self.kind, self.error, nth, times)
        actions = (self.a_translation, self.a_glossary, self.a_glossary_replaced, self.a_glossary_deleted, self.a_job,
                   self.a_job_deleted, self.add_key, self.a_reload, self.a_job, self.a_glossary)
        for action in self.chance.choices(actions, k=8):
            action()
            if self.server.process.poll() is not None:
                break
        self.plan.rest()
        self.hit += self.plan.hits() > hits
        if self.goes_on():
            self.wait_until_usage_is_written()
            if self.chance.random() < 0.5:
                self.server.process.kill()
                self.server.expected_codes = (-signal.SIGKILL,)
                self.server.wait()
            else:
                self.assertEqual(self.server.stop(), 0)
            self.next_server()
        else:
            self.ends += 1
            self.characters[0] = before  # the counts of the last second were not written
            self.begin_anew()
        self.assertNotIn("is skipped", self.server.log())
        self.check_keys()
        self.check_glossaries()
        self.check_jobs()
        self.settle()

    def settle(self):
        self.characters = [self.check_usage()] * 2

    def run_all(self, first, n):
        self.hit = self.ends = 0
        for seed in range(first, first + n):
            try:
                self.one_run(seed)
            except Exception as error:
                raise AssertionError(f"DRAGOMAN_CHAOS_SEED={seed}: {self.kind}, {os.strerror(self.error)}") from error
        sys.stderr.write(f"{n} runs, {self.hit} in which calls failed, {self.ends} ended for want of memory\n")


class OnDisk(Keeping):
    def test_a_job_waits_until_files_can_be_opened(self):
        waited = 0
        for nth in range(1, 10):  # one of them is the job's first open after it was accepted
            self.plan.arm("open", errno.EMFILE, nth, FOR_EVER)
            status, answer = self.ask("POST", "/v1/jobs?target=en", SENTENCES[0].encode(), "text/plain; charset=utf-8")
            if status == 201:
                one = json.loads(answer)["id"]
                wait_for(lambda one=one: self.job(one)["state"] == "done" or "waits_for" in self.job(one), "the job to wait")
                waited += self.job(one).get("waits_for") == "space"
                self.plan.rest()
                wait_for(lambda one=one: self.job(one)["state"] == "done", "the end of the job")
            else:
                self.assertEqual((status, json.loads(answer)["error"]["code"]), (503, "overloaded"))
            self.plan.rest()
        self.assertGreater(waited, 0)

    def test_a_job_that_was_not_taken_leaves_nothing(self):
        for kind in "rename", "fsync":
            for nth in range(1, 5):
                self.plan.arm(kind, errno.EIO, nth)
                status, answer = self.ask("POST", "/v1/jobs?target=en", SENTENCES[0].encode(), "text/plain; charset=utf-8")
                self.plan.rest()
                if status == 201:
                    wait_for(lambda one=json.loads(answer)["id"]: self.job(one)["state"] not in ("waiting", "running"), "its end")
        self.assertEqual(self.server.stop(), 0)
        self.server = self.begin()
        self.assertNotIn("is skipped", self.server.log())

    def test_one_allocation_that_fails_spoils_nothing(self):
        """Each of the first allocations in turn: the server refuses, ends, or does what it says."""
        def is_over():
            answers = [self.ask("GET", f"/v1/jobs/{one}")[1] for one in self.jobs]
            return (all(json.loads(answer or "{}").get("state") in ("done", "failed") for answer in answers)
                    or self.server.process.poll() is not None)

        self.fail_allocations()
        for nth in range(1, 50):
            for action in self.a_glossary, self.a_job:
                self.plan.arm(self.kind, self.error, nth)
                action()
                wait_for(is_over, "the end of the job")
                self.plan.rest()
                if not self.goes_on():
                    self.begin_anew()
                self.check_glossaries()
                self.check_jobs()
                self.assertEqual(self.short, set())
            for one in self.jobs:
                self.ask("DELETE", f"/v1/jobs/{one}")
            for one in self.glossaries:
                self.ask("DELETE", f"/v1/glossaries/{one}")
            self.jobs, self.glossaries = {}, {}

    def test_each_api_refuses_what_it_has_no_memory_for(self):
        """Each allocation in turn: the answer is the usual one, or an error in JSON that blames the server. (The ids
        and times that differ in every answer are left out of the comparison.)"""
        text, kind = "Le chat dort. La maison est grande.", "application/json"
        requests = [
            ("POST", "/v1/translate", {"text": text, "target": "en", "alternatives": 2}),
            ("POST", "/v1/translate", {"text": "<p>Le <b>chat</b> dort.</p>", "format": "html", "target": "en"}),
            ("POST", "/v2/translate", {"text": [text], "target_lang": "EN", "source_lang": "FR"}),
            ("POST", "/translate", {"q": text, "source": "fr", "target": "en"}),
            ("POST", "/translate?api-version=3.0&from=fr&to=en", [{"Text": text}]),
            ("POST", "/language/translate/v2", {"q": [text], "source": "fr", "target": "en"}),
            ("POST", "/v1/chat/completions", {"model": "fr-en", "messages": [{"role": "user", "content": text}]}),
            ("GET", "/v1/models", None), ("GET", "/v2/languages?type=target", None), ("GET", "/metrics", None)]
        self.fail_allocations()
        for method, path, body in requests:
            def answer(method=method, path=path, body=body):
                status, got = self.ask(method, path, json.dumps(body) if body else None, kind)
                parts = None if got is None or path == "/metrics" and status == 200 else json.loads(got)
                return status, without_times(parts)
            usual = answer()
            self.assertEqual(usual[0], 200, (path, usual))
            for nth in range(1, 400):
                hits = self.plan.hits()
                self.plan.arm("malloc", errno.ENOMEM, nth)
                got = answer()
                self.plan.rest()
                if self.plan.hits() == hits:
                    break
                self.assertTrue(got == usual or got[0] in (None, 503), (path, nth, got))
                if not self.goes_on():
                    self.begin_anew()

    def test_a_stream_without_memory_does_not_end_as_if_it_were_whole(self):
        """It ends with an error, or its connection does before the last chunk."""
        self.fail_allocations()
        for path, body, end in (
                ("/v1/translate", {"text": SENTENCES[0], "target": "en", "stream": True}, b"event: done"),
                ("/v1/chat/completions", {"model": "fr-en", "messages": [{"role": "user", "content": SENTENCES[0]}], "stream": True},
                 b'"finish_reason":"stop"')):
            for times in 1, 4:
                for nth in range(1, 200):
                    hits = self.plan.hits()
                    self.plan.arm("malloc", errno.ENOMEM, nth, times)
                    status, got = self.ask("POST", path, json.dumps(body))
                    self.plan.rest()
                    self.assertTrue(status in (None, 503) or end in got or b'"error"' in got, (path, nth, times, got))
                    if self.plan.hits() == hits:
                        break
                    if not self.goes_on():
                        self.begin_anew()

    def test_a_request_without_memory_is_answered_in_json(self):
        """The harness compares each answer with the description of the API."""
        self.fail_allocations()
        seen = set()
        for nth in range(1, 8):
            self.plan.arm("malloc", errno.ENOMEM, nth, 3)
            seen.add(self.ask("GET", "/healthz")[0])
            self.plan.rest()
            if not self.goes_on():
                self.begin_anew()
        self.assertIn(503, seen)

    def test_the_end_of_a_job_is_acknowledged_when_it_is_on_disk(self):
        lines = "\n".join(f"{n} {text}" for n in range(1000) for text in SENTENCES).encode()  # minutes of work, with these options

        def one_more():
            status, answer = self.ask("POST", "/v1/jobs?target=en&beam=8&min_length=128", lines, "text/plain; charset=utf-8")
            self.assertEqual(status, 201, answer)
            return json.loads(answer)["id"]
        removed, cancelled = one_more(), one_more()
        self.plan.arm("unlink", errno.EIO)
        self.assertEqual(self.ask("DELETE", f"/v1/jobs/{removed}")[0], 500)
        self.plan.arm("rename", errno.EIO)  # of the file that says how the job stands
        self.assertEqual(self.ask("POST", f"/v1/jobs/{cancelled}/cancel")[0], 500)
        self.plan.rest()
        gone = one_more()
        self.assertEqual(self.ask("DELETE", f"/v1/jobs/{gone}")[0], 204)
        unsynced = one_more()
        self.chance = random.Random(FIRST)
        self.a_glossary()
        self.plan.arm("fsync", errno.EIO, 1, FOR_EVER)
        self.assertEqual(self.ask("DELETE", f"/v1/jobs/{unsynced}")[0], 500)  # a power cut could bring it back
        self.assertEqual(self.ask("DELETE", f"/v1/glossaries/{list(self.glossaries)[0]}")[0], 500)
        self.plan.rest()
        self.server.process.kill()
        self.server.expected_codes = (-signal.SIGKILL,)
        self.server.wait()
        self.server = self.begin()
        for one, there in ((removed, 200), (cancelled, 200), (gone, 404)):
            self.look_at("GET", f"/v1/jobs/{one}", (there,))

    def test_what_was_acknowledged_is_there_after_a_restart(self):
        self.run_all(FIRST, RUNS - RUNS_IN_REDIS)


class InRedis(Keeping):
    """Glossaries, keys, quotas and jobs are tables of a Redis, which survives."""
    bounded = 0

    def more_flags(self):
        if "redis      yes" not in self.run_program("--version").stdout:
            self.skipTest("built without Redis")
        self.redis = Redis(self).start()
        secret = os.path.join(self.directory, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("s" * 40 + "\n")
        return f"--redis={self.redis.address}", "--redis-timeout=1s", "--jobs-shared=yes", f"--keys-shared-secret-file={secret}"

    def begin(self):
        server = super().begin()
        server.wait_for_log("Redis is available")
        return server

    def check_glossaries(self):
        """A server may not know of earlier changes until it has made one of its own."""
        one = {"name": "mine", "source": "fr", "target": "en", "terms": [["chat", "moggy"]]}
        status, answer = self.ask("POST", "/v1/glossaries", json.dumps(one))
        self.assertEqual(status, 201, answer)
        self.assertEqual(self.ask("DELETE", f"/v1/glossaries/{json.loads(answer)['id']}")[0], 204)
        super().check_glossaries()

    def check_usage(self):
        """What was delivered is charged, and no more than what was asked for. What was charged
        while Redis gave no answer in time is counted only by the server itself, which says so."""
        self.usage()  # Redis answers it after what it was told before
        used = int(self.redis.command("HGET", "dragoman:1:quota:key:key1", "characters").split()[1])
        metrics = self.look_at("GET", "/metrics", (200,))[1].decode()
        if re.search(r"^dragoman_local_charges_total 0$", metrics, re.M):
            self.assertLessEqual(self.characters[0], used)
            self.bounded += 1
        self.characters[0] = used
        self.assertLessEqual(used, self.characters[1])
        return used

    def settle(self):
        self.check_usage()

    def wait_until_usage_is_written(self):
        """Redis has the counts at once."""
        self.check_usage()

    def test_what_was_acknowledged_is_there_after_a_restart(self):
        self.run_all(FIRST, RUNS_IN_REDIS)
        sys.stderr.write(f"{self.bounded} looks at what was charged while Redis had decided all of it\n")


if __name__ == "__main__":
    main()
