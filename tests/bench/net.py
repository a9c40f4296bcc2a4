# SPDX-License-Identifier: ISC
"""Measures the network layer of dragomand: load against nginx on the same machine in the same run,
memory of idle WebSockets, and how long a small request waits while the translation workers are
saturated.

    python3 tests/bench/net.py ./dragomand [--rounds 5] [--seconds 3] [--sockets 10000] [--models-dir DIR]

The load needs wrk and nginx (apt-get install wrk nginx-light), the sockets need a limit of open
files above their number, and the saturated workers need models. It leaves out what it has no
means for, and says so. One line per result: name, value, unit. Servers listen on 127.0.0.1 only
and are stopped at the end.
"""
import argparse
import http.client
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time

NGINX = """
worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
    server {{
        listen 127.0.0.1:{port};
        location / {{ default_type application/json; return 200 '{{"status":"ok"}}\\n'; }}
    }}
}}
"""

HANDSHAKE = (b"GET /v1/stream HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


def say(name, value, unit):
    print(f"{name} {value:.4g} {unit}", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None:
                raise SystemExit(f"net.py: a server ended with code {process.returncode}") from None
            time.sleep(0.1)
    raise SystemExit("net.py: a server did not start within a minute")


def start_daemon(options, port, *flags):
    flags = [f"--models-dir={options.models_dir}", *flags] if options.models_dir else list(flags)
    process = subprocess.Popen([options.dragomand, "--config=", f"--listen=127.0.0.1:{port}", "--access-log=no",
                                "--log-level=error", f"--max-connections={options.sockets + 1000}", *flags])
    wait_for_port(port, process)
    return process


def stop(process):
    process.terminate()
    process.wait(30)


def wrk(port, seconds):
    """Requests per second and the 99th percentile in milliseconds."""
    text = subprocess.run(["wrk", "-t1", "-c64", f"-d{seconds}", "--latency", f"http://127.0.0.1:{port}/healthz"],
                          check=True, capture_output=True, text=True).stdout
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
            float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit])


def load(options):
    if not shutil.which("wrk") or not shutil.which("nginx"):
        print("load skipped: needs wrk and nginx")
        return
    with tempfile.TemporaryDirectory() as directory:
        nginx_port, our_port = free_port(), free_port()
        conf = os.path.join(directory, "nginx.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(NGINX.format(dir=directory, port=nginx_port))
        nginx = subprocess.Popen(["nginx", "-c", conf])
        ours = start_daemon(options, our_port)
        try:
            wait_for_port(nginx_port, nginx)
            rounds = [(wrk(nginx_port, options.seconds), wrk(our_port, options.seconds))
                      for _ in range(options.rounds)]
        finally:
            stop(nginx)
            stop(ours)
    say("load-nginx", statistics.median(n[0] for n, _ in rounds), "requests/s (one worker)")
    say("load-dragomand", statistics.median(o[0] for _, o in rounds), "requests/s")
    say("load-ratio", statistics.median(o[0] / n[0] for n, o in rounds), "of nginx (median of rounds; aim 0.7)")
    say("load-p99-nginx", statistics.median(n[1] for n, _ in rounds), "ms")
    say("load-p99", statistics.median(o[1] for _, o in rounds), "ms (aim 5)")


def memory_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))


def idle_sockets(options):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < options.sockets + 1000:
        print(f"idle WebSockets skipped: needs {options.sockets + 1000} open files, the limit is {hard}")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    port = free_port()
    ours = start_daemon(options, port)
    try:
        before = memory_kib(ours)
        sockets = []
        for _ in range(options.sockets):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(HANDSHAKE)
            if b" 101 " not in one.recv(4096):
                print("idle WebSockets skipped: needs models")
                return
            sockets.append(one)
        time.sleep(1)
        say("idle-websockets", options.sockets, "open")
        say("idle-websockets-memory", (memory_kib(ours) - before) / 1024, "MB (aim 60)")
        for one in sockets:
            one.close()
    finally:
        stop(ours)


def loop_lag(options):
    """The time of GET /healthz on a quiet connection while translations saturate the workers."""
    if not options.models_dir:
        print("loop lag skipped: needs --models-dir")
        return
    port = free_port()
    ours = start_daemon(options, port)
    over = threading.Event()
    body = json.dumps({"text": ["Le chat dort. La maison est grande. " * 20] * 20, "target": "en", "cache": False})

    def saturate():
        while not over.is_set():
            one = http.client.HTTPConnection("127.0.0.1", port)
            one.request("POST", "/v1/translate", body=body)
            one.getresponse().read()

    threads = [threading.Thread(target=saturate) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        time.sleep(1)
        quiet = http.client.HTTPConnection("127.0.0.1", port)
        times = []
        until = time.monotonic() + options.seconds * 2
        while time.monotonic() < until:
            started = time.monotonic()
            quiet.request("GET", "/healthz")
            quiet.getresponse().read()
            times.append((time.monotonic() - started) * 1000)
            time.sleep(0.005)
        quiet.request("GET", "/metrics")
        page = quiet.getresponse().read().decode()
    finally:
        over.set()
        for thread in threads:
            thread.join()
        stop(ours)
    number = lambda name: float(re.search(rf"^dragoman_{name} (\S+)$", page, re.M).group(1))
    say("busy-loop-slow-turns", 100 * number("loop_slow_turns_total") / number("loop_turns_total"),
        "% of the loop's turns above 5 ms (aim: below 1)")
    say("busy-loop-longest-turn", 1000 * number("loop_turn_max_seconds"), "ms")
    times.sort()
    say("busy-healthz-p50", times[len(times) // 2], "ms")
    say("busy-healthz-p99", times[len(times) * 99 // 100], "ms (aim 5; includes the kernel's scheduling)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dragomand")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--sockets", type=int, default=10000)
    parser.add_argument("--models-dir")
    options = parser.parse_args()
    options.dragomand = os.path.abspath(options.dragomand)
    load(options)
    idle_sockets(options)
    loop_lag(options)


if __name__ == "__main__":
    main()
