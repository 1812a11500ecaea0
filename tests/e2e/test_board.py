"""Each query of the Grafana board (docs/grafana/cubind.json) against a real Prometheus that scrapes a daemon with some
traffic over loopback. Skipped, with the reason, where no Prometheus is installed."""
import json
import re
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import ARCH, FORMAT, SOURCE, DaemonTest, configs

BOARD = SOURCE / "docs/grafana/cubind.json"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def queries():
    """(panel, query) of the whole board, with Grafana's variables filled in."""
    fill = {"$__rate_interval": "20s", "$__range": "1m", "$node": ".*"}
    found = []
    for panel in json.loads(BOARD.read_text())["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in fill.items():
                query = query.replace(name, value)
            found.append((panel["title"], query))
    return found


@unittest.skipUnless(shutil.which("prometheus"), "no prometheus is installed")
class Board(DaemonTest):
    port = free_port()
    settings = {"metrics.listen": f"127.0.0.1:{port}"}

    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.api = free_port()
        config = self.daemon.folder / "prometheus.yml"
        config.write_text(f"""
global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs: [{{job_name: cubind, static_configs: [{{targets: ["127.0.0.1:{self.port}"]}}]}}]
""")
        with open(self.daemon.folder / "prometheus.log", "wb") as log:
            prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.daemon.folder / 'tsdb'}",
                 f"--web.listen-address=127.0.0.1:{self.api}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.daemon.clients.append(prometheus)

    def ask(self, query):
        url = f"http://127.0.0.1:{self.api}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []  # it is still starting
            self.fail(f"{query}: {error.read().decode()}")
        except OSError:
            return []  # it does not listen yet

    def value(self, query):
        result = self.ask(query)
        return float(result[0]["value"][1]) if result else 0

    def test_every_query_has_an_answer_and_names_metrics_that_exist(self):
        self.wait_until(lambda: self.value('up{job="cubind"}') == 1)
        for name in configs():
            self.json("get", FORMAT, "--arch", ARCH, "--config", name)
            self.json("get", FORMAT, "--arch", ARCH, "--config", name)
        self.wait_until(lambda: self.value("rate(cubind_kernels_hit_memory_total[20s])") > 0)
        asked = queries()
        self.assertGreater(len(asked), 30)
        known = set(self.metrics())
        for panel, query in asked:
            with self.subTest(panel=panel, query=query):
                self.assertEqual(set(re.findall(r"cubind_\w+", query)) - known, set())
                result = self.ask(query)
                self.assertEqual(len(result), 1, result)
                self.assertNotIn(result[0]["value"][1], ("NaN", "+Inf", "-Inf"))

    def test_the_board_shows_every_metric(self):
        shown = set(re.findall(r"cubind_\w+", BOARD.read_text()))
        self.assertEqual(set(self.metrics()) - shown, {
            # Behind others that are shown: the one says when, the others since when and how many ever.
            "cubind_compiles_running_most", "cubind_connections_total", "cubind_base_hits_total"})


if __name__ == "__main__":
    unittest.main()
