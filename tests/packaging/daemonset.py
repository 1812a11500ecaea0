"""Reads docs/deploy/daemonset.yaml: daemonset.py DEPLOY ROOT OUT writes what a node would run, a word a line, into the folder OUT, and the
ConfigMap's files into ROOT where the container would see them."""
import pathlib
import sys

import yaml

from containerfile import value_of


class DaemonSet:
    def __init__(self, deploy):
        self.deploy = pathlib.Path(deploy)
        documents = {d["kind"]: d for d in yaml.safe_load_all((self.deploy / "daemonset.yaml").read_text())}
        self.files = documents["ConfigMap"]["data"]
        self.metadata = documents["DaemonSet"]["metadata"]
        self.spec = documents["DaemonSet"]["spec"]
        self.pod = self.spec["template"]["spec"]
        self.container, = self.pod["containers"]
        self.init, = self.pod["initContainers"]
        self.config_name = documents["ConfigMap"]["metadata"]["name"]

    def mount(self, name):
        return next(m for m in self.container["volumeMounts"] if m["name"] == name)

    def volume(self, name):
        return next(v for v in self.pod["volumes"] if v["name"] == name)

    def user(self):
        context = self.pod["securityContext"]
        return f'{context["runAsUser"]}:{context["runAsGroup"]}'

    def command(self):
        return self.container.get("command") or value_of(self.deploy / "Containerfile", "CMD")

    def commands(self):
        """By the name of what runs them."""
        probes = {name: self.container[name]["exec"]["command"] for name in ("livenessProbe", "readinessProbe")}
        return {"init": self.init["command"], "command": self.command(), **probes,
                "HEALTHCHECK": value_of(self.deploy / "Containerfile", "HEALTHCHECK")}


if __name__ == "__main__":
    deploy, root, out = sys.argv[1:]
    daemonset = DaemonSet(deploy)
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(out) / "user").write_text(daemonset.user() + "\n")
    for name, words in daemonset.commands().items():
        (pathlib.Path(out) / name).write_text("".join(word + "\n" for word in words))
    for name, text in daemonset.files.items():
        (pathlib.Path(root) / daemonset.mount("config")["mountPath"].lstrip("/") / name).write_text(text)
