# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""docs/bulk.md's array job in Debian's real Slurm: a controller and two nodes on loopback. One node
dies when its task has written half of its lines; the task starts again on the other node, and
the parts together equal the output of one process."""
import ctypes
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess

from harness import MODELS_DIR, PATIENCE_S, PROGRAM, SOURCES, IntegrationTest, environment, free_ports, main, wait_for

TOOLS = "slurmctld slurmd sbatch squeue sinfo scontrol scancel munged".split()
CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
NodeName=one,two NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]},{ports[2]} CPUs=2 RealMemory=4096
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP
"""
# Stands for dragoman in the jobs' PATH: the real program, but its output stops after ten lines
# until the test has seen them.
HALTING = """\
#!/bin/bash
set -o pipefail
{program} "$@" | {{
    for n in {{1..10}}; do IFS= read -r line && printf '%s\n' "$line"; done
    touch "{folder}/half.$SLURMD_NODENAME.$SLURM_ARRAY_TASK_ID"
    until [ -e "{folder}/go" ]; do sleep 0.05; done
    cat
}}
"""


def example(language, use):
    """The blocks of docs/bulk.md that begin with this language and use."""
    with open(os.path.join(SOURCES, "docs", "bulk.md"), encoding="utf-8") as file:
        return re.findall(rf"^```{language} {use}\n(.*?)^```$", file.read(), re.S | re.M)


def descendants():
    """Our child processes and their descendants, which become our children when their parents die:
    (id, name, environment)."""
    parents, found = {}, []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(") ")[2].split()[1])
        except OSError:
            pass
    for pid in parents:
        above = parents[pid]
        while above not in (0, 1, os.getpid()):
            above = parents.get(above, 0)
        if above == os.getpid():
            found.append((pid, parents[pid], said_of(pid, "environ")))
    return found


def said_of(pid, what):
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read()
    except OSError:
        return b""


class ArrayJob(IntegrationTest):
    def setUp(self):
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            self.skipTest(f"needs slurm-wlm and munge ({', '.join(missing)})")
        # slurmd listens at the address of the machine's name.
        try:
            address = socket.gethostbyname(socket.gethostname())
        except OSError:
            address = "no address"
        if address != "127.0.0.1":
            self.skipTest(f"needs a host name that stands for 127.0.0.1, not for {address}")
        super().setUp()
        # Slurm's steps leave their parents: this process adopts them, so that it can end them.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        self.logs, self.programs = [], []
        self.addCleanup(self.end_everything)
        os.chmod(self.directory, 0o755)
        os.mkdir(os.path.join(self.directory, "state"))
        self.env = environment({"SLURM_CONF": os.path.join(self.directory, "slurm.conf")})
        self.write("slurm.conf", CONFIGURATION.format(ports=free_ports(3), folder=self.directory,
                                                      user=pwd.getpwuid(os.geteuid()).pw_name))
        self.write("munge.key", os.urandom(64).hex())
        os.chmod(os.path.join(self.directory, "munge.key"), 0o600)
        self.program("munged", "--force", "--foreground", *(f"--{name}-file={self.directory}/munge.{name}"
                                                            for name in ("key", "pid", "log", "seed")),
                     f"--socket={self.directory}/munge.socket")
        wait_for(lambda: os.path.exists(f"{self.directory}/munge.socket"), "munged")
        self.program("slurmctld", "-D")
        self.nodes = {name: self.program("slurmd", "-D", "-N", name) for name in ("one", "two")}
        wait_for(lambda: self.asked("sinfo", "-h", "-o", "%D %T").split() == ["2", "idle"], "two idle nodes")

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def program(self, *command):
        self.logs.append(os.path.join(self.directory, f"{len(self.logs)}.{command[0]}.log"))
        with open(self.logs[-1], "wb") as log:
            self.programs.append(subprocess.Popen(command, cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log))
        return self.programs[-1]

    def asked(self, *command):
        """What a command of Slurm prints; empty when it fails, as it does while the controller
        starts."""
        done = subprocess.run(command, cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE_S, encoding="utf-8", check=False)
        return done.stdout if done.returncode == 0 else ""

    def end_everything(self):
        if self.has_failed():
            for path in self.logs:
                with open(path, encoding="utf-8", errors="replace") as file:
                    print(f"---- {path}\n{file.read()}")
        while True:
            living = [pid for pid, _, _ in descendants()]
            for pid in living:
                self.kill(pid)
            for program in self.programs:
                program.wait()
            try:
                while os.waitpid(-1, 0 if living else os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def lose(self, node):
        """Loses a machine: kills the node's daemon, its steps, and what they run."""
        self.kill(self.nodes[node].pid)
        self.nodes[node].wait()
        its = [(pid, parent) for pid, parent, env in descendants() if f"SLURMD_NODENAME={node}\0".encode() in env]
        steps = [parent for _, parent in its if said_of(parent, "comm").strip() == b"slurmstepd"]
        self.assertTrue(steps)
        for pid in {pid for pid, _ in its} | set(steps):
            self.kill(pid)

    def half_done(self):
        return dict(name.split(".")[1:] for name in os.listdir(self.directory) if name.startswith("half."))

    def jobs(self):
        return dict(line.split() for line in self.asked("squeue", "-h", "-r", "-o", "%i %T").splitlines())

    def test_a_node_that_dies_costs_no_line(self):
        dragoman = os.path.join(os.path.dirname(PROGRAM), "dragoman")
        work, bin_folder = (os.path.join(self.directory, name) for name in ("work", "bin"))
        os.mkdir(work)
        os.mkdir(bin_folder)
        os.symlink(MODELS_DIR, os.path.join(work, "models"))
        self.write("bin/dragoman", HALTING.format(program=dragoman, folder=self.directory))
        os.chmod(os.path.join(bin_folder, "dragoman"), 0o755)
        self.env["PATH"] = os.pathsep.join([bin_folder, self.env["PATH"]])
        self.write("work/translate.slurm", *example("sh", "file=translate.slurm"))
        corpus = example("sh", "run")[0]
        subprocess.run(["bash", "-eu", "-c", corpus], cwd=work, env=self.env, check=True)
        job = self.asked("sbatch", "--parsable", "--chdir", work, os.path.join(work, "translate.slurm")).strip()
        wait_for(lambda: set(self.half_done()) == {"one", "two"}, "a task under way at each node")
        lost = f"{job}_{self.half_done()['one']}"
        self.lose("one")
        # The controller would do this by itself about half a minute later, and what follows two
        # minutes after that.
        self.asked("scontrol", "update", "NodeName=one", "State=DOWN", "Reason=killed")
        wait_for(lambda: self.jobs().get(lost) == "PENDING", "the lost task waiting again")
        self.asked("scontrol", "update", f"JobId={lost}", "StartTime=now")
        self.assertFalse([name for name in os.listdir(work) if name.endswith(".en")])
        self.write("go", "")
        wait_for(lambda: not self.jobs(), "the end of all tasks")
        self.assertIn("Restarts=1 ", self.asked("scontrol", "show", "job", lost))
        self.assertTrue(self.asked("scontrol", "show", "job", lost).count("NodeList=two"))
        parts = sorted(name for name in os.listdir(work) if re.fullmatch(r"slurm\.\d{4}\.en", name))
        self.assertEqual(parts, [f"slurm.{n:04}.en" for n in range(4)])
        with open(os.path.join(work, "corpus.fr"), "rb") as corpus:
            whole = subprocess.run([dragoman, "translate", "--quiet", f"--model={MODELS_DIR}/fr-en"], stdin=corpus,
                                   env=environment(), capture_output=True, check=True).stdout
        together = b""
        for name in parts:
            with open(os.path.join(work, name), "rb") as file:
                together += file.read()
        self.assertEqual(together, whole)
        self.assertEqual(whole.count(b"\n"), 120)


if __name__ == "__main__":
    main()
