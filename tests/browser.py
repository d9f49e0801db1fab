# SPDX-License-Identifier: MIT
"""Chromium without a window, for tests of pages: WebDriver over loopback, with the standard library only.

    with Browser(directory) as browser:
        browser.open("file:///…/page.html")
        browser.click("#button")
        browser.value("return document.title")
"""
import base64
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
        "ArrowDown": "\ue015", "Home": "\ue011", "End": "\ue010"}
# The browser must only read files, and must not ask for updates.
ARGUMENTS = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-default-apps", "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND", "--force-device-scale-factor=1"]


def is_available():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window. Its profile is in `directory`."""

    def __init__(self, directory, size=(1200, 900)):
        self.directory, self.size = directory, size

    def __enter__(self):
        # The driver chooses a free port and prints it.
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       env={**os.environ, "HOME": self.directory, "TMPDIR": self.directory})
        try:
            for line in self.driver.stdout:
                found = re.search(r"started successfully on port (\d+)", line)
                if found:
                    break
            else:
                raise RuntimeError("chromedriver did not start")
            self.base = f"http://127.0.0.1:{found.group(1)}"
            arguments = ARGUMENTS + [f"--user-data-dir={self.directory}/profile", "--window-size=%d,%d" % self.size]
            if os.geteuid() == 0:
                # The browser's sandbox does not work for root.
                arguments.append("--no-sandbox")
            options = {"args": arguments, "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False}}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            self.session = "/session/" + self.request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error):
        try:
            self.request("DELETE", self.session)
        finally:
            self.stop()

    def stop(self):
        self.driver.terminate()
        self.driver.wait(30)
        self.driver.stdout.close()

    def request(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise AssertionError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}") from error

    def post(self, path, **body):
        return self.request("POST", self.session + path, body)

    # ---- pages ----

    def open(self, address):
        self.post("/url", url=address)

    def value(self, script, *args):
        """Runs a script and returns its result."""
        return self.post("/execute/sync", script=script, args=list(args))

    def element(self, selector):
        return self.post("/element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        self.post(f"/element/{self.element(selector)}/click")

    def type(self, selector, text):
        self.post(f"/element/{self.element(selector)}/value", text=text)

    def press(self, *names):
        """Presses and releases keys, for the element that has the focus."""
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.post("/actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def text(self, selector):
        return self.value("return document.querySelector(arguments[0]).textContent", selector)

    # ---- the browser ----

    def cdp(self, command, **parameters):
        """Calls the debugging protocol of Chromium."""
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def resize(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def emulate(self, media="", **features):
        self.cdp("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def screenshot(self, path, clip=None):
        more = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.cdp("Page.captureScreenshot", format="png", **more)["data"]))

    def pdf(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=True)["data"])

    def accessibility(self):
        """The nodes of the accessibility tree: (role, name)."""
        nodes = self.cdp("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def console(self):
        """The messages of the console since the last call."""
        return [entry["level"] + ": " + entry["message"] for entry in self.post("/se/log", type="browser")]

    def addresses(self):
        """The addresses that pages have loaded since the last call, without the browser's own empty page."""
        messages = [json.loads(entry["message"])["message"] for entry in self.post("/se/log", type="performance")]
        urls = [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("chrome:")]
