"""What debian/ and docs/deploy say, against what is installed and what the programs accept. Seconds; scripts/package_check.sh tries the rest."""
import fnmatch
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from containerfile import steps, value_of
from daemonset import DaemonSet

SOURCE = pathlib.Path(os.environ["CUBIND_SOURCE"])
BUILD = pathlib.Path(os.environ["CUBIND_BUILD"])
PREFIX = os.environ["CUBIND_PREFIX"].strip("/")  # usr/local in most builds, usr in a package
LIBDIR = os.environ["CUBIND_LIBDIR"]
VERSION = os.environ["CUBIND_VERSION"]
CC = os.environ["CUBIND_CC"]
CMAKE = os.environ["CUBIND_CMAKE"]
DEBIAN, DEPLOY, SYSTEMD = SOURCE / "debian", SOURCE / "docs/deploy", SOURCE / "systemd"
INVALID, UNAVAILABLE = 1, 9  # exit codes of cubinctl

folder = tempfile.TemporaryDirectory(prefix="cubind-packaging-")
ROOT = pathlib.Path(folder.name) / "root"
subprocess.run([CMAKE, "--install", BUILD], env={**os.environ, "DESTDIR": str(ROOT)}, check=True, stdout=subprocess.DEVNULL)
CUBIND, CUBINCTL = ROOT / PREFIX / "bin/cubind", ROOT / PREFIX / "bin/cubinctl"


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def packages():
    return re.findall(r"^Package: (\S+)$", (DEBIAN / "control").read_text(), re.M)


def patterns(package):
    return [line.split()[0] for line in (DEBIAN / f"{package}.install").read_text().splitlines()]


def holds(pattern, path):
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, pattern + "/*")


def installed():
    """Every installed file, by the name that it has in a package."""
    for path in sorted(ROOT.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = str(path.relative_to(ROOT))
        name = re.sub(f"^{PREFIX}/{LIBDIR}/(libcubind|cmake|pkgconfig)", r"usr/lib/TRIPLET/\1", name)
        yield re.sub(f"^{PREFIX}/", "usr/", name)


def setting(name):
    """A setting's default, as the daemon prints it."""
    section, key = name.split(".")
    text = run(CUBIND, "--print-config").stdout
    return re.search(rf'^\[{section}\]\n(?:[^\[]*\n)?{key} = "(.*)"$', text, re.M)[1]


def lines_of(name, kind):
    return [line.split() for line in (SYSTEMD / name).read_text().splitlines() if line.startswith(kind + " ")]


def unit(name):
    """Key to values of one unit."""
    values = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", (SYSTEMD / name).read_text(), re.M):
        values.setdefault(key, []).append(value)
    return values


class Packages(unittest.TestCase):
    def test_every_installed_file_is_in_one_package_and_every_pattern_finds_some(self):
        files = list(installed())
        for name in files:
            self.assertEqual(len([p for p in packages() if any(holds(x, name) for x in patterns(p))]), 1, name)
        for package in packages():
            for pattern in patterns(package):
                self.assertTrue(any(holds(pattern, name) for name in files), f"{package}: {pattern}")

    def test_version_and_soname_are_the_builds(self):
        self.assertEqual(re.match(r"cubind \((.*)\)", (DEBIAN / "changelog").read_text())[1], VERSION)
        dynamic = run("readelf", "-d", ROOT / PREFIX / LIBDIR / "libcubind.so").stdout
        soname = re.search(r"\(SONAME\).*\[libcubind\.so\.(\d+)\]", dynamic)[1]
        self.assertIn(f"libcubind{soname}", packages())

    def test_units_run_programs_of_packages_and_name_pages_that_are_there(self):
        programs = {name: package for package in packages() for name in patterns(package)}
        files = set(installed())
        for path in SYSTEMD.glob("*.service"):
            values = unit(path.name)
            program = values["ExecStart"][0].split()[0].replace("@CUBIND_BINDIR@", "usr/bin")
            self.assertIn(program, programs, path.name)
        for path in [*SYSTEMD.glob("*.service"), *SYSTEMD.glob("*.socket")]:
            for page in unit(path.name)["Documentation"]:
                self.assertIn(page.removeprefix("file:///"), files, path.name)

    def test_one_user_and_the_same_folders_everywhere(self):
        (_, user, *_, home, _), = [shlex.split(" ".join(line)) for line in lines_of("sysusers.conf", "u")]
        service = unit("cubind.service")
        self.assertEqual((service["User"], service["Group"]), ([user], [user]))
        for name in ("cubind.socket", "cubind-metrics.socket"):
            self.assertEqual(unit(name)["SocketGroup"], [user])
        folders = {line[1]: line[2:5] for line in lines_of("tmpfiles.conf", "d")}
        socket = setting("socket.path")
        store = setting("store.root")
        self.assertEqual(folders, {os.path.dirname(socket): ["0755", "root", user], store: ["0700", user, user]})
        self.assertEqual(unit("cubind.socket")["ListenStream"], [socket])
        self.assertEqual((home, f"/var/lib/{service['StateDirectory'][0]}"), (store, store))
        removed = re.search(r"for state in (.*); do", (DEBIAN / "cubind.postrm").read_text())[1].split()
        self.assertEqual(set(removed), set(folders))

    def test_the_config_is_the_administrators_and_so_is_the_folder_of_models(self):
        self.assertIn("etc/cubind/cubind.toml", patterns("cubind"))  # below /etc: debhelper makes it a conffile
        self.assertEqual(run(CUBIND, "--config", ROOT / "etc/cubind/cubind.toml", "--check-config").returncode, 0)
        models = os.path.dirname(unit("cubind-prewarm@.service")["ConditionPathExists"][0])
        self.assertIn(models.replace("@CUBIND_SYSCONFDIR@", "etc"), (DEBIAN / "cubind.dirs").read_text().split())


class Development(unittest.TestCase):
    PROGRAM = "#include <cubind/cubind.h>\nint main(void) { cubind_client_close(0); return 0; }\n"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder.name))
        (self.folder / "main.c").write_text(self.PROGRAM)
        # Moved to where no path of the build leads: everything is found relative to the files themselves.
        self.moved = self.folder / "moved"
        (ROOT / PREFIX).rename(self.moved)
        self.addCleanup(self.moved.rename, ROOT / PREFIX)

    def test_pkg_config_finds_a_moved_library(self):
        environment = {"PKG_CONFIG_PATH": str(self.moved / LIBDIR / "pkgconfig")}
        self.assertEqual(run("pkg-config", "--modversion", "cubind", **environment).stdout.strip(), VERSION)
        flags = run("pkg-config", "--cflags", "--libs", "cubind", **environment).stdout.split()
        done = run(CC, self.folder / "main.c", "-o", self.folder / "main", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run(self.folder / "main", LD_LIBRARY_PATH=str(self.moved / LIBDIR)).returncode, 0)

    def test_find_package_finds_a_moved_library(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES C)\n"
            f"find_package(cubind {VERSION} REQUIRED)\nadd_executable(main main.c)\ntarget_link_libraries(main PRIVATE cubind::client)\n")
        for command in ([CMAKE, "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={self.moved}",
                         f"-DCMAKE_C_COMPILER={CC}"], [CMAKE, "--build", self.folder / "build"], [self.folder / "build/main"]):
            done = run(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Container(unittest.TestCase):
    def setUp(self):
        self.daemonset = DaemonSet(DEPLOY)
        self.recipe = dict(steps(DEPLOY / "Containerfile"))

    def test_the_daemon_accepts_the_config_and_the_flags(self):
        config, = self.daemonset.files
        path = pathlib.Path(folder.name) / config
        path.write_text(re.sub(r"^#(\w+ = )", r"\1", self.daemonset.files[config], flags=re.M))  # what it offers as well
        inside = f'{self.daemonset.mount("config")["mountPath"]}/{config}'
        program, *flags = self.daemonset.command()
        self.assertIn(inside, flags)
        done = run(ROOT / PREFIX / "bin" / program, *[str(path) if flag == inside else flag for flag in flags], "--check-config")
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_probes_are_commands_that_cubinctl_knows(self):
        commands = self.daemonset.commands()
        for name in ("livenessProbe", "readinessProbe", "HEALTHCHECK"):
            program, *arguments = commands[name]
            done = run(ROOT / PREFIX / "bin" / program, *arguments, CUBIND_SOCKET=f"{folder.name}/nobody-listens")
            self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
        self.assertIn("--alive", commands["livenessProbe"])

    def test_one_user_in_image_pod_and_folders(self):
        number = re.search(r"useradd .*--uid (\d+)", self.recipe["RUN"])[1]
        self.assertEqual(self.recipe["USER"], f"{number}:{number}")
        self.assertEqual(self.daemonset.user(), f"{number}:{number}")
        self.assertIn(f"chown {number}:{number} ", " ".join(self.daemonset.init["command"]))

    def test_the_folders_are_the_hosts_and_those_of_the_defaults(self):
        for name, path in (("socket", os.path.dirname(setting("socket.path"))), ("store", setting("store.root"))):
            self.assertEqual(self.daemonset.volume(name)["hostPath"]["path"], path)
            self.assertEqual(self.daemonset.mount(name)["mountPath"], path)
            self.assertIn(path, self.daemonset.init["command"][-1])
            self.assertIn(path, value_of(DEPLOY / "Containerfile", "VOLUME"))
        mounted = {m["name"] for c in (self.daemonset.container, self.daemonset.init) for m in c["volumeMounts"]}
        self.assertEqual(mounted, {v["name"] for v in self.daemonset.pod["volumes"]})

    def test_the_pod_has_no_right_that_it_does_not_need(self):
        self.assertTrue(self.daemonset.pod["securityContext"]["runAsNonRoot"])
        self.assertFalse(self.daemonset.pod["automountServiceAccountToken"])
        for container in (self.daemonset.container, self.daemonset.init):
            context = container["securityContext"]
            self.assertFalse(context["allowPrivilegeEscalation"])
            self.assertTrue(context["readOnlyRootFilesystem"])
            self.assertEqual(context["capabilities"]["drop"], ["ALL"])
            self.assertIn("memory", container["resources"]["limits"])
            self.assertEqual(container["image"], f"cubind:{VERSION}")
        self.assertNotIn("add", self.daemonset.container["securityContext"]["capabilities"])
        self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & set(self.daemonset.pod))

    def test_selector_and_grace_fit(self):
        labels = self.daemonset.spec["template"]["metadata"]["labels"]
        self.assertLessEqual(self.daemonset.spec["selector"]["matchLabels"].items(), labels.items())
        self.assertEqual(self.daemonset.volume("config")["configMap"]["name"], self.daemonset.config_name)
        grace = int(unit("cubind.service")["TimeoutStopSec"][0])
        self.assertEqual(self.daemonset.pod["terminationGracePeriodSeconds"], grace)

    def test_the_image_has_packages_that_are_made(self):
        copied = [name.split("_")[0] for name in dict(reversed(steps(DEPLOY / "Containerfile")))["COPY"].split()[:-1]]
        self.assertEqual(copied, ["cubind", "cubinctl"])
        self.assertLessEqual(set(copied), set(packages()))


if __name__ == "__main__":
    unittest.main()
