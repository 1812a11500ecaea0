"""Who may connect (the socket's mode and group) and who may change the store (root, the daemon's user, admin.users)."""
import os
import unittest

from harness import ARCH, DENIED, FORMAT, NOBODY, DaemonTest, configs, needs, needs_root

SOMEBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
GROUP = 4242  # of the socket; no need for it to have a name


@needs_root
class EverybodyMayConnect(DaemonTest):
    settings = {"socket.mode": "0666"}

    def setUp(self):
        super().setUp()
        self.daemon.start()

    def test_others_may_ask_but_not_change_the_store(self):
        kernel = ["get", FORMAT, "--arch", ARCH, "--config", configs()[0]]
        key = self.json(*kernel, through=SOMEBODY)["key"]
        self.assertEqual(self.json("health", through=SOMEBODY)["state"], "ok")
        self.assertEqual([r["key"] for r in self.json("ls", through=SOMEBODY)], [key])
        for command in (["purge", "--all"], ["purge", "--key", key], ["verify"]):
            self.assertIn(str(NOBODY), self.fails(DENIED, *command, through=SOMEBODY))
        self.assertEqual([r["key"] for r in self.json("ls")], [key])
        self.assertEqual(self.json("purge", "--all")["records"], 1)

    @needs(*SOMEBODY, "unshare", "--user", "--map-root-user", "true")
    def test_root_of_somebodys_own_user_namespace_is_somebody(self):
        in_namespace = [*SOMEBODY, "unshare", "--user", "--map-root-user"]
        self.assertEqual(self.json("health", through=in_namespace)["state"], "ok")
        self.fails(DENIED, "purge", "--all", through=in_namespace)


@needs_root
class TheGroupMayConnect(DaemonTest):
    settings = {"socket.mode": "0660", "socket.group": str(GROUP)}

    def test_only_with_the_group(self):
        self.daemon.start()
        self.assertIn(str(self.daemon.socket), self.fails(DENIED, "health", through=SOMEBODY))
        with_group = [*SOMEBODY[:-1], f"--groups={GROUP}"]
        self.assertEqual(self.json("health", through=with_group)["state"], "ok")


@needs_root
class AdminUsers(DaemonTest):
    settings = {"socket.mode": "0666", "admin.users": [str(NOBODY)]}

    def test_a_named_user_may_purge(self):
        self.daemon.start()
        self.assertEqual(self.json("purge", "--all", through=SOMEBODY)["records"], 0)
        other = ["setpriv", "--reuid=4243", "--regid=4243", "--clear-groups"]
        self.fails(DENIED, "purge", "--all", through=other)


@needs_root
class ADaemonThatIsNotRoot(DaemonTest):
    settings = {"socket.mode": "0666"}

    def test_its_own_user_may_purge(self):
        for folder in (self.daemon.folder, self.daemon.socket_folder):
            os.chown(folder, NOBODY, NOBODY)
        self.daemon.start([*SOMEBODY, *self.daemon.command()])
        self.assertEqual(self.prewarm(through=SOMEBODY)["failed"], 0)
        self.assertGreater(self.json("purge", "--all", through=SOMEBODY)["records"], 0)
        self.assertEqual(self.json("purge", "--all")["records"], 0)  # root too
        self.fails(DENIED, "purge", "--all", through=["setpriv", "--reuid=4243", "--regid=4243", "--clear-groups"])


if __name__ == "__main__":
    unittest.main()
