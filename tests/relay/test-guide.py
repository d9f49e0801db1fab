# SPDX-License-Identifier: MIT
"""Runs every command of docs/how-to/network.md, with free ports and without another machine.

usage: test-guide.py GUIDE
"""
from sending import *

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))
from guide import commands, run_command

GUIDE = sys.argv[1]


def script(name, text):
    with open(os.path.join(WORK, name), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(file.name, 0o755)


def listens(port):
    """Checks without connecting, because a receiver accepts only one connection."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        lines = [line.split() for line in file][1:]
    return any(int(line[1].split(":")[1], 16) == port and line[3] == "0A" for line in lines)


class Guide(unittest.TestCase):
    def test_commands(self):
        with open(GUIDE, encoding="utf-8") as file:
            found = commands(file.read())
        self.assertGreater(len(found), 7)
        port, control, data, live = ports(4)
        os.mkdir(os.path.join(WORK, "bin"))
        os.symlink(SIDE, os.path.join(WORK, "bin", "side"))
        script("server", f"exec {TALKER} 100")
        script("bin/ssh", "shift; exec \"$@\"")
        env = dict(ENVIRONMENT, PATH=os.path.join(WORK, "bin") + os.pathsep + os.environ["PATH"], HOME=WORK)
        here = {":4000": f":{port}", "collector:": "127.0.0.1:", "net://localhost": f"net://localhost:{control}:{data}",
                "0.0.0.0": "127.0.0.1"}
        background = []

        def adapt(text):
            for name, value in here.items():
                text = text.replace(name, value)
            return text

        for command, wanted in found:
            if "lttng-relayd" in command:
                self.relay(env, control, data, live)
            elif "net:" in command and not shutil.which("lttng-relayd"):
                continue
            elif command.endswith(" &"):
                background.append(start("bash", "-c", "exec " + adapt(command[:-2]), env=env, cwd=WORK))
                wait_until(lambda: listens(port), "a listener")
            else:
                if "side view" in command:
                    for each in background:
                        finish(each)
                run_command(adapt(command), [adapt(line) for line in wanted], WORK, env)

    def tearDown(self):
        """The guide has started a daemon."""
        daemon = side("daemon", "--no-daemon", "--json", check=False)
        if not daemon.returncode:
            os.kill(json.loads(daemon.stdout)["pid"], signal.SIGTERM)

    def relay(self, env, control, data, live):
        if shutil.which("lttng-relayd"):
            address = "tcp://127.0.0.1:"
            start("lttng-relayd", "-C", f"{address}{control}", "-D", f"{address}{data}", "-L", f"{address}{live}", "-o",
                  os.path.join(WORK, "relayed"), env=dict(env, LTTNG_HOME=WORK, LTTNG_RUNDIR=WORK),
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


unittest.main(argv=sys.argv[:1], verbosity=2)
