"""Disks that are slow or gone, under a real daemon: what is in memory is served as if nothing were, what is answered is
there after a restart, and the daemon says what is wrong."""
import os
import pathlib
import shutil
import signal
import time
import unittest

from harness import ARCH, FORMAT, UNAVAILABLE, DaemonTest, configs

SLOW_FILES = os.environ["CUBIND_E2E_SLOW_FILES"]
DELAY = 3  # seconds, of each call on a file


def kernel(config):
    return ["get", FORMAT, "--arch", ARCH, "--config", config]


class Slow(DaemonTest):
    def setUp(self):
        super().setUp()
        self.store = self.daemon.folder / "store"
        self.store.mkdir(mode=0o700)
        self.delay = pathlib.Path(f"{self.store}.delay_ms")
        self.daemon.start(["env", f"LD_PRELOAD={SLOW_FILES}", f"CUBIND_SLOW_FOLDER={self.store}", *self.daemon.command()])

    def delayed(self):
        calls = pathlib.Path(f"{self.store}.delayed")
        return calls.stat().st_size if calls.exists() else 0

    def test_what_is_in_memory_does_not_wait_and_what_is_answered_is_stored(self):
        known, new = configs(max_m="8192")[:2]
        self.ok(self.daemon.ctl(*kernel(known)))
        self.delay.write_text(f"{DELAY * 1000}\n")
        waiting = self.daemon.ctl_start(*kernel(new))
        self.wait_until(lambda: self.delayed() > 0)  # the new one is being written
        started = time.monotonic()
        self.assertEqual(self.json(*kernel(known))["outcome"], "hit_memory")
        self.assertEqual(self.json("health")["state"], "ok")
        self.assertEqual(self.json("stats")["cubind_store_put_failures_total"], 0)
        self.assertEqual(self.daemon.http("/health")[0], 200)
        answered = time.monotonic() - started
        self.assertIsNone(waiting.poll(), f"through before the others, which took {answered:.1f} s")
        self.assertEqual(waiting.wait(120), 0, self.daemon.log())
        # It was answered: it is on the disk, however the daemon ends.
        self.daemon.stop(signal.SIGKILL)
        self.daemon.start()
        self.assertEqual(self.json(*kernel(new))["outcome"], "hit_disk")

    def test_it_ends_in_time_on_a_slow_disk(self):
        self.ok(self.daemon.ctl(*kernel(configs()[0])))
        self.delay.write_text("500\n")
        self.assertEqual(self.daemon.stop(), 0)
        self.assertGreater(self.delayed(), 0)


class Gone(DaemonTest):
    def test_it_serves_from_memory_and_begins_anew(self):
        first, second, third = configs(max_m="8192")[:3]
        self.daemon.start()
        self.ok(self.daemon.ctl(*kernel(first)))
        shutil.rmtree(self.daemon.folder / "store")
        self.assertEqual(self.json(*kernel(first))["outcome"], "hit_memory")
        self.assertEqual(self.json(*kernel(second))["outcome"], "built")
        self.assertEqual(self.json(*kernel(second))["outcome"], "hit_memory")
        self.assertEqual(self.json("stats")["cubind_store_put_failures_total"], 1)
        health = self.daemon.ctl("health")
        self.assertEqual(health.returncode, UNAVAILABLE)
        self.assertIn("is gone", health.stderr)
        failed = [line for line in self.daemon.log().splitlines() if " put_failed " in line]
        self.assertEqual(len(failed), 1, self.daemon.log())
        time.sleep(1.1)  # the pause before it tries again
        self.assertEqual(self.json(*kernel(third))["outcome"], "built")
        self.assertEqual(self.json("health")["state"], "ok")
        self.daemon.stop(signal.SIGKILL)
        self.daemon.start()
        self.assertEqual(self.json(*kernel(third))["outcome"], "hit_disk")


if __name__ == "__main__":
    unittest.main()
