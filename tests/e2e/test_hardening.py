"""The daemon serves, compiles and stores under what its service unit allows: the unit's own system call filter, a file system
that is read-only but for its folders, no network, no capabilities, another user."""
import os
import pathlib
import platform
import subprocess
import unittest

from harness import NOBODY, PREFIX, DaemonTest, needs, needs_root

UNIT = next(PREFIX.rglob("cubind.service"))
PYTHON = "/usr/bin/python3"  # one that anybody may run
LAUNCHER = pathlib.Path(__file__).with_name("under_seccomp.py")


@needs_root
@unittest.skipUnless(platform.machine() == "x86_64", "the filter is written for x86-64")
@needs("unshare", "--mount", "--net", "true")
@needs("systemd-analyze", "--version")
class UnderTheUnitsRestrictions(DaemonTest):
    settings = {"socket.mode": "0666"}

    def restricted(self, command):
        folders = (self.daemon.folder,)
        for folder in (self.daemon.folder, self.daemon.socket_folder):
            os.chown(folder, NOBODY, NOBODY)
        mounts = "".join(f'mount --bind "{folder}" "{folder}"\n' for folder in folders)
        script = f'{mounts}mount -o remount,bind,ro /\nexec "$@"'
        return ["unshare", "--mount", "--net", "--propagation", "private", "bash", "-ec", script, "bash",
                "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
                PYTHON, str(LAUNCHER), str(UNIT), *command]

    def test_it_compiles_stores_and_serves(self):
        self.daemon.start(self.restricted(self.daemon.command()))
        first = self.prewarm()
        self.assertEqual(first["failed"], 0)
        self.assertGreater(first["built"], 0)
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start(self.restricted(self.daemon.command()))
        again = self.prewarm()
        self.assertEqual((again["built"], again["hits_disk"]), (0, first["built"]))
        self.assertEqual(self.json("health")["state"], "ok")
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        self.assertIn("Seccomp:\t2", status)
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertIn("CapBnd:\t0000000000000000", status)

    def test_the_filter_is_in_force(self):
        for script, what in (("import socket; socket.socket(socket.AF_INET)", "AddressFamily|Address family|not supported"),
                             ("import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)", "not permitted"),
                             ("import os; os.chroot('/')", "not permitted")):
            done = subprocess.run(self.restricted([PYTHON, "-c", script]), capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0, script)
            self.assertRegex(done.stderr, what)


if __name__ == "__main__":
    unittest.main()
