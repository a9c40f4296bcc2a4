# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Several servers over one Redis: what one has translated the others know. No request fails when
Redis is gone, hangs or is new."""
import ast
import hashlib
import json
import os
import re
import socket
import sys
import threading

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from load import Load, post  # noqa: E402
from redis import Redis  # noqa: E402

MODELS = MODELS_DIR
VERBS = "mange bois vois lis prends veux peux sais".split()
THINGS = "pain livre train chat thé lait gâteau journal vélo billet".split()


def sentence(number):
    """A different sentence for each number."""
    verb, thing = VERBS[number % len(VERBS)], THINGS[number // len(VERBS) % len(THINGS)]
    return f"Je {verb} le {thing} {number}."


class SharedCache(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self)

    def start_one(self, *flags):
        return self.start(f"--models-dir={MODELS}", f"--redis={self.redis.address}", "--access-log=no", *flags)

    def metric(self, server, name):
        page = server.request("GET", "/metrics")[2].decode()
        return float(re.search(rf"^dragoman_{name} (\S+)$", page, re.M).group(1))

    def translate(self, server, text):
        status, _, body = server.request("POST", "/v1/translate", json.dumps({"text": text, "target": "en"}))
        self.assertEqual(status, 200)
        return json.loads(body)["translations"]

    def n_sentences(self):
        """The number of sentences' keys in Redis; the other keys that servers share have longer
        names."""
        return int(self.redis.command("EVAL", "return #redis.call('KEYS', ARGV[1])", "0", "dragoman:1:" + "[0-9a-f]" * 64)[1:])

    def test_what_one_server_translated_the_other_knows(self):
        self.redis.start()
        # Long enough that a slow machine does not fail the test.
        first, second = (self.start_one("--redis-timeout=1s") for _ in range(2))
        for server in first, second:
            server.wait_for_log("Redis is available")
        for n in range(1, 30):  # at once, unless Redis takes longer than a second
            answer = self.translate(first, sentence(n))
            wait_for(lambda: self.n_sentences() == n, "the sentence in Redis")
            self.assertEqual(self.translate(second, sentence(n)), answer)
            if self.metric(second, "shared_cache_hits_total") > 0:
                break
        self.assertEqual(self.metric(second, "shared_cache_hits_total"), 1)
        self.assertEqual(self.metric(second, "sentences_done_total"), n - 1)
        self.assertEqual(self.metric(first, "shared_cache_puts_total"), n)

    def test_a_redis_that_lies_is_not_believed(self):
        self.redis.start()
        server = self.start_one("--redis-timeout=1s")
        server.wait_for_log("Redis is available")
        answer = self.translate(server, "Où est la gare ?")
        wait_for(self.n_sentences, "the sentence in Redis")
        keys = re.findall(rb"dragoman:1:[0-9a-f]{64}", self.redis.command("KEYS", "*"))
        self.assertEqual(len(keys), 1)
        self.redis.command("SET", keys[0].decode(), "nonsense")
        second = self.start_one("--redis-timeout=1s")
        second.wait_for_log("Redis is available")
        self.assertEqual(self.translate(second, "Où est la gare ?"), answer)
        self.assertEqual(self.metric(second, "shared_cache_bad_total"), 1)

    def test_a_quota_holds_for_all_servers_together(self):
        self.redis.start()
        servers = [self.start_one("--redis-timeout=1s", "--anonymous-requests=6") for _ in range(2)]
        for server in servers:
            server.wait_for_log("Redis is available")
        body = json.dumps({"text": "Merci.", "target": "en"})
        statuses = [servers[n % 2].request("POST", "/v1/translate", body)[0] for n in range(6)]
        self.assertEqual(statuses, [200] * 6)
        # Every ten seconds one unit is added; on a slow machine a few may have been added by now,
        # for both servers together.
        more = [servers[n % 2].request("POST", "/v1/translate", body)[0] for n in range(8)]
        self.assertIn(429, more)
        # Without Redis each server counts for itself, starting from what it counted before.
        self.redis.kill()
        for server in servers:
            server.wait_for_log("Redis is unavailable")
        self.assertIn(servers[0].request("POST", "/v1/translate", body)[0], (200, 429))

    def test_a_month_that_has_begun_does_not_end_for_a_clock_that_is_behind(self):
        self.redis.start()
        with open(os.path.join(SOURCES, "src", "daemon", "shared_quota.c"), encoding="utf-8") as file:
            text = file.read().partition("static const char script[] =")[2].partition(";\n\n")[0]
        script = ast.literal_eval("(" + text + ")")

        def take(month, left, characters):
            """Takes the characters; returns the month's sum after that, as the answer states it."""
            answer = self.redis.command("EVAL", script, "1", "key", "0", "0", "0", "0", "1000", "1", str(characters), "take", str(month), str(left))
            numbers = [int(number) for number in re.findall(rb":(-?\d+)\r\n", answer)]
            self.assertEqual(len(numbers), 16, answer)
            return numbers[14]  # the number after it is the month

        for month, following in ((202611, 202612), (202612, 202701)):
            self.redis.command("DEL", "key")
            self.assertEqual(take(month, 5, 100), 100)
            self.assertEqual(take(following, 2600000, 10), 10)  # a server whose clock is ahead
            self.assertEqual(take(month, 3, 20), 30)  # a server whose clock is behind counts along,
            self.assertEqual(take(following, 2600000, 40), 70)  # and does not start a new month
            self.assertEqual(self.redis.command("HGET", "key", "month"), b"$6\r\n%d\r\n" % following)
            self.assertGreater(int(self.redis.command("TTL", "key")[1:]), 2000000)
        # The sum recovers from a month that a wrong clock has named: a later month, or the next one
        # long before it begins.
        for month, left, wrong in ((202611, 5, 203001), (202611, 900000, 202612)):
            self.redis.command("DEL", "key")
            self.assertEqual(take(wrong, 2600000, 10), 10)
            self.assertEqual(take(month, left, 20), 30)
            self.assertEqual(self.redis.command("HGET", "key", "month"), b"$6\r\n%d\r\n" % month)

    def test_a_refund_waits_for_redis(self):
        self.redis.start()
        secret, n = "secret-of-alice", 20000
        keys = os.path.join(self.directory, "keys")
        with open(keys, "w", encoding="ascii") as file:
            file.write(f"[key alice]\nhash = blake2b:{hashlib.blake2b(secret.encode(), digest_size=32).hexdigest()}\n")
        os.chmod(keys, 0o640)
        server = self.start_one("--redis-timeout=1s", f"--keys-file={keys}", "--threads=1", "--max-body=4MiB")
        server.wait_for_log("Redis is available")
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        body = json.dumps({"text": " ".join(f"Le chat numéro {i} dort." for i in range(n)), "target": "en", "timeout_ms": 4000})
        answers = []
        asking = threading.Thread(target=lambda: answers.append(server.request("POST", "/v1/translate", body, headers)))
        asking.start()

        def counted():
            return self.redis.command("HGET", "dragoman:1:quota:key:alice", "characters").split(b"\r\n")[1]

        wait_for(lambda: counted() not in (b"", b"0"), "the charge")
        self.redis.pause()
        asking.join()
        self.assertEqual(answers[0][0], 504, answers)
        server.wait_for_log("Redis is unavailable")
        self.redis.resume()
        wait_for(lambda: counted() == b"0", "the refund")

    def test_no_request_fails_whatever_redis_does(self):
        server = self.start_one()  # before Redis runs
        server.wait_for_log("Redis is unavailable")
        load = Load(server.port(), lambda n: post("/v1/translate", {"text": sentence(n // 2), "target": "en"}),
                    total=None, threads=4).start()
        try:
            load.more(40)
            self.redis.start()
            server.wait_for_log("Redis is available")
            load.more(60)
            self.redis.pause()
            load.more(60)
            self.redis.resume()
            load.more(60)
            self.redis.kill()
            load.more(60)
            self.redis.start()
            load.more(60)
        finally:
            load.stop()
        self.assertEqual(load.failures, [])


class RudeRedis(IntegrationTest):
    """A Redis server that sends more than it was asked for."""

    def setUp(self):
        super().setUp()

    def speak(self, client, unasked):
        with client:
            client.recv(65536)  # PING
            client.sendall(b"+PONG\r\n" + unasked)
            while client.recv(65536):
                client.sendall(unasked)

    def listen(self, unasked):
        path = os.path.join(self.directory, f"rude{self.n}")
        self.n += 1
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        self.addCleanup(listener.close)

        def serve():
            while True:
                try:
                    client = listener.accept()[0]
                    self.speak(client, unasked)
                except OSError:
                    if listener.fileno() < 0:
                        return

        threading.Thread(target=serve, daemon=True).start()
        return f"unix:{path}"

    def test_what_nobody_asked_for_costs_no_more_than_the_connection(self):
        self.n = 0
        for unasked in b"+HELLO\r\n", b"$1\r\na\r\n", b":1\r\n", b"$-1\r\n", b"*2\r\n:1\r\n$1\r\na\r\n", b"-ERR no\r\n", \
                b">1\r\n+push\r\n", b"*2000000000\r\n", b"$500000000\r\n" + b"x" * 20000000:
            with self.subTest(unasked=unasked[:20]):
                address = self.listen(unasked)
                server = self.start(f"--models-dir={MODELS}", f"--redis={address}", "--access-log=no")
                server.wait_for_log("Redis is unavailable")
                body = json.dumps({"text": "Merci.", "target": "en"})
                self.assertEqual(server.request("POST", "/v1/translate", body)[0], 200)
                server.stop()


if __name__ == "__main__":
    main()
