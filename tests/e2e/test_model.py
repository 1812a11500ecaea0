"""The main path with the installed programs: a model's config in, its kernels compiled once, looked at, checked, removed."""
import hashlib
import struct
import unittest

from harness import (ARCH, FORMAT, INVALID, MAX_M, MODEL, NOT_FOUND, PENDING, SOURCE, UNAVAILABLE, UNSUPPORTED,
                     DaemonTest, configs)


class Model(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()

    def test_a_second_prewarm_compiles_nothing(self):
        kernels = len(configs())
        first = self.prewarm()
        self.assertEqual((first["total"], first["built"], first["failed"]), (kernels, kernels, 0))
        self.assertEqual(self.daemon.compiles(), kernels)
        second = self.prewarm()
        self.assertEqual((second["total"], second["built"]), (kernels, 0))
        self.assertEqual(second["hits_memory"] + second["hits_disk"], kernels)
        self.assertEqual(self.daemon.compiles(), kernels)
        # Tensor parallelism changes shapes, not kernels.
        self.assertEqual(self.prewarm("--tp", "8")["built"], 0)
        self.assertEqual({k["key"] for k in first["kernels"]}, {k["key"] for k in second["kernels"]})

        listed = self.json("ls")
        self.assertEqual({r["key"] for r in listed}, {k["key"] for k in first["kernels"]})
        self.assertEqual([r["key"] for r in listed], sorted(r["key"] for r in listed))
        verified = self.json("verify")
        self.assertEqual((verified["total"], verified["mismatches"]), (kernels, 0))

    def test_get_and_explain_agree_and_the_key_is_the_hash_of_what_explain_lists(self):
        kernel = [FORMAT, "--arch", ARCH, "--config", configs()[0]]
        cubin = self.daemon.folder / "kernel.cubin"
        got = self.json("get", *kernel, "-o", cubin)
        self.assertEqual(got["outcome"], "built")
        data = cubin.read_bytes()
        self.assertEqual(data[:4], b"\x7fELF")
        self.assertLessEqual(len(data), 150 * 1024)
        self.assertEqual(hashlib.sha256(data).hexdigest(), got["cubin_sha256"])
        self.assertEqual(got["local_bytes"], 0)

        explained = self.json("explain", *kernel)
        self.assertEqual(explained["key"], got["key"])
        text = b""
        for ingredient in explained["ingredients"]:
            name, value = ingredient["name"].encode(), ingredient["value"].encode()
            text += struct.pack("<I", len(name)) + name + struct.pack("<Q", len(value)) + value
        self.assertEqual(hashlib.sha256(text).hexdigest(), got["key"])
        source = self.ok(self.daemon.ctl("explain", *kernel, "--source")).stdout
        self.assertIn('extern "C"', source)
        self.assertIn("cubind_kernel", source)

        again = self.json("get", "--key", got["key"])
        self.assertIn(again["outcome"], ("hit_memory", "hit_disk"))
        self.assertEqual(again["cubin_sha256"], got["cubin_sha256"])
        self.assertEqual(self.daemon.compiles(), 1)

    def test_a_miss_that_nobody_waits_for_is_pending_and_comes_later(self):
        kernel = ["get", FORMAT, "--arch", ARCH, "--config", configs()[0]]
        self.fails(PENDING, *kernel, "--hit-only")
        self.ok(self.daemon.ctl(*kernel))
        self.assertEqual(self.json(*kernel, "--hit-only")["outcome"], "hit_memory")
        self.assertEqual(self.daemon.compiles(), 1)

    def test_purge_of_one_and_of_all(self):
        kernels = [k["key"] for k in self.prewarm()["kernels"]]
        self.assertEqual(self.json("purge", "--key", kernels[0])["records"], 1)
        self.fails(NOT_FOUND, "get", "--key", kernels[0])
        self.assertIn(kernels[0], self.fails(NOT_FOUND, "purge", "--key", kernels[0]))
        self.assertEqual(self.json("purge", "--all")["records"], len(kernels) - 1)
        self.assertEqual(self.json("ls"), [])
        compiled = self.daemon.compiles()
        self.assertEqual(self.prewarm()["built"], len(kernels))
        self.assertEqual(self.daemon.compiles(), compiled + len(kernels))

    def test_what_is_wrong_is_refused_before_anything_is_done(self):
        before = self.json("stats")
        self.fails(INVALID, "prewarm", MODEL, "--arch", ARCH, "--tp", "none")
        self.fails(UNSUPPORTED, "prewarm", MODEL, "--arch", f"{ARCH},sm_75")
        self.fails(UNSUPPORTED, "prewarm", SOURCE / "tests/golden/models/gpt-oss-20b.json", "--arch", ARCH)
        self.fails(NOT_FOUND, "prewarm", "/nonexistent.json", "--arch", ARCH)
        self.fails(NOT_FOUND, "get", "--key", "ab" * 32, "-o", self.daemon.folder / "absent.cubin")
        self.assertFalse((self.daemon.folder / "absent.cubin").exists())
        self.assertEqual(self.json("ls"), [])
        self.assertEqual(self.daemon.compiles(), 0)
        self.assertEqual(set(before), set(self.json("stats")))

    def test_health_names_daemon_toolchain_and_store(self):
        health = self.json("health")
        self.assertEqual(health["state"], "ok")
        self.assertEqual(health["pid"], self.daemon.process.pid)
        self.assertEqual(len(health["toolchains"]), 1)
        self.assertTrue(health["store"].startswith(str(self.daemon.folder / "store")))
        self.fails(INVALID, "get", FORMAT, "--arch", ARCH, "--config", "x")


class WithoutADaemon(DaemonTest):
    def test_every_command_says_so(self):
        for command in (["health"], ["stats"], ["ls"], ["verify"], ["purge", "--all"],
                        ["prewarm", MODEL, "--arch", ARCH]):
            self.assertIn(str(self.daemon.socket), self.fails(UNAVAILABLE, *command))

    def test_planning_needs_none(self):
        planned = self.json("prewarm", MODEL, "--arch", ARCH, "--max-m", MAX_M, "--dry-run")
        self.assertEqual([k["config"] for k in planned["kernels"]], configs())
        self.assertEqual(set(planned["layers"][0]), {"name", "count", "n", "k"})


if __name__ == "__main__":
    unittest.main()
