# SPDX-License-Identifier: ISC
"""A browser for tests: Debian's chromium, driven through its chromedriver by the WebDriver
protocol.

    if not browser.is_installed(): the test is skipped
    with browser.Browser() as page:
        page.be(width=390, height=844, dark=True, language="ko")
        page.open("http://127.0.0.1:8090/")
        page.wait_for("return document.querySelectorAll('.sentence').length > 0", "a sentence")
        page.type("#source", "Bonjour")
        print(page.run("return document.title"), page.complaints())

Standard library only. It never talks to another machine.
"""
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import time

from harness import PATIENCE_S, free_ports

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key under which the protocol names an element


def is_installed():
    return bool(shutil.which("chromedriver") and (shutil.which("chromium") or shutil.which("google-chrome")))


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="dragoman-browser-")
        self.start_driver()
        self.session = None
        self.capabilities = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {
                "binary": shutil.which("chromium") or shutil.which("google-chrome"),
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
                         "--no-first-run", "--disable-background-networking", "--disable-component-update",
                         "--disable-sync", f"--user-data-dir={self.profile}/data"],
                # The browser's offer to save a password would take the focus.
                "prefs": {"credentials_enable_service": False, "profile.password_manager_enabled": False},
            },
        }

    def start_driver(self):
        self.port, = free_ports(1)
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--allowed-ips=127.0.0.1"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "HOME": self.profile})

    def __enter__(self):
        try:
            deadline = time.monotonic() + PATIENCE_S
            while self.session is None:
                try:
                    made = self.command("POST", "/session", {"capabilities": {"alwaysMatch": self.capabilities}})
                    self.session = f"/session/{made['sessionId']}"
                except ConnectionError:
                    if time.monotonic() > deadline:
                        raise
                    if self.driver.poll() is not None:  # another program took its port
                        self.start_driver()
                    time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.command("DELETE", self.session)
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait(timeout=PATIENCE_S)
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- The protocol ----------------------------------------------------------------------------------------

    def command(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body=json.dumps(body or {}) if method == "POST" else None,
                               headers={"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{value['error']}: {value['message'].splitlines()[0]}")
        return value

    def devtools(self, name, **params):
        return self.command("POST", f"{self.session}/goog/cdp/execute", {"cmd": name, "params": params})

    # ---- What tests say --------------------------------------------------------------------------------------

    def be(self, width=1440, height=900, dark=False, language="en-US"):
        """The screen and the reader's wishes, for the pages opened from now on."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.devtools("Network.setUserAgentOverride", userAgent="test", acceptLanguage=language)

    def open(self, url):
        self.command("POST", f"{self.session}/url", {"url": url})

    def run(self, script, *args):
        """Runs a function body in the page; returns what it returns, or the value of a promise."""
        return self.command("POST", f"{self.session}/execute/sync", {"script": script, "args": list(args)})

    def wait_for(self, script, what):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            value = self.run(script)
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {PATIENCE_S} s for {what}")
            time.sleep(0.02)

    def find(self, selector):
        found = self.command("POST", f"{self.session}/element", {"using": "css selector", "value": selector})
        return found[ELEMENT]

    def click(self, selector):
        self.command("POST", f"{self.session}/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.command("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})

    def point_at(self, selector):
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": {ELEMENT: self.find(selector)}}
        self.command("POST", f"{self.session}/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}]})

    def press(self, *keys):
        """Presses keys, given by the protocol's codes; Tab is \\ue004."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.command("POST", f"{self.session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def picture(self):
        """The screen as base64 of a PNG."""
        return self.command("GET", f"{self.session}/screenshot")

    def complaints(self):
        """The messages in the browser's console."""
        return [entry["message"] for entry in self.command("POST", f"{self.session}/se/log", {"type": "browser"})]
