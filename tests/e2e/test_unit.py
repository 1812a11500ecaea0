"""The installed units under systemd itself: one of our own, in namespaces of its own, that knows these units only. The daemon
is started by the first connection, compiles and stores as the unit's user under all of the unit's restrictions, comes back
when it is killed, and keeps its store over a restart."""
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from harness import PREFIX, SOURCE, DaemonTest, needs, needs_root

SYSTEMD = "/lib/systemd/systemd"
UID = 990  # of the user cubind, in there
CGROUPS = pathlib.Path("/sys/fs/cgroup")
TARGETS = ("basic", "sysinit", "sockets", "shutdown")  # what units depend on if nothing else is said; empty here

# Folders of the test in the places that the units name. /tmp stays the machine's: PrivateTmp is one of the restrictions.
BOOT = """
for place in run opt var/lib var/tmp; do mount --bind "$1/$place" "/$place"; done
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/group" /etc/group
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=test SYSTEMD_UNIT_PATH="$1/units" SYSTEMD_GENERATOR_PATH=/nonexistent \\
  %s --system --unit=sockets.target --log-target=console --show-status=0
""" % SYSTEMD


def own_cgroup(name):
    """A group for a second systemd and all it starts, as a command that enters it and then becomes its arguments."""
    parents = [CGROUPS] if (CGROUPS / "cgroup.procs").exists() else [CGROUPS / "systemd"]
    groups = [parent / name for parent in parents if (parent / "cgroup.procs").exists()]
    for group in groups:
        group.mkdir()
    enter = "".join(f"echo $$ > {group}/cgroup.procs\n" for group in groups)
    return ["bash", "-ec", f'{enter}exec "$@"', "bash"]


def remove_cgroups(name):
    deadline = time.monotonic() + 10
    while left := [group for top in (CGROUPS / name, *CGROUPS.glob(f"*/{name}")) for group in top.rglob("**")]:
        for group in reversed(left):
            try:
                group.rmdir()
            except OSError:  # it has others in it, or its last process is still on its way
                if time.monotonic() > deadline:
                    raise
        time.sleep(0.05)


@needs_root
@needs("unshare", "--mount", "--pid", "--fork", "true")
@unittest.skipUnless(os.access(SYSTEMD, os.X_OK), "there is no systemd here")
@unittest.skipIf(pathlib.Path("/run/systemd/system").exists(), "a systemd runs here: a second one would share its cgroups")
class UnderSystemd(DaemonTest):
    def setUp(self):
        super().setUp()
        self.folder = self.daemon.folder
        for place in ("run", "opt/cubind/bin", "var/lib/cubind", "var/tmp", "units"):
            (self.folder / place).mkdir(parents=True, exist_ok=True)
        for place in ("var/lib/cubind", "run/cubind"):
            (self.folder / place).mkdir(exist_ok=True)
        for program in ("cubind", "cubind-worker"):
            shutil.copy(PREFIX / "bin" / program, self.folder / "opt/cubind/bin")
        for name, line in (("passwd", f"cubind:x:{UID}:{UID}::/var/lib/cubind:/usr/sbin/nologin\n"), ("group", f"cubind:x:{UID}:\n")):
            (self.folder / name).write_text(pathlib.Path("/etc", name).read_text() + line)
        nvrtc = subprocess.run([SOURCE / "scripts/nvrtc_path.sh"], capture_output=True, text=True, check=True).stdout.strip()
        # As it is installed, but for where the machine has its NVRTC and what file system its /tmp is.
        self.daemon.config = self.folder / "opt/cubind/cubind.toml"
        self.daemon.write_config({"store.allow_any_filesystem": True, "compile.toolchains": [nvrtc], "compile.workers": 2})
        for unit in next(PREFIX.rglob("cubind.service")).parent.glob("cubind*.s*"):
            text = unit.read_text().replace("/usr/local/bin/", "/opt/cubind/bin/").replace("/etc/cubind/", "/opt/cubind/")
            (self.folder / "units" / unit.name).write_text(text)
        for target in TARGETS:
            (self.folder / f"units/{target}.target").write_text("[Unit]\nDefaultDependencies=no\n")
        wanted = self.folder / "units/sockets.target.wants"
        wanted.mkdir()
        for unit in ("cubind.socket", "cubind-metrics.socket"):
            (wanted / unit).symlink_to(f"../{unit}")
        self.daemon.socket_folder = self.folder / "run/cubind"
        self.daemon.socket = self.daemon.socket_folder / "cubind.sock"
        self.boot()

    def boot(self):
        name = f"cubind-test-{os.getpid()}"
        self.addCleanup(remove_cgroups, name)
        with open(self.daemon.log_path, "ab") as log:
            outer = subprocess.Popen([*own_cgroup(name), "unshare", "--fork", "--kill-child", "--pid", "--mount", "--ipc", "--uts",
                                      "--mount-proc", "--propagation", "private", "bash", "-ec", BOOT, "bash", str(self.folder)],
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(lambda: (outer.kill(), outer.wait()))
        self.wait_until(self.daemon.socket.exists)
        children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        self.systemd = int(children[0])

    def systemctl(self, *arguments):
        return subprocess.run(["nsenter", f"--target={self.systemd}", "--mount", "--pid", "systemctl", *arguments],
                              capture_output=True, text=True, timeout=120)

    def show(self, name):
        return self.systemctl("show", "--property", name, "--value", "cubind.service").stdout.strip()

    def main_process(self):
        """Its number out here, by the number that systemd knows it by."""
        inside = self.show("MainPID")
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                text = status.read_text()
            except OSError:
                continue
            numbers = next((line.split()[1:] for line in text.splitlines() if line.startswith("NSpid:")), [])
            if len(numbers) == 2 and numbers[1] == inside and text.startswith("Name:\tcubind\n"):
                return int(status.parent.name)
        raise AssertionError(f"no process {inside} of systemd's: {self.daemon.log()}")

    def test_the_first_connection_starts_it_and_it_compiles_restarts_and_comes_back(self):
        self.assertEqual(self.show("ActiveState"), "inactive")
        self.assertEqual(self.json("health")["state"], "ok")
        first = self.prewarm()
        self.assertEqual((first["failed"], first["built"]), (0, first["total"]))
        process = self.main_process()
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        self.assertIn("Seccomp:\t2", status)
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertIn("CapBnd:\t0000000000000000", status)
        self.assertIn(f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}", status)
        self.assertEqual(self.daemon.http("/health"), (200, "ok\n"))

        self.assertEqual(self.systemctl("restart", "cubind.service").returncode, 0, self.daemon.log())
        again = self.prewarm()
        self.assertEqual((again["built"], again["hits_disk"]), (0, first["total"]))

        os.kill(self.main_process(), signal.SIGKILL)
        self.assertEqual(self.prewarm()["built"], 0)
        self.assertEqual(self.show("NRestarts"), "1")

        self.assertEqual(self.systemctl("stop", "cubind.socket", "cubind-metrics.socket", "cubind.service").returncode, 0)
        self.assertEqual((self.show("ActiveState"), self.show("Result")), ("inactive", "success"))
        self.assertFalse(self.daemon.socket.exists())
        self.assertTrue(self.daemon.socket_folder.exists(), "containers mount it")


if __name__ == "__main__":
    unittest.main()
