"""What the end-to-end tests share: the installed programs, a daemon of their own in a new folder, and how to run cubinctl
as somebody else would. Standard library only.

CUBIND_E2E_PREFIX is where cubind is installed (cmake --install), CUBIND_E2E_COUNTER the library that counts compiles
(tests/support/nvrtc_counter), CUBIND_E2E_SOURCE the source tree, CUBIND_E2E_FAULT_POINTS is 1 if the build has them.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

PREFIX = pathlib.Path(os.environ["CUBIND_E2E_PREFIX"])
SOURCE = pathlib.Path(os.environ["CUBIND_E2E_SOURCE"])
CUBIND = PREFIX / "bin/cubind"
CUBINCTL = PREFIX / "bin/cubinctl"
MODEL = SOURCE / "examples/llama-3.1-8b-awq.json"
FORMAT = "w4a16-bf16-g128-zp"  # the model's
ARCH = "sm_90"
MAX_M = "16"  # few enough kernels for a test, more than one
NOBODY = 65534

# ErrorCode, as in `cubinctl --help`.
OK, INVALID, UNSUPPORTED, NOT_FOUND, CORRUPTION, UNAVAILABLE, DENIED, PENDING = 0, 1, 2, 3, 4, 9, 10, 12


class Daemon:
    """One cubind with a socket and a store of its own. `settings` are config keys, such as {"socket.mode": "0666"}."""

    def __init__(self, settings=None):
        # Others than root must reach the socket: the folder is open, what is in it has its own rights.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cubind-e2e-"))
        self.folder.chmod(0o755)
        self.socket_folder = self.folder / "run"
        self.socket_folder.mkdir()
        self.socket = self.socket_folder / "cubind.sock"
        self.counter = self.folder / "libcubind_nvrtc_counter.so"
        shutil.copy(os.environ["CUBIND_E2E_COUNTER"], self.counter)
        self.config = self.folder / "cubind.toml"
        self.log_path = self.folder / "log"
        self.process = None
        self.clients = []
        self.settings = {
            "socket.path": str(self.socket),
            "store.root": str(self.folder / "store"),
            "store.allow_any_filesystem": True,
            "compile.workers": 2,
            "compile.toolchains": [str(self.counter)],
        }
        self.settings_changed(settings or {})

    def settings_changed(self, settings):
        """Writes the config with these as well; a running daemon notices at a reload."""
        self.settings.update(settings)
        self.write_config(self.settings)

    def write_config(self, settings):
        sections = {}
        for key, value in settings.items():
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(f"{name} = {json.dumps(value)}")
        # Keys without a section must come first.
        self.config.write_text("".join((f"[{section}]\n" if section else "") + "\n".join(lines) + "\n"
                                       for section, lines in sorted(sections.items())))

    def command(self):
        return [str(CUBIND), "--config", str(self.config)]

    def start(self, command=None, pass_fds=(), **environment):
        """Starts it as systemd would (Type=notify) and waits until it says that it is ready."""
        name = str(self.folder / "notify.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(name)
            os.chmod(name, 0o666)  # the daemon may be somebody else
            notify.settimeout(0.25)
            try:
                self.launch(command, pass_fds, NOTIFY_SOCKET=name, **environment)
                deadline = time.monotonic() + 60
                while True:
                    try:
                        if b"READY=1" in notify.recv(4096).split(b"\n"):
                            return self
                    except socket.timeout:
                        if self.process.poll() is not None:
                            raise AssertionError(f"cubind ended with {self.process.returncode}: {self.log()}") from None
                        if time.monotonic() > deadline:
                            raise AssertionError(f"cubind is not ready after 60 s: {self.log()}") from None
            finally:
                os.unlink(name)

    def launch(self, command=None, pass_fds=(), **environment):
        assert self.process is None
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command or self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={"PATH": os.environ["PATH"], **environment}, pass_fds=pass_fds)
        return self

    def stop(self, number=signal.SIGTERM):
        """Ends it and returns its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process = None
        return code

    def remove(self):
        for process in [self.process, *self.clients]:
            if process is not None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def compiles(self):
        """How many compiles NVRTC has done for this daemon, warm-ups apart."""
        count = pathlib.Path(f"{self.counter}.count")
        return count.stat().st_size if count.exists() else 0

    def slow_down(self, milliseconds):
        """Every compile that starts from now on takes that much longer."""
        pathlib.Path(f"{self.counter}.delay_ms").write_text(f"{milliseconds}\n")

    def http(self, path, address=None, method="GET"):
        """Status and body of what the metrics socket answers."""
        family = socket.AF_INET if address else socket.AF_UNIX
        with socket.socket(family, socket.SOCK_STREAM) as peer:
            peer.settimeout(30)
            peer.connect(address or str(self.socket_folder / "metrics.sock"))
            peer.sendall(f"{method} {path} HTTP/1.1\r\nHost: cubind\r\n\r\n".encode())
            answer = b"".join(iter(lambda: peer.recv(65536), b"")).decode()
        head, _, body = answer.partition("\r\n\r\n")
        return int(head.split()[1]), body

    def ctl(self, *arguments, through=(), path=None):
        """cubinctl with these arguments; `through` is a command that runs it, such as setpriv."""
        return subprocess.run([*map(str, through), str(CUBINCTL), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300,
                              env={"PATH": os.environ["PATH"], "CUBIND_SOCKET": str(path or self.socket)})

    def ctl_start(self, *arguments):
        """The same, not waited for: what it prints is in `log`."""
        with open(self.log_path, "ab") as log:
            client = subprocess.Popen([str(CUBINCTL), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env={"PATH": os.environ["PATH"], "CUBIND_SOCKET": str(self.socket)})
        self.clients.append(client)
        return client


class DaemonTest(unittest.TestCase):
    """Has a daemon, not started yet, that is gone after the test."""

    settings = {}

    def setUp(self):
        self.daemon = Daemon(self.settings)
        self.addCleanup(self.daemon.remove)

    def ok(self, done):
        self.assertEqual(done.returncode, OK, f"{done.args}: {done.stderr}\n{self.daemon.log()}")
        return done

    def json(self, *arguments, **how):
        return json.loads(self.ok(self.daemon.ctl(*arguments, "--json", **how)).stdout)

    def fails(self, code, *arguments, **how):
        """It ends with this code, one line that says why, and nothing on standard output."""
        done = self.daemon.ctl(*arguments, **how)
        self.assertEqual(done.returncode, code, f"{done.args}: {done.stderr}\n{self.daemon.log()}")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def metrics(self):
        status, body = self.daemon.http("/metrics")
        self.assertEqual(status, 200)
        return {name: float(value) for name, value in
                (line.split() for line in body.splitlines() if not line.startswith("#"))}

    def wait_until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, self.daemon.log())
            if self.daemon.process is not None:
                self.assertIsNone(self.daemon.process.poll(), self.daemon.log())
            time.sleep(0.02)

    def prewarm(self, *more, **how):
        return self.json("prewarm", MODEL, "--arch", ARCH, "--max-m", MAX_M, *more, **how)["archs"][0]


def configs(format=FORMAT, arch=ARCH, max_m=MAX_M):
    """Names of the kernels that a prewarm of this format makes, by the planner that cubinctl links."""
    done = subprocess.run([str(CUBINCTL), "can", format, "--arch", arch, "--max-m", max_m, "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["kernels"]


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")(test)


def needs_fault_points(test):
    return unittest.skipUnless(os.environ.get("CUBIND_E2E_FAULT_POINTS") == "1", "a build without fault points")(test)


def needs(*command):
    """Skips with the reason if this machine does not let the command run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        reason = "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
    except OSError as error:
        reason = str(error)
    return unittest.skipIf(reason, f"{' '.join(command)}: {reason}")
