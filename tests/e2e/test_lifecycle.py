"""Start, stop and start again: own socket, systemd's socket and watchdog, SIGTERM with requests in flight, kill -9."""
import signal
import socket
import subprocess
import time
import unittest

from harness import ARCH, FORMAT, MAX_M, MODEL, DaemonTest, configs, needs, needs_fault_points

WORKERS = 2


def start_activated(daemon):
    """As systemd does: the socket exists first, the daemon gets it as descriptor 3 and the process id it must be."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(daemon.socket))
        listener.listen(64)
        script = 'exec 3<&"$1"; shift; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
        daemon.start(["bash", "-c", script, "bash", str(listener.fileno()), *daemon.command()],
                     pass_fds=[listener.fileno()])


class Lifecycle(DaemonTest):
    def test_a_restarted_daemon_has_everything(self):
        self.daemon.start()
        kernels = self.prewarm()["total"]
        self.assertEqual(self.daemon.stop(), 0)
        self.assertFalse(self.daemon.socket.exists())
        self.daemon.start()
        again = self.prewarm()
        self.assertEqual((again["total"], again["built"], again["hits_disk"]), (kernels, 0, kernels))
        self.assertEqual(self.daemon.compiles(), kernels)

    def test_what_was_answered_survives_kill_9(self):
        self.daemon.start()
        kernels = self.prewarm()["total"]
        self.daemon.stop(signal.SIGKILL)
        self.assertTrue(self.daemon.socket.exists())  # a stale one is no obstacle
        self.daemon.start()
        self.assertEqual(self.prewarm()["built"], 0)
        self.assertEqual(self.daemon.compiles(), kernels)

    def test_a_second_daemon_does_not_take_the_socket(self):
        self.daemon.start()
        first = self.daemon.process
        self.daemon.process = None
        try:
            with self.assertRaisesRegex(AssertionError, "ended with 1"):
                self.daemon.start()
        finally:
            self.daemon.process = first
        self.ok(self.daemon.ctl("health"))

    def test_sigterm_under_load_answers_what_runs_and_the_rest_is_asked_again(self):
        kernels = len(configs())
        self.daemon.start()
        clients = [self.daemon.ctl_start("prewarm", MODEL, "--arch", ARCH, "--max-m", MAX_M, "--priority", "foreground")
                   for _ in range(4)]
        self.wait_until(lambda: self.daemon.compiles() >= 1)
        started = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertLess(time.monotonic() - started, 25)  # shutdown_grace is 20 s
        self.daemon.start()
        for client in clients:
            self.assertEqual(client.wait(200), 0, self.daemon.log())
        # What was running is answered and stored; at most what was just starting is compiled twice.
        self.assertLessEqual(self.daemon.compiles(), kernels + WORKERS)
        self.assertEqual(self.prewarm()["built"], 0)

    @needs_fault_points
    def test_a_second_sigterm_ends_it_at_once(self):
        first, second = configs()[:2]
        kernel = ["get", FORMAT, "--arch", ARCH, "--config"]
        self.daemon.start()
        key = self.json(*kernel, first)["key"]
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start(CUBIND_FAULT="worker.before_compile=sleep:60000")
        self.daemon.ctl_start(*kernel, second)
        self.wait_until(lambda: self.json("stats")["cubind_compiles_running"] == 1)
        self.daemon.process.send_signal(signal.SIGTERM)
        self.wait_until(lambda: "stopping" in self.daemon.log())
        with self.assertRaises(subprocess.TimeoutExpired):
            self.daemon.process.wait(1)  # it waits for the compile
        started = time.monotonic()
        self.assertEqual(self.daemon.stop(signal.SIGTERM), 1)
        self.assertLess(time.monotonic() - started, 10)  # shutdown_grace is 20 s
        self.assertIn("a second signal", self.daemon.log())
        self.daemon.start()
        self.assertEqual(self.json("get", "--key", key)["outcome"], "hit_disk")

    def test_systemd_hears_ready_then_the_watchdogs_pings_then_stopping(self):
        name = str(self.daemon.folder / "notify.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(name)
            notify.settimeout(30)
            heard = []

            def hear(wanted):
                while wanted not in heard:
                    heard.extend(line.split("=")[0] for line in notify.recv(4096).decode().split("\n"))

            self.daemon.launch(NOTIFY_SOCKET=name, WATCHDOG_USEC="200000")
            hear("READY")
            for _ in range(5):
                heard.clear()
                hear("WATCHDOG")
            # One that is stopped does not ping, or systemd could not tell.
            self.daemon.process.send_signal(signal.SIGSTOP)
            notify.settimeout(0.5)
            with self.assertRaises(socket.timeout):
                while True:  # what was sent before
                    notify.recv(4096)
            self.daemon.process.send_signal(signal.SIGCONT)
            notify.settimeout(30)
            heard.clear()
            hear("WATCHDOG")
            self.daemon.process.send_signal(signal.SIGTERM)
            hear("STOPPING")
            self.assertEqual(self.daemon.process.wait(30), 0)
            self.daemon.process = None

    def test_systemds_socket_is_served_and_left_alone(self):
        start_activated(self.daemon)
        self.assertEqual(self.json("health")["pid"], self.daemon.process.pid)
        self.assertEqual(self.daemon.stop(), 0)
        self.assertTrue(self.daemon.socket.exists())

    @needs("systemd-socket-activate", "--version")
    def test_the_first_connection_starts_it(self):
        self.daemon.launch(["systemd-socket-activate", f"--listen={self.daemon.socket}", *self.daemon.command()])
        self.wait_until(self.daemon.socket.exists)
        self.assertEqual(self.json("health")["state"], "ok")
        self.assertEqual(self.prewarm()["failed"], 0)
        self.assertEqual(self.daemon.stop(), 0)

    def test_a_wrong_config_is_one_line_and_nothing_is_made(self):
        self.daemon.write_config({"socket.path": str(self.daemon.socket), "store.disk_limits": "1GiB"})
        self.daemon.launch()
        self.assertEqual(self.daemon.process.wait(30), 2)
        self.daemon.process = None
        self.assertIn("disk_limits", self.daemon.log())
        self.assertEqual(self.daemon.log().count("\n"), 1)
        self.assertFalse(self.daemon.socket.exists())
        self.assertFalse((self.daemon.folder / "store").exists())

if __name__ == "__main__":
    unittest.main()
