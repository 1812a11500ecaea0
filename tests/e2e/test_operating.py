"""What an operator sees: metrics and health over HTTP and as exit codes, and the log's warnings."""
import signal
import socket
import subprocess
import unittest

from harness import (ARCH, CORRUPTION, DENIED, FORMAT, INVALID, NOBODY, NOT_FOUND, UNAVAILABLE, Daemon, DaemonTest, configs,
                     needs_fault_points, needs_root)

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
    @needs_fault_points
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


class Ready(DaemonTest):
    def test_a_compile_after_ready_is_an_alarm_and_prewarming_is_not(self):
        names = configs()
        self.daemon.start()
        self.json(*KERNEL, names[0])
        self.json("ready")
        self.json(*KERNEL, names[0])
        self.assertEqual(self.metrics()["cubind_compiles_after_ready_total"], 0)
        late = self.json(*KERNEL, names[1])
        self.assertEqual(self.metrics()["cubind_compiles_after_ready_total"], 1)
        alarms = [line for line in self.daemon.log().splitlines() if " warn compile_after_ready " in line]
        self.assertEqual(len(alarms), 1)
        self.assertIn(f" name={late['name']} ", alarms[0])
        self.assertGreater(self.prewarm()["built"], 0)
        self.assertEqual(self.metrics()["cubind_compiles_after_ready_total"], 1)
        self.json("ready", "--off")
        self.json("purge", "--all")
        self.json(*KERNEL, names[1])
        self.assertEqual(self.metrics()["cubind_compiles_after_ready_total"], 1)


class Looking(DaemonTest):
    def test_explain_nearest_names_the_field_that_differs(self):
        names = configs()
        self.daemon.start()
        explain = ("explain", FORMAT, "--arch", ARCH, "--nearest", "--config")
        self.fails(NOT_FOUND, *explain, names[0])
        stored = self.json(*KERNEL, names[0])
        same = self.json(*explain, names[0])
        self.assertEqual((same["nearest"], same["differences"]), (stored["key"], []))
        near = self.json(*explain, names[1])
        self.assertEqual((near["nearest"], near["name"]), (stored["key"], stored["name"]))
        differing = {one["name"]: one for one in near["differences"]}
        self.assertNotEqual(differing["config"]["asked"], differing["config"]["stored"])
        self.assertNotIn("arch", differing)
        self.assertIn("config", self.ok(self.daemon.ctl(*explain, names[1])).stdout)
        self.assertEqual(self.daemon.log().count(" info asked kind=nearest "), 4)  # one line for each request

    def test_top_prints_one_view_without_a_terminal_and_rates_from_the_second_on(self):
        self.daemon.start()
        self.json(*KERNEL, configs()[0])
        once = self.ok(self.daemon.ctl("top")).stdout
        self.assertIn("compiles after ready", once)
        self.assertNotIn("\x1b", once)
        self.assertRegex(once, r"misses +- +1\n")
        twice = self.ok(self.daemon.ctl("top", "--interval", "1", "--count", "2")).stdout
        self.assertRegex(twice, r"misses +0\.0 +1\n")


class Traces(DaemonTest):
    def test_a_trace_prewarmed_elsewhere_leaves_no_miss(self):
        def traffic():
            self.prewarm()
            self.json(*KERNEL, configs(max_m="64")[-1])

        self.daemon.start()
        traffic()
        trace = self.daemon.folder / "trace"
        self.assertGreater(self.json("trace", "-o", trace)["entries"], 1)
        self.assertEqual(self.ok(self.daemon.ctl("trace")).stdout, trace.read_text())
        kernels = self.daemon.compiles()

        first, self.daemon = self.daemon, Daemon()
        self.addCleanup(self.daemon.remove)
        self.daemon.start()
        replayed = self.json("prewarm", "--from-trace", trace)["archs"]
        self.assertEqual(sum(one["built"] for one in replayed), kernels)
        self.assertEqual(sum(one["failed"] + one["pending"] for one in replayed), 0)
        missed = self.metrics()["cubind_kernels_missed_total"]
        traffic()
        self.assertEqual(self.metrics()["cubind_kernels_missed_total"], missed)
        self.assertEqual(self.daemon.compiles(), kernels)
        again = self.json("prewarm", "--from-trace", trace)["archs"]
        self.assertEqual(sum(one["built"] + one["joined"] for one in again), 0)
        self.assertEqual(first.stop(), 0)


class BundleTest(DaemonTest):
    def exported(self, *more):
        """A bundle of a prewarmed daemon, which is stopped then; the test goes on with an empty one."""
        bundle = self.daemon.folder / "kernels.cubundle"
        self.daemon.start()
        kernels = {kernel["key"] for kernel in self.prewarm()["kernels"]}
        self.json("export", "-o", bundle, *more)
        self.assertEqual(self.daemon.stop(), 0)
        return bundle, kernels

    def next_daemon(self, settings=None):
        self.daemon = Daemon(settings)
        self.addCleanup(self.daemon.remove)
        self.daemon.start()

    def new_key(self, name):
        private, public = self.daemon.folder / f"{name}.pem", self.daemon.folder / f"{name}.pub"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
        return private, public


class BaseLayer(BundleTest):
    def test_baked_kernels_are_served_without_a_compile_and_stay_where_they_are(self):
        self.daemon.start()
        baked = {kernel["key"] for kernel in self.prewarm()["kernels"]}
        self.assertEqual(self.daemon.stop(), 0)
        base = self.daemon.folder / "store"
        contents = {path: path.stat().st_mtime_ns for path in base.rglob("*")}

        first, self.daemon = self.daemon, Daemon({"store.base": str(base)})
        self.addCleanup(self.daemon.remove)
        self.daemon.start()
        served = self.prewarm()
        self.assertEqual((served["built"], served["hits_disk"]), (0, len(baked)))
        self.assertEqual({kernel["key"] for kernel in served["kernels"]}, baked)
        self.assertEqual(self.daemon.compiles(), 0)
        metrics = self.metrics()
        self.assertEqual((metrics["cubind_base_records"], metrics["cubind_base_hits_total"]), (len(baked), len(baked)))
        self.assertEqual(metrics["cubind_store_records"], 0)  # nothing is copied
        self.assertEqual({path: path.stat().st_mtime_ns for path in base.rglob("*")}, contents)

    def test_a_base_made_by_import_where_no_gpu_is_serves_without_a_compile(self):
        bundle, kernels = self.exported()
        self.next_daemon()
        self.json("import", bundle)
        self.assertEqual(self.daemon.stop(), 0)
        base = self.daemon.folder / "store"
        for path in [base, *base.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.next_daemon({"store.base": str(base)})
        served = self.prewarm()
        self.assertEqual((served["built"], served["hits_disk"]), (0, len(kernels)))
        self.assertEqual({kernel["key"] for kernel in served["kernels"]}, kernels)
        self.assertEqual((self.daemon.compiles(), self.metrics()["cubind_store_records"]), (0, 0))

    def test_one_that_is_not_there_is_a_reason_and_no_obstacle(self):
        self.daemon.settings_changed({"store.base": str(self.daemon.folder / "absent")})
        self.daemon.start()
        done = self.daemon.ctl("health")
        self.assertEqual(done.returncode, UNAVAILABLE)
        self.assertIn("base: ", done.stderr)
        self.assertEqual(self.json(*KERNEL, configs()[0])["outcome"], "built")


class Bundles(BundleTest):
    def test_what_was_exported_is_served_elsewhere_without_a_compile(self):
        bundle, kernels = self.exported()
        self.next_daemon()
        self.assertIn(f"imported {len(kernels)} records", self.json("import", bundle)["message"])
        served = self.prewarm()
        self.assertEqual((served["built"], {kernel["key"] for kernel in served["kernels"]}), (0, kernels))
        self.assertEqual(self.daemon.compiles(), 0)
        again = self.daemon.folder / "again.cubundle"
        self.json("export", "-o", again)
        self.assertEqual(again.read_bytes(), bundle.read_bytes())

    def test_a_damaged_bundle_is_refused_whole(self):
        bundle, kernels = self.exported()
        data = bundle.read_bytes()
        self.next_daemon()
        damages = (data[:-1], data[:100], b"", data + b"x", data[:-1] + bytes([data[-1] ^ 1]))
        for damaged in damages:
            bundle.write_bytes(damaged)
            self.assertIn("bundle", self.fails(CORRUPTION, "import", bundle))
        self.assertEqual(self.json("ls"), [])
        self.assertEqual(self.metrics()["cubind_imports_refused_total"], len(damages))
        self.assertEqual(self.daemon.log().count(" error import "), len(damages))
        bundle.write_bytes(data)
        self.json("import", bundle)
        self.assertEqual(self.metrics()["cubind_records_imported_total"], len(kernels))

    def test_signatures(self):
        private, public = self.new_key("ours")
        stranger, _ = self.new_key("stranger")
        signed, kernels = self.exported("--sign", private)
        unsigned = signed.with_name("unsigned.cubundle")
        unsigned.write_bytes(signed.read_bytes()[:-104])
        self.next_daemon({"bundle.trusted_keys": [str(public)], "bundle.require_signed": True, "socket.mode": "0666"})
        self.assertIn("not signed", self.fails(DENIED, "import", unsigned))
        self.json("import", signed)
        self.assertEqual(len(self.json("ls")), len(kernels))
        foreign = signed.with_name("foreign.cubundle")
        self.json("export", "-o", foreign, "--sign", stranger)
        self.assertIn("trusted_keys", self.fails(DENIED, "import", foreign))

    @needs_root
    def test_importing_is_for_administrators(self):
        bundle, _ = self.exported()
        bundle.parent.chmod(0o755)
        bundle.chmod(0o644)
        self.next_daemon({"socket.mode": "0666"})
        somebody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        self.assertIn("import", self.fails(DENIED, "import", bundle, through=somebody))
        self.assertEqual(self.json("ls"), [])


class Reload(DaemonTest):
    def test_what_can_change_does_at_once_and_requests_in_flight_do_not_notice(self):
        self.daemon.start()
        self.daemon.slow_down(1500)
        client = self.daemon.ctl_start(*KERNEL, configs()[0])
        self.wait_until(lambda: self.daemon.compiles() == 1)
        self.daemon.settings_changed({"log.level": "warn", "admin.users": [str(NOBODY)], "compile.workers": 1})
        said = self.json("reload")["message"]
        self.assertIn("applied: admin.users, log.level", said)
        self.assertIn("needs a restart: compile.workers", said)
        self.assertEqual(client.wait(60), 0, self.daemon.log())
        self.assertNotIn(" info get ", self.daemon.log())  # info lines are not written any more
        self.assertEqual(self.json("reload")["message"], "needs a restart: compile.workers")

    def test_sighup_does_the_same_and_a_wrong_config_changes_nothing(self):
        self.daemon.start()
        self.daemon.settings_changed({"log.level": "loud"})
        self.assertIn("log.level", self.fails(INVALID, "reload"))
        self.daemon.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.daemon.log().count(" error reload ") == 2)
        self.assertEqual(self.json("health")["state"], "ok")
        self.daemon.settings_changed({"log.level": "debug"})
        self.daemon.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: "applied=log.level" in self.daemon.log())


if __name__ == "__main__":
    unittest.main()
