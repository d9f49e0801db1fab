#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The site: each page of the repository is in it and in its navigation, each link and anchor has a
target, the reference has each verb and each function, the search finds words, and in Chromium no
page has an error. Without Chromium, that part is left out with a note.

usage: test-site.py SOURCE GENERATE VERSION WORK-DIRECTORY
"""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

source, generate, version, work = (os.path.abspath(argument) if "/" in argument else argument for argument in sys.argv[1:5])
SITE = os.path.join(work, "html")
# word, a page that must be among the results
SEARCHES = [("breakpoint", "reference/probes"), ("rotate", "how-to/rotation"), ("procname", "reference/contexts"), ("variadic", "spec/types"),
            ("relayd", "how-to/network"), ("side_builder_create", "reference/headers/builder")]
failures = []


class Page(html.parser.HTMLParser):
    """The links, the anchors and the navigation of one page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.assets, self.navigation, self.text, self.modules = [], set(), [], set(), [], []
        self.sidebar = 0
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(found["id"])
        if "sidebar-tree" in (found.get("class") or "").split():
            self.sidebar = 1
        elif self.sidebar and tag == "div":
            self.sidebar += 1
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
            if self.sidebar:
                self.navigation.add(found["href"])
        if tag in ("script", "img") and found.get("src") or tag == "link" and found.get("href"):
            self.assets.append(found.get("src") or found["href"])
        if tag == "script" and found.get("type") == "module":
            self.modules.append(found.get("src"))

    def handle_endtag(self, tag):
        if self.sidebar and tag == "div":
            self.sidebar -= 1

    def handle_data(self, data):
        self.text.append(data)


def make():
    done = subprocess.run([sys.executable, os.path.join(source, "docs/site/make_site.py"), source, generate, version, work],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"the site was not built:\n{done.stdout}")
    failures.extend(line for line in done.stdout.splitlines() if "WARNING" in line or "ERROR" in line)


def where(page, target):
    """Returns (file, anchor) of a link of a page; None for other sites."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    path = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(parts.path))) if parts.path else page
    return path, urllib.parse.unquote(parts.fragment)


def check_links(pages):
    count = 0
    for name, page in pages.items():
        failures.extend(f"{name} loads {module} as a module, which browsers refuse in files" for module in page.modules)
        for target in page.links + page.assets:
            to = where(name, target)
            if to is None:
                if target in page.assets:
                    failures.append(f"{name}: {target} is loaded from another site")
                continue
            count += 1
            path, anchor = to
            if not os.path.isfile(os.path.join(SITE, path)):
                failures.append(f"{name}: the link {target} is dead")
            elif anchor and path in pages and anchor not in pages[path].anchors:
                failures.append(f"{name}: {target}: no such anchor")
    return count


def check_assets():
    """Scripts and styles need no server, no bundler and no file outside the site."""
    for path in glob.glob(SITE + "/_static/**/*", recursive=True):
        if path.endswith((".js", ".css")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            name = os.path.relpath(path, SITE)
            if path.endswith(".js") and re.search(r"^(import|export) ", text, re.M):
                failures.append(f"{name} is a module, which browsers do not load from files")
            failures.extend(f"{name} refers to {address}" for address in re.findall(r"url\(['\"]?((?:/|https?:)[^)]*)\)", text))


def check_pages(pages):
    """Each page of the repository, and of the option table, is in the navigation of the first page."""
    reached = {where("index.html", target)[0] for target in pages["index.html"].navigation if where("index.html", target)}
    own = {"index.html", "search.html", "genindex.html"}
    failures.extend(f"{name} is not in the navigation" for name in sorted(set(pages) - reached - own))
    for path in glob.glob(source + "/docs/**/*.md", recursive=True):
        name = os.path.relpath(path, source + "/docs")[:-3] + ".html"
        name = re.sub(r"README\.html$", "index.html", name)
        if name not in pages:
            failures.append(f"{os.path.relpath(path, source)} has no page in the site")
    for path in glob.glob(source + "/docs/man/*.[37]"):
        name = "reference/manual/" + re.sub(r"\.(\d)$", r"-\1.html", os.path.basename(path))
        if name not in pages:
            failures.append(f"{os.path.basename(path)} has no page in the site")
    with open(os.path.join(source, "src/libside/libside.map"), encoding="utf-8") as text:
        exported = set(re.findall(r"^\t(side_\w+);", text.read(), re.M))
    named = set(re.findall(r"side_\w+", "".join("".join(page.text) for name, page in pages.items()
                                               if name.startswith(("reference/headers", "spec")))))
    failures.extend(f"{name} is in no page of the reference" for name in sorted(exported - named))


def check_options(pages):
    """Each option that `side` knows is in the page of its verb."""
    names = os.path.join(work, "names")
    subprocess.run([generate, "reference", names], check=True)
    with open(names, encoding="utf-8") as file:
        listed = file.read().split()
    for name in listed:
        page = pages.get(f"reference/commands/{name}.html")
        manual = os.path.join(work, "manual")
        if page is None:
            failures.append(f"the reference has no page {name}")
        elif not name.startswith("topic-") and name not in ("side", "help"):
            subprocess.run([generate, "side-" + name, manual], check=True)
            with open(manual, encoding="utf-8") as file:
                options = re.findall(r"^\.It .*Fl -([a-z-]+)", file.read().split("Every verb has these options")[0], re.M)
            text = "".join(page.text)
            failures.extend(f"reference/commands/{name} has no --{option}" for option in options if f"--{option}" not in text)
    if len(listed) < 45:
        failures.append(f"the reference has only {len(listed)} pages of commands")


def check_index():
    """The words are in the index of the search, with the page that describes them."""
    with open(os.path.join(SITE, "searchindex.js"), encoding="utf-8") as file:
        index = json.loads(re.match(r"Search.setIndex\((.*)\)\s*$", file.read(), re.S).group(1))
    for word, page in SEARCHES:
        number = index["docnames"].index(page) if page in index["docnames"] else None
        found = [place for terms in ("terms", "titleterms") for term, place in index[terms].items()
                 if term == word or word.startswith(term) and len(term) > 4]
        if not any(number == place or isinstance(place, list) and number in place for place in found):
            failures.append(f"the search's index has no {word} in {page}")


class Browser:
    """Chromium without a window, controlled through its pipe (DevTools protocol)."""

    def __init__(self, program):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def pipes():
            reading, writing = os.dup(to_read), os.dup(to_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--user-data-dir=" + os.path.join(work, "profile"), "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.left, self.number, self.session, self.events = b"", 0, None, []
        target = next(info for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.left:
            more = os.read(self.read, 1 << 16)
            if not more:
                raise EOFError("Chromium has ended")
            self.left += more
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, address):
        """Loads a page; returns its errors."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        wrong = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                wrong.append("exception: " + parameters["exceptionDetails"].get("text", ""))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                wrong.append("console: " + str(parameters["args"][0].get("value")))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                wrong.append("log: " + parameters["entry"]["text"])
            elif method == "Network.loadingFailed" and not parameters.get("canceled"):
                wrong.append("not loaded: " + parameters.get("errorText", ""))
        return wrong

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)["result"].get("value")

    def end(self):
        os.write(self.write, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        self.process.wait(timeout=60)


# Resolved when the search has ended: then its status has a number.
RESULTS = """new Promise(done => { const look = () => { const links = [...document.querySelectorAll('#search-results li a')].map(a => a.href);
  const ended = /found|did not match/i.test((document.querySelector('#search-results p.search-summary') || {}).innerText || '');
  (ended || look.count++ > 600) ? done(links) : setTimeout(look, 50) }; look.count = 0; look() })"""


def check_browser(program, pages):
    browser = Browser(program)
    # On a phone only code and tables may be wider than the window, and these scroll on their own.
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    for name in sorted(pages):
        failures.extend(f"{name} in Chromium: {what}" for what in browser.open(f"file://{SITE}/{name}"))
        wide = browser.evaluate("document.documentElement.scrollWidth")
        if wide > 390:
            failures.append(f"{name} is {wide} pixels wide on a phone of 390")
    for word, page in SEARCHES:
        failures.extend(browser.open(f"file://{SITE}/search.html?q={word}"))
        found = browser.evaluate(RESULTS)
        if not any(f"/{page}.html" in link for link in found or ()):
            failures.append(f"a search for {word} in Chromium finds {len(found or ())} pages, and {page} is not one")
    browser.end()


def main():
    make()
    names = [os.path.relpath(path, SITE) for path in glob.glob(SITE + "/**/*.html", recursive=True)]
    pages = {name: Page(os.path.join(SITE, name)) for name in names if not name.startswith("_static")}
    count = check_links(pages)
    check_assets()
    check_pages(pages)
    check_options(pages)
    check_index()
    program = shutil.which("chromium")
    if program:
        check_browser(program, pages)
    print("\n".join(failures))
    print(f"{len(pages)} pages, {count} links" + ("" if program else "; no Chromium (package chromium), so no page was opened in it"))
    sys.exit(1 if failures or count < 1000 else 0)


main()
