"""A client that asks and does not read: it is dropped, and nobody else waits for it."""
import socket
import time
import unittest

from harness import SOURCE, DaemonTest

PATIENCE = 30  # seconds that a reader may take nothing (limits::kWriteTimeout)


def frame(name):
    """A message of version 1 as it was recorded: length and payload."""
    return bytes.fromhex((SOURCE / f"tests/golden/protocol/v1/{name}.hex").read_text())


class Readers(DaemonTest):
    def test_who_takes_nothing_is_dropped_and_the_others_are_served(self):
        self.daemon.start()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as reader:
            reader.connect(str(self.daemon.socket))
            reader.sendall(frame("client_hello"))
            # More answers than the socket holds: the daemon stops taking requests when they are not taken.
            reader.setblocking(False)
            asked = frame("request_stats") * 100
            with self.assertRaises(BlockingIOError):
                for _ in range(10_000):
                    reader.send(asked)
            stuck = time.monotonic()
            while self.json("stats")["cubind_connections_dropped_total"] == 0:
                self.assertLess(time.monotonic() - stuck, PATIENCE + 15, self.daemon.log())
                time.sleep(1)
            self.assertGreater(time.monotonic() - stuck, PATIENCE - 5)
            self.assertIn("took nothing", self.daemon.log())
            # It gets what was on its way, then the end.
            reader.setblocking(True)
            reader.settimeout(10)
            try:
                while reader.recv(1 << 20):
                    pass
            except ConnectionResetError:
                pass  # requests that nobody took were still in there
        self.assertEqual(self.json("stats")["cubind_connections_open"], 1)  # the one that asks


if __name__ == "__main__":
    unittest.main()
