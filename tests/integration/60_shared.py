# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
# Tiers: gcc asan
"""Servers that share a Redis keep one set of glossaries: a change on one server is a change on all."""
import concurrent.futures
import hashlib
import json
import os
import signal
import subprocess
import sys

from harness import MODELS_DIR, PROGRAM, SOURCES, IntegrationTest, environment, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from redis import Redis  # noqa: E402

TOOL = os.path.join(os.path.dirname(PROGRAM), "dragoman")

TEXT = "La maison est grande."
UNKNOWN = -1


class SharedGlossaries(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self)

    def start_one(self, n, *flags):
        server = self.start(f"--models-dir={MODELS_DIR}", f"--redis={self.redis.address}", "--access-log=no",
                            f"--glossaries-dir={os.path.join(self.directory, f'glossaries{n}')}", *flags)
        return server

    def start_all(self, n=3, *flags):
        servers = [self.start_one(number, *flags) for number in range(n)]
        for server in servers:
            server.wait_for_log("Redis is available")
        return servers

    def ask(self, server, method, path, body=None, **headers):
        status, answer_headers, answer = server.request(method, path, None if body is None else json.dumps(body),
                                                        {"Content-Type": "application/json", **headers})
        return status, json.loads(answer) if answer else None, answer_headers

    def make(self, server, word, name="g"):
        body = {"name": name, "source": "fr", "target": "en", "terms": {"maison": word}}
        return self.ask(server, "POST", "/v1/glossaries", body)

    def word(self, server, id):
        status, answer, _ = self.ask(server, "POST", "/v1/translate", {"text": TEXT, "target": "en", "glossary": id})
        return answer["translations"][0]["text"] if status == 200 else status

    def change(self, server, id, word):
        return self.ask(server, "PUT", f"/v1/glossaries/{id}",
                        {"name": "g", "source": "fr", "target": "en", "terms": {"maison": word}})[0]

    def test_what_one_server_keeps_all_keep(self):
        self.redis.start()
        servers = self.start_all()
        status, made, _ = self.make(servers[0], "residence")
        self.assertEqual(status, 201)
        for server in servers:  # a change is answered when all servers have it, or after a second
            wait_for(lambda: "residence" in str(self.word(server, made["id"])), "the glossary")
        self.assertEqual(self.change(servers[1], made["id"], "dwelling"), 200)
        for server in servers:
            wait_for(lambda: "dwelling" in str(self.word(server, made["id"])), "its change")
        self.assertEqual(self.ask(servers[2], "DELETE", f"/v1/glossaries/{made['id']}")[0], 204)
        for server in servers:
            wait_for(lambda: self.word(server, made["id"]) == 404, "its end")
        wait_for(lambda: not os.listdir(os.path.join(self.directory, "glossaries0")), "the copy's end")

    def test_changes_of_one_glossary_are_one_after_the_other(self):
        """DeepL's PATCH adds to the glossary: whichever server gets it, nothing that another server
        added is lost."""
        self.redis.start()
        servers = self.start_all()
        dictionary = lambda n: {"source_lang": "fr", "target_lang": "en", "entries_format": "tsv", "entries": f"mot{n}\tword{n}"}
        status, made, _ = self.ask(servers[0], "POST", "/v3/glossaries", {"name": "g", "dictionaries": [dictionary(0)]})
        self.assertEqual(status, 201)
        path = f"/v3/glossaries/{made['glossary_id']}"
        wait_for(lambda: all(self.ask(server, "GET", path)[0] == 200 for server in servers), "the glossary")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            patch = lambda n: self.ask(servers[n % 3], "PATCH", path, {"dictionaries": [dictionary(n)]})[0]
            self.assertEqual(set(pool.map(patch, range(1, 10))), {200})
        count = lambda server: self.ask(server, "GET", path)[1]["dictionaries"][0]["entry_count"]
        for server in servers:
            wait_for(lambda: count(server) == 10, "all entries")

    def test_without_redis_they_can_be_used_and_not_changed(self):
        self.redis.start()
        servers = self.start_all(2)
        made = self.make(servers[0], "residence")[1]
        wait_for(lambda: "residence" in str(self.word(servers[1], made["id"])), "the glossary")
        self.redis.kill()
        servers[1].wait_for_log("Redis is unavailable")
        self.assertIn("residence", self.word(servers[1], made["id"]))
        status, _, headers = self.make(servers[1], "dwelling")
        self.assertEqual(status, 503)
        self.assertIn("Retry-After", dict(headers))
        status, _, headers = self.ask(servers[1], "DELETE", f"/v1/glossaries/{made['id']}")
        self.assertEqual(status, 503)
        # A server that starts meanwhile gets its copy; and when Redis comes back empty, the servers
        # give it what they have.
        servers[1].stop()
        again = self.start_one(1)
        self.assertIn("residence", self.word(again, made["id"]))
        self.redis.start()
        third = self.start_one(3)
        wait_for(lambda: "residence" in str(self.word(third, made["id"])), "what the others had")
        self.assertEqual(self.change(third, made["id"], "palace"), 200)
        for server in (servers[0], again):
            wait_for(lambda: "palace" in str(self.word(server, made["id"])), "the change")

    def keys_file(self, n):
        """Each server has its own key file, because it keeps the usage next to it."""
        path = os.path.join(self.directory, f"keys{n}")
        with open(path, "w", encoding="utf-8") as file:
            for name in "alice", "bob":
                digest = hashlib.blake2b(f"secret-of-{name}".encode(), digest_size=32).hexdigest()
                file.write(f"[key {name}]\nhash = blake2b:{digest}\n")
        os.chmod(path, 0o600)
        return f"--keys-file={path}"

    def test_glossaries_of_before_are_taken_along_and_owners_stay(self):
        alone = self.start(f"--models-dir={MODELS_DIR}", f"--glossaries-dir={os.path.join(self.directory, 'glossaries0')}",
                           self.keys_file(0))
        alice, bob = ({"Authorization": f"Bearer secret-of-{name}"} for name in ("alice", "bob"))
        body = {"name": "hers", "source": "fr", "target": "en", "terms": {"maison": "residence"}}
        status, made, _ = self.ask(alone, "POST", "/v1/glossaries", body, **alice)
        self.assertEqual(status, 201)
        alone.stop()
        self.redis.start()
        servers = [self.start_one(n, self.keys_file(n)) for n in range(2)]
        path = f"/v1/glossaries/{made['id']}"
        wait_for(lambda: self.ask(servers[1], "GET", path, **alice)[0] == 200, "her glossary")
        self.assertEqual(self.ask(servers[1], "GET", path, **bob)[0], 404)
        self.assertEqual(self.ask(servers[1], "DELETE", path, **bob)[0], 404)

    def test_a_redis_that_lies_costs_nothing_of_what_there_is(self):
        self.redis.start()
        server = self.start_all(1)[0]
        made = self.make(server, "residence")[1]
        for id, text in (("../../../../../tmp/evil-evil-evil-evil1", "{}"), (made["id"], "nonsense"),
                         ("0" * 36, json.dumps({"id": "1" * 36}))):
            version = self.redis.command("HINCRBY", "dragoman:1:glossaries:meta", "version", "1")[1:-2].decode()
            self.redis.command("HSET", "dragoman:1:glossaries:rows", id, text)
            self.redis.command("ZADD", "dragoman:1:glossaries:versions", version, id)
        server.wait_for_log("this server's copy of a shared glossary is not up to date")
        self.assertIn("residence", self.word(server, made["id"]))
        self.redis.command("DEL", "dragoman:1:glossaries:rows")
        self.redis.command("SET", "dragoman:1:glossaries:rows", "of another type")
        self.assertEqual(self.make(server, "dwelling")[0], 503)
        server.wait_for_log("Redis does not keep a shared table")
        self.assertIn("residence", self.word(server, made["id"]))
        self.redis.command("DEL", "dragoman:1:glossaries:rows")  # a part is lost: all of it is written anew
        wait_for(lambda: self.make(server, "dwelling")[0] == 201, "a table that begins anew")
        self.assertIn("residence", self.word(server, made["id"]))


class SharedKeys(IntegrationTest):
    """Three servers, each with a key file of its own."""

    def setUp(self):
        super().setUp()
        self.redis = Redis(self)
        self.secret = os.path.join(self.directory, "secret")
        with open(self.secret, "w", encoding="ascii") as file:
            file.write("5" * 32 + "\n")

    def write_keys(self, n, **keys):
        """Writes a key file; `keys` has the requests a minute of each key."""
        path = os.path.join(self.directory, f"keys{n}")
        with open(path + ".new", "w", encoding="ascii") as file:
            if not keys:
                file.write("keys = none\n")
            for name, limit in keys.items():
                digest = hashlib.blake2b(name.encode(), digest_size=32).hexdigest()
                file.write(f"[key {name}]\nhash = blake2b:{digest}\ncreated = 2026-01-01T00:00:00Z\nrequests-per-minute = {limit}\n")
        os.chmod(path + ".new", 0o600)
        os.rename(path + ".new", path)
        return path

    def start_one(self, n):
        path = os.path.join(self.directory, f"keys{n}")
        return self.start(f"--models-dir={MODELS_DIR}", f"--redis={self.redis.address}", "--access-log=no", "--require-key=yes",
                          f"--keys-file={path}", f"--keys-shared-secret-file={self.secret}")

    def limit(self, server, name):
        """The limit that a request with the key is told; None when there is no such key, UNKNOWN
        when the server cannot tell."""
        status, headers, _ = server.request("POST", "/v1/translate", json.dumps({"text": "Merci.", "target": "en"}),
                                            {"Authorization": f"Bearer {name}"})
        if status == 503:
            self.assertEqual(headers["Retry-After"], "1")
            self.assertNotIn("WWW-Authenticate", headers)
            return UNKNOWN
        self.assertIn(status, (200, 401))
        return int(headers["RateLimit-Limit"]) if status == 200 else None

    def check_all(self, servers, name, limit):
        for server in servers:
            wait_for(lambda: self.limit(server, name) == limit, f"the limit {limit} of {name}")

    def test_a_server_that_redis_tells_nothing_sends_keys_that_it_does_not_know_elsewhere(self):
        self.redis.start()
        self.write_keys(0, root=900)
        self.write_keys(1, root=900, alice=1000)
        self.redis.pause()
        self.addCleanup(self.redis.resume)
        servers = [self.start_one(n) for n in range(2)]
        self.assertEqual([self.limit(server, "root") for server in servers], [900, 900])
        self.assertEqual([self.limit(server, "alice") for server in servers], [UNKNOWN, 1000])
        self.redis.resume()
        self.check_all(servers, "alice", 1000)
        self.check_all(servers, "mallory", None)

    def check_file_that_changes(self, servers):
        """The servers take over what the command writes without a reload; they do not take over a
        file that may be incomplete."""
        path = os.path.join(self.directory, "keys0")
        done = subprocess.run([TOOL, "keys", "add", "carol", "--requests-per-minute=700", f"--file={path}"], env=environment(),
                              capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_all(servers, done.stdout.strip(), 700)
        with open(path, encoding="ascii") as file:
            whole = file.read()
        self.write_keys(0, root=900)  # without the last line that says so; carol would be revoked for good
        self.check_all(servers, done.stdout.strip(), 700)
        erin = "[key erin]\nhash = blake2b:" + hashlib.blake2b(b"erin", digest_size=32).hexdigest() + "\nrequests-per-minute = 800\n"
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(erin + whole)
        os.chmod(path + ".new", 0o600)
        os.rename(path + ".new", path)
        self.check_all(servers, "erin", 800)
        self.check_all(servers, done.stdout.strip(), 700)

    def test_a_key_is_the_same_at_all_servers_and_stays_revoked(self):
        self.redis.start()
        self.write_keys(0, root=900)
        self.write_keys(1, root=900, alice=1000)
        self.write_keys(2, root=900)
        servers = [self.start_one(n) for n in range(3)]
        self.check_all(servers, "alice", 1000)
        self.write_keys(2, root=900, bob=2000)  # added
        servers[2].signal(signal.SIGHUP)
        self.check_all(servers, "bob", 2000)
        self.write_keys(1, root=900, alice=3000)  # limited
        servers[1].signal(signal.SIGHUP)
        self.check_all(servers, "alice", 3000)
        self.write_keys(1, root=900)  # revoked
        servers[1].signal(signal.SIGHUP)
        self.check_all(servers, "alice", None)
        self.write_keys(0, root=900, alice=1000)  # an old copy of the file
        servers[0].signal(signal.SIGHUP)
        servers[0].wait_for_log('msg="keys in use"', times=1)
        self.redis.kill()  # loses everything
        for server in servers:
            server.wait_for_log("Redis is unavailable")
        self.assertIn(self.limit(servers[0], "alice"), (None, UNKNOWN))
        servers[0].stop()
        servers[0] = self.start_one(0)  # without Redis it uses what it knew
        self.assertEqual(self.limit(servers[0], "alice"), UNKNOWN)
        self.assertEqual(self.limit(servers[0], "bob"), 2000)
        self.redis.start()
        self.write_keys(2, root=900)
        servers[2].signal(signal.SIGHUP)
        self.check_all(servers, "bob", None)
        self.check_all(servers, "alice", None)
        self.check_all(servers, "root", 900)
        self.check_file_that_changes(servers)
        # A client that can write to Redis can neither make a key nor bring one back.
        row = "1 9999999999999 " + "0" * 64 + "\n[key mallory]\nhash = blake2b:" + hashlib.blake2b(b"mallory", digest_size=32).hexdigest() + "\n"
        script = ("local v = redis.call('HINCRBY', KEYS[1], 'version', 1) redis.call('ZADD', KEYS[2], v, ARGV[1]) "
                  "redis.call('HSET', KEYS[3], ARGV[1], ARGV[2]) return v")
        for name in "mallory", "root", "alice":
            self.redis.command("EVAL", script, "3", "dragoman:1:keys:meta", "dragoman:1:keys:versions", "dragoman:1:keys:rows",
                               name, row)
        servers[1].wait_for_log("that no server with our")
        for name, limit in (("mallory", None), ("root", 900), ("alice", None)):
            self.check_all(servers, name, limit)


if __name__ == "__main__":
    main()
