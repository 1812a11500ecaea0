"""What a container sees: the folder of the socket is mounted somewhere else, in a mount namespace of its own. The folder
and not the socket file, because that one is another after the daemon restarts."""
import subprocess
import unittest

from harness import ARCH, CUBINCTL, FORMAT, DaemonTest, configs, needs, needs_root


@needs_root
@needs("unshare", "--mount", "true")
class Containers(DaemonTest):
    def setUp(self):
        super().setUp()
        self.inside = self.daemon.folder / "inside"
        self.inside.mkdir()
        self.daemon.start()

    def container(self, source, target, script):
        """Runs a script where `source` is also at `target`; $1 is cubinctl."""
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-ec",
             f'mount --bind "{source}" "{target}"\n{script}', "bash", str(CUBINCTL)],
            capture_output=True, text=True, timeout=300)

    def test_the_mounted_folder_leads_to_the_daemon(self):
        socket = self.inside / "cubind.sock"
        done = self.container(self.daemon.socket_folder, self.inside,
                              f'"$1" get {FORMAT} --arch {ARCH} --config {configs()[0]} --socket {socket} >/dev/null\n'
                              f'"$1" health --socket {socket} --json')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(socket.exists())  # only in there
        self.assertEqual(self.daemon.compiles(), 1)
        self.assertEqual(len(self.json("ls")), 1)

    def test_the_mounted_folder_stays_good_when_the_daemon_restarts(self):
        # The container waits for a line on a pipe while the daemon is restarted outside.
        socket = self.inside / "cubind.sock"
        running = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-ec",
             f'mount --bind "{self.daemon.socket_folder}" "{self.inside}"\n'
             f'"$1" health --socket {socket} >/dev/null; echo before; read line; "$1" health --socket {socket} >/dev/null\n'
             'echo after', "bash", str(CUBINCTL)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(running.stdout.readline(), "before\n")
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        out, errors = running.communicate("go on\n", timeout=60)
        self.assertEqual(out, "after\n", errors)

    def test_a_network_namespace_makes_no_difference(self):
        self.ok(self.daemon.ctl("health", through=["unshare", "--net"]))


if __name__ == "__main__":
    unittest.main()
