"""What an operator sees: metrics and health over HTTP and as exit codes, and the log's warnings."""
import socket
import unittest

from harness import ARCH, FORMAT, UNAVAILABLE, DaemonTest, configs

KERNEL = ("get", FORMAT, "--arch", ARCH, "--config")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Metrics(DaemonTest):
    def test_prometheus_text_on_the_unix_socket_counts_what_happened(self):
        self.daemon.start()
        for _ in range(2):
            self.json(*KERNEL, configs()[0])
        metrics = self.metrics()
        for name, value in {"kernels_missed_total": 1, "kernels_built_total": 1, "compiles_started_total": 1,
                            "kernels_hit_memory_total": 1, "store_records": 1, "toolchains": 1}.items():
            self.assertEqual(metrics[f"cubind_{name}"], value, name)
        self.assertEqual(set(metrics), set(self.json("stats")))
        self.assertEqual(self.daemon.http("/health"), (200, "ok\n"))
        self.assertEqual(self.daemon.http("/nothing")[0], 404)
        self.assertEqual(self.daemon.stop(), 0)
        self.assertFalse((self.daemon.socket_folder / "metrics.sock").exists())

    def test_a_peer_that_says_nothing_is_in_nobodys_way(self):
        self.daemon.start()
        silent = []
        for _ in range(40):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.addCleanup(peer.close)
            peer.connect(str(self.daemon.socket_folder / "metrics.sock"))
            silent.append(peer)
        self.assertEqual(self.json("health")["state"], "ok")
        for peer in silent:  # those above the bound at once, the others after some seconds
            peer.settimeout(20)
            self.assertEqual(peer.recv(1), b"")
        self.assertEqual(self.daemon.http("/health")[0], 200)


class MetricsElsewhere(DaemonTest):
    port = free_port()
    settings = {"metrics.socket": "off", "metrics.listen": f"127.0.0.1:{port}"}

    def test_on_tcp_if_configured_and_nowhere_else(self):
        self.daemon.start()
        status, body = self.daemon.http("/metrics", address=("127.0.0.1", self.port))
        self.assertEqual(status, 200)
        self.assertIn("\n# TYPE cubind_requests_total counter\n", body)
        self.assertFalse((self.daemon.socket_folder / "metrics.sock").exists())

    def test_a_port_in_use_is_a_warning_and_kernels_are_served(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", self.port))
            other.listen()
            self.daemon.start()
            self.assertEqual(self.json("health")["state"], "ok")
            self.assertIn("metrics_off", self.daemon.log())


class Health(DaemonTest):
    def test_exit_code_and_page_say_that_the_disk_takes_nothing_while_kernels_are_served(self):
        self.daemon.start(["env", "CUBIND_FAULT=store.put.enospc=fail@0", *self.daemon.command()])
        self.ok(self.daemon.ctl("health"))
        self.assertEqual(self.json(*KERNEL, configs()[0])["outcome"], "built")
        done = self.daemon.ctl("health")
        self.assertEqual(done.returncode, UNAVAILABLE)
        self.assertIn("degraded: store: ", done.stderr)
        self.ok(self.daemon.ctl("health", "--alive"))
        status, body = self.daemon.http("/health")
        self.assertEqual((status, body.splitlines()[0]), (503, "degraded"))
        self.assertTrue(body.splitlines()[1].startswith("store: "), body)
        metrics = self.metrics()
        self.assertEqual((metrics["cubind_store_degraded"], metrics["cubind_store_put_failures_total"]), (1, 1))
        self.daemon.stop()
        self.assertEqual(self.daemon.ctl("health", "--alive").returncode, UNAVAILABLE)


class SlowCompiles(DaemonTest):
    def test_are_warned_of_with_the_kernels_readable_name(self):
        self.daemon.start()
        self.daemon.slow_down(2100)
        kernel = self.json(*KERNEL, configs()[0])
        warnings = [line for line in self.daemon.log().splitlines() if " warn compile " in line]
        self.assertEqual(len(warnings), 1, self.daemon.log())
        self.assertIn(f"name={kernel['name']} ", warnings[0])
        self.assertTrue(kernel["name"].startswith("w4a16-bf16-"), kernel["name"])
        self.assertEqual(self.metrics()["cubind_slow_compiles_total"], 1)


if __name__ == "__main__":
    unittest.main()
