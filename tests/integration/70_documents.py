# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""The commands in the documents do what the documents say.

In README.md and docs/ the first word after a block's fence says what the block is, the second
what this test does with it:

    ```sh run           run with bash, in the page's order, in a directory with models/, data/ and build/ as in the
                        source tree, dragoman and dragomand in the PATH, and a server on http://127.0.0.1:8090, or
                        where the page's last "listen = 127.0.0.1:PORT" says (another port, really)
    ```sh run train     the same, but unless DRAGOMAN_SLOW is set, `dragoman train` does 4 steps and judges 4 pairs, and awk
                        and head pick a sixteenth of the lines
    ```sh run download  the same, with git, curl and unzip that give small files of ours for those that the page names
    ```sh serve         the daemon that the page has the reader start; from here on it is the server of the page
    ```text output      what the block before it printed; "..." stands for anything
    ```sh file=NAME     written to NAME for later blocks to use
    ```sh               not run (it needs root, or another machine); its syntax is checked
    ```ini, conf file   a configuration: dragomand --check-config finds no mistake in it
    ```yaml, ```json, ```python     parse

Commands may stand only in such blocks: an indented command, which no test would run, is refused
outside of docs/internals and the log of experiments."""
import ast
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
import zipfile

from harness import PROGRAM, SOURCES, IntegrationTest, environment, main

BUILD = os.path.dirname(PROGRAM)
FENCE = re.compile(r"^```([a-z]*)[ ]*([^\n]*)\n(.*?)^```$", re.S | re.M)
# Small models in the formats that can be downloaded, under the names of the downloads.
DOWNLOADS = {"translate-fr_en.argosmodel": "tiny.argosmodel", "ct2-fr-en": "ct2-v6"}
COMMAND = re.compile(r"^    (\$ )?(dragomand? |\./|build/|sudo |curl |python3 |systemctl |podman |docker |mkdir |make\b)", re.M)
TOOLS = {"parallel": "parallel", "curl": "curl", "openssl": "openssl", "jq": "jq"}


def pages():
    found = ["README.md"]
    for folder, _, names in os.walk(os.path.join(SOURCES, "docs")):
        found += [os.path.relpath(os.path.join(folder, name), SOURCES) for name in names if name.endswith(".md")]
    return sorted(found)


class Block:
    def __init__(self, page, match, text):
        self.language, self.use, self.text = match.group(1), match.group(2).strip(), match.group(3)
        self.place = f"{page}:{text.count(chr(10), 0, match.start()) + 1}"


def blocks(page):
    with open(os.path.join(SOURCES, page), encoding="utf-8") as file:
        text = file.read()
    return [Block(page, match, text) for match in FENCE.finditer(text)]


class Documents(IntegrationTest):
    def prepare(self):
        """A directory that looks like the source tree to a reader's commands."""
        work = os.path.join(self.directory, "work")
        os.mkdir(work)
        for name in "data", "conf", "docs", "clients":
            if os.path.isdir(os.path.join(SOURCES, name)):
                os.symlink(os.path.join(SOURCES, name), os.path.join(work, name))
        os.mkdir(os.path.join(work, "models"))
        for name in os.listdir(os.path.join(SOURCES, "models")):
            os.symlink(os.path.join(SOURCES, "models", name), os.path.join(work, "models", name))
        os.symlink(BUILD, os.path.join(work, "build"))
        os.mkdir(os.path.join(work, "downloads"))
        for name, sample in DOWNLOADS.items():
            os.symlink(os.path.join(SOURCES, "tests", "data", "import", sample),
                       os.path.join(work, "downloads", name))
        self.write_everyday(os.path.join(work, "downloads", "fra-eng.zip"))
        os.mkdir(os.path.join(work, ".downloads"))
        for name in "git", "curl", "unzip":
            os.symlink(os.path.join(SOURCES, "tests", "integration", "downloads.py"),
                       os.path.join(work, ".downloads", name))
        with zipfile.ZipFile(os.path.join(SOURCES, "tests", "data", "import", "tiny.argosmodel")) as package:
            package.extractall(os.path.join(work, ".local", "share", "argos-translate", "packages"))
        self.server = self.start(f"--models-dir={os.path.join(SOURCES, 'models')}",
                                 f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}")
        return work

    def write_everyday(self, path):
        """Writes our pairs in the form of the collection that docs/tutorial-train.md has the reader
        download."""
        pairs = os.path.join(SOURCES, "models", "recipe", "written", "written-daily.fr-en.tsv.gz")
        with gzip.open(pairs, "rt", encoding="utf-8") as file, zipfile.ZipFile(path, "w") as package:
            sides = [line.rstrip("\n").split("\t") for line in file][::3]
            package.writestr("fra.txt", "".join(f"{english}\t{french}\tCC-BY\n" for french, english in sides))

    def serve(self, block, work):
        """Starts the daemon of the block's command, at an address of the test's own."""
        program, *arguments = shlex.split(block.text.replace("$PWD", work))
        self.assertEqual(program, "dragomand", block.place)
        at = arguments.index("--listen")
        del arguments[at:at + 2]
        self.server = self.start(f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}", *arguments)

    def run_block(self, block, work, address):
        text = block.text.replace(address, f"127.0.0.1:{self.server.port()}")
        if "train" in block.use.split() and not os.environ.get("DRAGOMAN_SLOW"):
            text = re.sub(r"--(steps|valid-every|valid-pairs|time|epochs|batch-tokens) \S+", "", text)
            text = re.sub(r"dragoman train( --resume)?",
                          lambda m: f"dragoman train --steps {6 if m[1] else 4} --valid-every 4 --valid-pairs 4 "
                                    f"--test-pairs 4{m[1] or ' --batch-tokens 200'}", text)
            text = re.sub(r"NR % (\d+)", lambda m: f"NR % {16 * int(m[1])}", text)
            text = re.sub(r"head -n (\d+)", lambda m: f"head -n {int(m[1]) // 16}", text)
        path = [BUILD, os.environ["PATH"]]
        if "download" in block.use.split():
            path.insert(0, os.path.join(work, ".downloads"))
        env = environment({"PATH": os.pathsep.join(path), "HOME": work, "LC_ALL": "C.UTF-8",
                           "PARALLEL_HOME": os.path.join(work, ".parallel")})
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", text], cwd=work, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=1200, encoding="utf-8",
                              errors="replace", check=False)
        self.assertEqual(done.returncode, 0, f"{block.place}\n{block.text}\n{done.stdout}{done.stderr}")
        return done.stdout

    def check_output(self, block, printed):
        pattern = ".*".join(re.escape(part) for part in block.text.strip().split("..."))
        self.assertRegex(printed.strip(), re.compile(pattern + r"\Z", re.S), block.place)

    def check_syntax(self, block):
        if block.language in ("sh", "bash"):
            done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, encoding="utf-8", check=False)
            self.assertEqual(done.returncode, 0, f"{block.place}: {done.stderr}")
        elif block.language == "python":
            ast.parse(block.text, block.place)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            try:
                import yaml
            except ImportError:
                return
            list(yaml.safe_load_all(block.text))
        elif block.language == "ini" and block.use != "systemd":
            # Files and folders that the configuration names need not exist here, nor be this account's:
            # then --check-config says so with 1. Only 2 is a mistake in the options.
            done = self.run_program("--check-config", conf=block.text.encode())
            left_out = re.search(r"this program was built without it; .* --with-(\w+)", done.stderr)
            if left_out:
                self.skipTest(f"{block.place}: needs a build --with-{left_out[1]}")
            self.assertIn(done.returncode, (0, 1), f"{block.place}: {done.stderr}")

    def check_indented(self, page):
        if page.startswith("docs/internals") or page == "docs/speed-log.md":
            return
        with open(os.path.join(SOURCES, page), encoding="utf-8") as file:
            text = FENCE.sub("", file.read())
        self.assertIsNone(COMMAND.search(text), f"{page}: a command outside of a fenced block")

    def check_page(self, page):
        found = blocks(page)
        self.check_indented(page)
        for block in found:
            self.check_syntax(block)
        runnable = [block for block in found if block.use.split()[:1] == ["run"]]
        if not runnable:
            return
        missing = [package for program, package in TOOLS.items()
                   if not shutil.which(program) and any(re.search(rf"\b{program}\b", b.text) for b in runnable)]
        if missing:
            self.skipTest(f"needs {' '.join(missing)}")
        work, printed, address = self.prepare(), "", "127.0.0.1:8090"
        for block in found:
            if block.language == "ini":
                address = (re.findall(r"^listen = (127\.0\.0\.1:\d+)$", block.text, re.M) or [address])[-1]
            elif block.use == "serve":
                self.serve(block, work)
            elif block.use.split()[:1] == ["run"]:
                printed = self.run_block(block, work, address)
            elif block.use == "output":
                self.check_output(block, printed)
            elif block.use.startswith("file="):
                with open(os.path.join(work, block.use[5:]), "w", encoding="utf-8") as file:
                    file.write(block.text)


def add_test(page):
    setattr(Documents, "test_" + re.sub(r"\W+", "_", page.removesuffix(".md")),
            lambda self: self.check_page(page))


class Manifests(unittest.TestCase):
    """docs/deploy's files for containers, as far as they can be checked without running them."""

    def read(self, name):
        with open(os.path.join(SOURCES, "docs", "deploy", name), encoding="utf-8") as file:
            return file.read()

    def test_kubernetes(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("needs python3-yaml")
        objects = list(yaml.safe_load_all(self.read("kubernetes.yaml")))
        kinds = {item["kind"]: item for item in objects}
        self.assertEqual(sorted(kinds), ["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"])
        for item in objects:
            self.assertTrue(item["apiVersion"] and item["metadata"]["name"] == "dragoman")
        pod = kinds["Deployment"]["spec"]["template"]
        container = pod["spec"]["containers"][0]
        self.assertEqual(pod["metadata"]["labels"], kinds["Service"]["spec"]["selector"])
        self.assertEqual(pod["metadata"]["labels"], kinds["Deployment"]["spec"]["selector"]["matchLabels"])
        ports = {port["name"] for port in container["ports"]}
        with open(os.path.join(SOURCES, "src", "api", "http", "routes.c"), encoding="utf-8") as file:
            routes = file.read()
        for probe in "startupProbe", "readinessProbe", "livenessProbe":
            self.assertIn(f'"{container[probe]["httpGet"]["path"]}"', routes)
            self.assertIn(container[probe]["httpGet"]["port"], ports)
        self.assertEqual({m["name"] for m in container["volumeMounts"]}, {v["name"] for v in pod["spec"]["volumes"]})
        self.check_environment({entry["name"]: entry["value"] for entry in container["env"]})
        # The configuration is valid and is where the daemon looks for it; and the init container's
        # command fetches models.
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        self.assertEqual((mounts["conf"], volumes["conf"]["configMap"]["name"]), ("/etc/dragoman", "dragoman"))
        (name, conf), = kinds["ConfigMap"]["data"].items()
        with tempfile.NamedTemporaryFile("w", suffix=name, encoding="utf-8") as file:
            file.write(conf)
            file.flush()
            done = subprocess.run([PROGRAM, f"--config={file.name}", "--check-config"], env=environment(), check=False,
                                  capture_output=True, encoding="utf-8")
        self.assertEqual(name, "dragomand.conf")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # its folders are not on this machine
        init, = pod["spec"]["initContainers"]
        self.assertEqual(init["image"], container["image"])
        self.assertIn(f"--models-dir={init['volumeMounts'][0]['mountPath']}", init["command"])
        self.assertFalse(init["volumeMounts"][0].get("readOnly"))
        catalogue = os.path.join(SOURCES, "data", "catalogue", "catalogue.json")
        done = subprocess.run([os.path.abspath("./dragoman"), *init["command"][1:], "--print-urls", f"--catalogue={catalogue}"],
                              env=environment(), check=False, capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, "https://" in done.stdout), (0, True), done.stderr)
        metric = kinds["HorizontalPodAutoscaler"]["spec"]["metrics"][0]["pods"]["metric"]["name"]
        with open(os.path.join(SOURCES, "src", "api", "ops", "counters.h"), encoding="utf-8") as file:
            self.assertIn(f'"{metric.removeprefix("dragoman_")}"', file.read())

    def check_environment(self, variables):
        """The daemon knows each of the variables and accepts its value."""
        done = subprocess.run([PROGRAM, "--config=", "--check-config"], env=environment(variables), check=False,
                              capture_output=True, encoding="utf-8")
        self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_containerfile(self):
        text = re.sub(r"\\\n\s*", "", self.read("Containerfile"))
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        known = {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT"}
        self.assertLessEqual({line.split()[0] for line in lines}, known)
        self.assertEqual([line.split()[1] for line in lines if line.startswith("USER")], ["10001:10001"])
        for line in lines:
            if line.startswith("RUN"):
                subprocess.run(["sh", "-n"], input=line[4:], encoding="utf-8", check=True)
        # The image is built with what quickstart installs, and with the optional OpenSSL.
        with open(os.path.join(SOURCES, "quickstart"), encoding="utf-8") as file:
            wanted = set(re.search(r'^build_packages="(.*?)"', file.read(), re.S | re.M).group(1).split())
        installed = re.search(r"--no-install-recommends (.*?)(?: &&|$)", lines[1]).group(1).split()
        self.assertEqual(set(installed), wanted | {"libssl-dev"})
        # The image that runs needs nothing of Node.
        self.assertNotIn("node", text[text.rindex("FROM "):])
        variables = re.findall(r"(DRAGOMAN_\w+)=(\S+)", next(line for line in lines if line.startswith("ENV")))
        self.check_environment(dict(variables))


class Figures(unittest.TestCase):
    """README.md's table of quality repeats what the cards of the embedded models state."""

    def test_quality(self):
        with open(os.path.join(SOURCES, "README.md"), encoding="utf-8") as file:
            rows = re.findall(r"^\| ([a-z]{2}-[a-z]{2}) \| (.*)$", file.read(), re.M)
        self.assertEqual(sorted(pair for pair, _ in rows), ["en-fr", "fr-en"])
        for pair, cells in rows:
            with open(os.path.join(SOURCES, "models", pair, "card.md"), encoding="utf-8") as file:
                card = file.read().split("| before it |")[0]
            for figure in re.findall(r"\d+\.\d", cells):
                self.assertTrue(re.search(rf"(?<![\d.]){figure}(?!\d)", card),
                                f"{figure} of {pair} in README.md is not in its card.md")


for name in pages():
    add_test(name)


if __name__ == "__main__":
    main()
