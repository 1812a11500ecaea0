"""Faults of docs/faults.md that need the installed programs: clients that have nothing, processes that differ in everything
but the request, a memory cgroup that is too small, thousands of connections that say nothing."""
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import time
import unittest

from harness import ARCH, CUBINCTL, FORMAT, MODEL, SOURCE, DaemonTest, Daemon, configs, needs, needs_fault_points, needs_root

COMPILE_FAILED = 5  # ErrorCode
RANDOM_UID = 1_000_660_000  # as OpenShift chooses one: no name, no home


@needs_root
@needs("unshare", "--mount", "true")
class AnyClient(DaemonTest):
    settings = {"socket.mode": "0666"}

    # Rows E1, E2, E3, J3, J4 and J6.
    def test_a_client_needs_no_home_no_name_and_no_writable_disk(self):
        self.daemon.start()
        inside = (
            "mount -o remount,bind,ro /\n"
            "mount -t tmpfs -o ro none /usr/local\n"  # no CUDA toolkit, no compiler
            f"touch {self.daemon.folder}/x 2>/dev/null && exit 99\n"
            f'exec setpriv --reuid={RANDOM_UID} --regid=0 --clear-groups env -i HOME=/ CUBIND_SOCKET={self.daemon.socket} "$@"')

        def client(*arguments):
            done = subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-ec", inside, "bash",
                                   str(CUBINCTL), *arguments], capture_output=True, text=True, timeout=300, cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        kernel = ["get", FORMAT, "--arch", ARCH, "--config", configs()[0], "--json"]
        self.assertEqual(client(*kernel)["outcome"], "built")
        self.assertEqual(client(*kernel)["outcome"], "hit_memory")
        self.assertEqual(self.daemon.compiles(), 1)


class KeysOfAnyProcess(DaemonTest):
    # Row D5.
    def test_a_key_does_not_depend_on_who_asks(self):
        other = Daemon()
        self.addCleanup(other.remove)
        self.daemon.start()
        # Another folder, locale, time zone, home; a new process has another address space anyway.
        other.launch(LC_ALL="de_DE.UTF-8", TZ="Asia/Tokyo", HOME="/nonexistent", TMPDIR="/nonexistent", PYTHONHASHSEED="7")
        deadline = time.monotonic() + 60
        while other.ctl("health").returncode != 0:
            self.assertLess(time.monotonic(), deadline, other.log())
            time.sleep(0.1)
        for config in configs():
            kernel = ["explain", FORMAT, "--arch", ARCH, "--config", config]
            self.assertEqual(self.json(*kernel)["key"], json.loads(self.ok(other.ctl(*kernel, "--json")).stdout)["key"])


class Start(DaemonTest):
    # Row N6.
    def test_it_says_where_its_store_is(self):
        self.daemon.start()
        lines = [line for line in self.daemon.log().splitlines() if " start " in line]
        self.assertEqual(len(lines), 1, self.daemon.log())
        self.assertIn(f"store={self.daemon.folder}/store/", lines[0])


def memory_cgroup(name, limit):
    """A new memory cgroup of either version with this limit, or the reason why there is none."""
    try:
        for parent in (pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")):
            if not (parent / "cgroup.procs").exists():
                continue
            group = parent / name
            group.mkdir()
            for file in ("memory.limit_in_bytes", "memory.max"):
                if (group / file).exists():
                    (group / file).write_text(str(limit))
                    return group
            group.rmdir()
        return "no memory controller"
    except OSError as error:
        return str(error)


def remove_cgroup(group):
    for _ in range(100):  # the last of its processes may still be on their way
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.1)
    group.rmdir()


def oom_kills(group):
    """How often the kernel's OOM killer acted there."""
    for file in ("memory.events", "memory.oom_control"):
        if (group / file).exists():
            for line in (group / file).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    raise AssertionError(f"{group} counts no kills")


@needs_root
class MemoryLimit(DaemonTest):
    settings = {"compile.workers": 16}

    # Row K2: a compile holds 140 MB, as the largest ones of NVRTC do; sixteen at once would be far too much.
    def test_many_misses_in_a_small_memory_cgroup_kill_nothing(self):
        group = memory_cgroup(f"cubind-test-{os.getpid()}", 512 << 20)
        if isinstance(group, str):
            self.skipTest(f"no memory cgroup can be made: {group}")
        self.addCleanup(remove_cgroup, group)
        self.addCleanup(self.daemon.remove)  # before the group goes
        library = self.daemon.folder / "libtrouble.so"
        shutil.copy(os.environ["CUBIND_E2E_TROUBLE"], library)
        pathlib.Path(f"{library}.hold").write_text("140 20")
        text = self.daemon.config.read_text().replace(str(self.daemon.counter), str(library))
        self.daemon.config.write_text(text)
        self.daemon.start(["bash", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "bash", *self.daemon.command()])
        self.assertEqual(self.counter("cubind_compile_workers"), 1)

        model = json.loads(MODEL.read_text())
        model["quantization_config"]["group_size"] = 32
        other = self.daemon.folder / "config.json"
        other.write_text(json.dumps(model))
        # All two hundred with scripts/test.sh --full.
        full = "CUBIND_FULL" in os.environ
        models, dtypes = ((MODEL, other), ("float16", "bfloat16")) if full else ((MODEL,), ("bfloat16",))
        archs = ["--arch", "sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"]
        clients = [self.daemon.ctl_start("prewarm", config, *archs, "--max-m", "8192", "--dtype", dtype)
                   for config in models for dtype in dtypes]
        for client in clients:
            self.assertEqual(client.wait(390), COMPILE_FAILED, self.daemon.log()[-2000:])
        self.assertGreaterEqual(self.counter("cubind_compiles_failed_total"), 200 if full else 50)
        self.assertEqual(oom_kills(group), 0)
        self.assertEqual(self.counter("cubind_compiles_running_most"), 1)

    def counter(self, name):
        return self.json("stats")[name]


@needs_fault_points
class KilledAtAStep(DaemonTest):
    STEPS = ("session.request", "service.before_put", "store.put.before_write", "store.put.after_write", "service.after_put", "session.before_reply")

    def test_who_waits_is_served_by_the_next_daemon_with_at_most_one_more_compile(self):
        for step, config in zip(self.STEPS, configs(max_m="8192")):
            before = self.daemon.compiles()
            self.daemon.start(["env", f"CUBIND_FAULT={step}=kill", *self.daemon.command()])
            client = self.daemon.ctl_start("get", FORMAT, "--arch", ARCH, "--config", config)
            self.assertEqual(self.daemon.process.wait(120), -9, step)
            self.daemon.process = None
            self.daemon.start()
            self.assertEqual(client.wait(120), 0, f"{step}: {self.daemon.log()[-2000:]}")
            self.assertLessEqual(self.daemon.compiles() - before, 2, step)
            self.assertIn(self.json("get", FORMAT, "--arch", ARCH, "--config", config)["outcome"], ("hit_memory", "hit_disk"))
            self.assertEqual(self.daemon.stop(), 0)

    def test_killed_while_it_stops_it_loses_nothing(self):
        kernel = ["get", FORMAT, "--arch", ARCH, "--config", configs()[0]]
        self.daemon.start()
        self.ok(self.daemon.ctl(*kernel))
        self.assertEqual(self.daemon.stop(), 0)
        for step in ("daemon.drain", "store.usage.flush", "store.close.begin", "store.close.flushed"):
            self.daemon.start(["env", f"CUBIND_FAULT={step}=kill", *self.daemon.command()])
            self.assertEqual(self.json(*kernel)["outcome"], "hit_disk", step)
            self.assertEqual(self.daemon.stop(), -9, step)
        self.daemon.start()
        self.assertEqual(self.json(*kernel)["outcome"], "hit_disk")
        self.assertEqual(self.json("health")["state"], "ok")
        self.assertEqual(self.daemon.compiles(), 1)


@needs_fault_points
class SlowDisk(DaemonTest):
    def test_what_is_in_memory_does_not_wait_for_a_slow_disk(self):
        first, second = configs()[:2]
        kernel = lambda config: ["get", FORMAT, "--arch", ARCH, "--config", config]
        self.daemon.start()
        self.ok(self.daemon.ctl(*kernel(first)))
        self.ok(self.daemon.ctl(*kernel(second)))
        self.daemon.stop()
        # Each read takes three seconds (dev builds have fault points).
        self.daemon.start(["env", "CUBIND_FAULT=store.get.begin=sleep:3000@0", *self.daemon.command()])
        self.assertEqual(self.json(*kernel(first))["outcome"], "hit_disk")
        began = time.monotonic()
        waiting = self.daemon.ctl_start(*kernel(second))
        self.assertEqual(self.json(*kernel(first))["outcome"], "hit_memory")
        self.assertIsNone(waiting.poll(), "the other one is through already")
        self.assertEqual(waiting.wait(60), 0)
        self.assertGreaterEqual(time.monotonic() - began, 3, "the disk was not slow")
        self.assertEqual(self.json("health")["state"], "ok")


class Connections(DaemonTest):
    settings = {"socket.max_connections": 12000, "log.level": "warn"}

    def resident(self):
        for line in pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024

    def connect(self, count):
        """Of each three, one says nothing, one half a greeting, and one greets and then trickles a request."""
        made = []
        for number in range(count):
            peer = socket.socket(socket.AF_UNIX)
            peer.connect(str(self.daemon.socket))
            if number % 3 == 1:
                peer.send(self.hello[:11])
            if number % 3 == 2:
                peer.send(self.hello + self.hello[:20])
            made.append(peer)
        return made

    def test_a_low_limit_of_descriptors_is_raised_as_far_as_it_may(self):
        self.daemon.start(["prlimit", "--nofile=100:2000", *self.daemon.command()])
        peers = [socket.socket(socket.AF_UNIX) for _ in range(400)]
        for peer in peers:
            peer.connect(str(self.daemon.socket))
        self.ok(self.daemon.ctl("health"))
        self.assertGreaterEqual(self.json("stats")["cubind_connections_open"], 400)
        self.assertIn("descriptor_limit", self.daemon.log())  # twelve thousand would not fit
        for peer in peers:
            peer.close()

    def test_ten_thousand_that_say_nothing_cost_little_and_harm_nobody(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 11_000:
            self.skipTest(f"only {hard} descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        transcript = SOURCE / "tests/golden/protocol/v1/client_hello.hex"
        self.hello = bytes.fromhex(transcript.read_text())
        self.daemon.start()
        few = self.connect(10)
        self.ok(self.daemon.ctl("health"))
        with_few = self.resident()
        many = self.connect(10_000)
        self.ok(self.daemon.ctl("health"))
        with_many = self.resident()
        self.assertGreater(self.json("stats")["cubind_connections_total"], 10_000)
        self.assertLessEqual(with_many, 2 * with_few)
        # Who has not greeted in time is closed; the others may stay.
        deadline = time.monotonic() + 60
        while self.json("stats")["cubind_connections_open"] > 3400:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        self.ok(self.daemon.ctl("health"))
        for peer in few + many:
            peer.close()


if __name__ == "__main__":
    unittest.main()
