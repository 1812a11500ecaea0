"""A disk that gives back other bytes than it took: the records are set aside, counted, and compiled again."""
import unittest

from harness import DaemonTest


class Damage(DaemonTest):
    def blob_files(self):
        return sorted((self.daemon.folder / "store").rglob("*.blob"))

    def test_damaged_cubins_are_counted_as_corrupt_and_made_again(self):
        self.daemon.start()
        first = self.prewarm()
        cubins = {k["key"]: self.json("get", "--key", k["key"])["cubin_sha256"] for k in first["kernels"]}
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()  # what was in the log only goes to files of its own
        self.assertEqual(self.daemon.stop(), 0)

        files = self.blob_files()
        self.assertTrue(files)
        for file in files:
            data = bytearray(file.read_bytes())
            for at in range(512, len(data) - 512, 1024):  # past the head, before the foot, in every value
                data[at] ^= 0x10
            file.write_bytes(data)

        self.daemon.start()
        self.assertEqual(self.json("health")["state"], "ok")
        again = self.prewarm()
        self.assertEqual((again["total"], again["failed"]), (len(cubins), 0))
        self.assertGreater(again["built"], 0)
        self.assertEqual({k: self.json("get", "--key", k)["cubin_sha256"] for k in cubins}, cubins)
        self.assertEqual(self.json("stats")["cubind_store_corrupt_records_total"], again["built"])
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual(self.prewarm()["built"], 0)


if __name__ == "__main__":
    unittest.main()
