"""Old and new programs side by side, and on the same store, upwards and back. CUBIND_E2E_OLD_PREFIX is where an older cubind
is installed; scripts/upgrade_check.sh builds one and runs this."""
import json
import os
import pathlib
import subprocess
import unittest

from harness import ARCH, MAX_M, MODEL, PREFIX, DaemonTest

OLD = os.environ.get("CUBIND_E2E_OLD_PREFIX", "")
PREFIXES = {"old": pathlib.Path(OLD), "new": PREFIX}


@unittest.skipUnless(OLD, "CUBIND_E2E_OLD_PREFIX names no older cubind: scripts/upgrade_check.sh does")
class Upgrade(DaemonTest):
    def start_daemon(self, age):
        self.daemon.start([str(PREFIXES[age] / "bin/cubind"), "--config", str(self.daemon.config)])

    def ask(self, age, *arguments):
        """cubinctl of that age; what it prints as JSON."""
        done = subprocess.run([PREFIXES[age] / "bin/cubinctl", *map(str, arguments), "--json"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, env={"CUBIND_SOCKET": str(self.daemon.socket)})
        self.assertEqual(done.returncode, 0, f"{age} {done.args}: {done.stderr}\n{self.daemon.log()}")
        return json.loads(done.stdout)

    def cubins(self, age):
        """Digests of all that is stored, each asked for by its key."""
        keys = [record["key"] for record in self.ask(age, "ls")]
        return {key: self.ask(age, "get", "--key", key)["cubin_sha256"] for key in keys}

    def prewarm(self, age):
        done = self.ask(age, "prewarm", MODEL, "--arch", ARCH, "--max-m", MAX_M)["archs"][0]
        self.assertEqual(done["failed"], 0)
        return done

    def test_old_and_new_clients_are_served_by_old_and_new_daemons(self):
        for daemon in PREFIXES:
            self.start_daemon(daemon)
            for client in PREFIXES:
                with self.subTest(daemon=daemon, client=client):
                    self.assertEqual(self.ask(client, "health")["state"], "ok")
                    kernels = self.prewarm(client)["total"]
                    again = self.prewarm(client)
                    self.assertEqual((again["built"], again["total"]), (0, kernels))
                    self.assertGreaterEqual(len(self.cubins(client)), kernels)
                    self.assertGreater(self.ask(client, "stats")["cubind_kernels_hit_memory_total"], 0)
            self.assertEqual(self.daemon.stop(), 0)

    def test_a_store_goes_up_and_down_again_with_all_that_is_in_it(self):
        stored = {}
        for age in ("old", "new", "old", "new"):
            self.start_daemon(age)
            self.assertEqual(self.ask(age, "health")["state"], "ok")
            found = self.cubins(age)
            self.assertEqual({key: found.get(key) for key in stored}, stored, f"what {age} finds")
            self.prewarm(age)
            stored = self.cubins(age)
            self.assertEqual(self.daemon.stop(), 0)
        # Each of the four has found what the ones before it compiled, as far as its keys are theirs.
        compiled = self.daemon.compiles()
        self.start_daemon("old")
        self.assertEqual(self.prewarm("old")["built"], 0)
        self.assertEqual(self.daemon.compiles(), compiled)


if __name__ == "__main__":
    unittest.main()
