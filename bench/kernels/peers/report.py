"""Reads the JSON lines of measure.py and prints the tables of docs/performance.md, and the cells that miss a bound.

usage: report.py FILE... > report.md
"""
import collections, json, statistics, sys

INITIAL = {"humming": "H", "marlin": "M", "machete": "X", "tinygemm": "T"}
TOLERANCE_PEER, TOLERANCE_CUBLAS = 1.0, 1.05


def bound_us(floor, m):
    """Below 1024 tokens. From there on cuBLAS is the bound."""
    return 1.05 * floor + 1.4 + m / 16 if m <= 16 else 1.15 * floor + 3.5


class Cell:
    """All that was measured of one shape, batch and format."""

    def __init__(self, n, k, m, fmt, rows, cublas):
        self.n, self.k, self.m, self.fmt = n, k, m, fmt
        self.row = rows.get("cubind")
        peers = {peer: row["us"] for peer, row in rows.items() if peer in INITIAL}
        self.peer = min(peers, key=peers.get) if peers else None
        self.peer_us = peers.get(self.peer)
        self.cublas_us = cublas.get((n, k, m))

    @property
    def us(self):
        return self.row["us"]

    def text(self):
        floor = self.row["floor_us"]
        beside = f" {self.us / self.peer_us:.2f} {INITIAL[self.peer]}" if self.peer else ""
        return f"{self.us:.4g} {100 * floor / self.us:.0f}%{beside}"

    def misses(self):
        """What it should be and is not, each as (rule, ratio)."""
        found = []
        if self.m < 1024:
            bound = bound_us(self.row["floor_us"], self.m)
            if self.us > bound:
                found.append(("floor", self.us / bound))
        elif self.cublas_us:
            allowed = 1.0 if self.n * self.k >= 4096 * 4096 else TOLERANCE_CUBLAS
            if self.us > allowed * self.cublas_us:
                found.append(("rate", self.us / (allowed * self.cublas_us)))
        if self.peer_us and self.us > TOLERANCE_PEER * self.peer_us:
            found.append((self.peer, self.us / self.peer_us))
        if self.m < 1024 and self.cublas_us and self.us > TOLERANCE_CUBLAS * self.cublas_us:
            found.append(("cublas", self.us / self.cublas_us))
        return found


def table(title, head, rows):
    print(f"\n### {title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def ratios(title, pairs):
    """pairs: [(cell name, ratio)]; one line."""
    if pairs:
        worst = max(pairs, key=lambda pair: pair[1])
        print(f"- {title}: median {statistics.median(r for _, r in pairs):.3f}, most {worst[1]:.3f} ({worst[0]}), {len(pairs)} cells")


def name_of(key):
    return "{}x{} m{} {}".format(*key)


class Report:
    def __init__(self, rows):
        self.notes = [row for row in rows if "note" in row]
        self.refused = [row for row in rows if "refused" in row]
        self.failed = [row for row in rows if "check" in row]
        self.chained = [row for row in rows if row.get("group") == "chained"]
        timed = [row for row in rows if "us" in row and "peer" in row]
        self.cublas = {(r["n"], r["k"], r["m"]): r["us"] for r in timed if r["peer"] == "cublas"}
        self.group, by_cell, self.f16 = {}, collections.defaultdict(dict), {}
        for r in timed:
            if r["peer"] == "cublas":
                continue
            key = r["n"], r["k"], r["m"], r["fmt"]
            if r.get("activation") == "f16":
                self.f16[key] = r
            else:
                by_cell[key][r["peer"]] = r
                self.group[key] = r["group"]
        self.cells = {key: Cell(*key, found, self.cublas) for key, found in by_cell.items() if "cubind" in found}

    def of(self, *groups):
        return {key: cell for key, cell in self.cells.items() if self.group[key] in groups}

    def environment(self):
        for row in self.notes:
            if row["note"] == "environment":
                peers = ", ".join(f"{name} {version}" for name, version in row["peers"].items())
                print(f"{row['gpu']}, {row['sms']} SMs, driver {row['driver']}, CUDA {row['cuda']}, {row['nvrtc']}, PyTorch {row['torch']}, "
                      f"{peers or 'no peers'}; {row['date']}.")
            elif row["note"] in ("rate", "cubind checked", "done", "out of time"):
                print(f"{row['note']}: " + ", ".join(f"{key} {value}" for key, value in row.items() if key != "note") + ".")

    def grid(self):
        cells = self.of("grid")
        shapes = list(dict.fromkeys(key[:2] for key in cells))
        batches = sorted({key[2] for key in cells})
        for fmt in dict.fromkeys(key[3] for key in cells):
            table(fmt, ["N x K", *map(str, batches)],
                  [[f"{n} x {k}", *[cells[n, k, m, fmt].text() if (n, k, m, fmt) in cells else "" for m in batches]] for n, k in shapes])
        table("cuBLAS BF16, us", ["N x K", *map(str, batches)],
              [[f"{n} x {k}", *[f"{self.cublas[n, k, m]:.4g}" if (n, k, m) in self.cublas else "" for m in batches]] for n, k in shapes])

    def misses(self, groups, title):
        """By rule and band of m: how many of how many, and the worst."""
        cells = self.of(*groups)
        if not cells:
            return
        counted = collections.Counter()
        missed = collections.defaultdict(list)
        for key, cell in cells.items():
            band = "m <= 16" if cell.m <= 16 else "17-1023" if cell.m < 1024 else ">= 1024"
            counted[band] += 1
            for rule, ratio in cell.misses():
                missed[band, rule].append((ratio, key))
        rows = []
        for (band, rule), found in sorted(missed.items()):
            found.sort(reverse=True)
            rows.append([band, rule, f"{len(found)} of {counted[band]}", f"{statistics.median(r for r, _ in found):.2f}",
                         ", ".join(f"{name_of(key)} {ratio:.2f}" for ratio, key in found[:6])])
        table(title, ["tokens", "bound missed", "cells", "median of time / bound", "worst"], rows)

    def every_miss(self):
        print("\n### Every cell that misses a bound: time / bound\n")
        by_line = collections.defaultdict(list)
        for (n, k, m, fmt), cell in self.of("grid").items():
            for rule, ratio in cell.misses():
                by_line[fmt, f"{n}x{k}"].append(f"m{m} {rule} {ratio:.2f}")
        for (fmt, shape), found in by_line.items():
            print(f"- {fmt} {shape}: " + ", ".join(found))

    def relations(self):
        print("\n### Between cells\n")
        cells = self.of("grid", "between")
        def against(title, groups, other):
            pairs = []
            for (n, k, m, fmt), cell in self.of(*groups).items():
                key = other(n, k, m, fmt)
                if key in self.cells:
                    pairs.append((name_of((n, k, m, fmt)), cell.us / self.cells[key].us))
            ratios(title, pairs)
        against("groups of 32 / groups of 128", ["grid"], lambda n, k, m, f: (n, k, m, f.replace("g32", "g128")) if "g32" in f else None)
        against("zero points / symmetric", ["grid"], lambda n, k, m, f: (n, k, m, f.removesuffix("-zp")) if f.endswith("-zp") else None)
        ratios("f16 / bf16", [(name_of(key), row["us"] / self.cells[key].us) for key, row in self.f16.items() if key in self.cells])
        following = {}
        for n, k, m, fmt in cells:
            of_grid = [key[2] for key in self.of("grid", "between") if key[:2] == (n, k) and key[3] == fmt and key[2] > m and key[2] in GRID]
            if of_grid and m not in GRID:
                following[n, k, m, fmt] = n, k, min(of_grid), fmt
        ratios("between grid points / the next of the grid", [(name_of(key), cells[key].us / cells[after].us) for key, after in following.items()])
        up = lambda side: -(-side // 256) * 256
        against("uneven / rounded up to 256", ["uneven"], lambda n, k, m, f: (up(n), up(k), m, f) if (up(n), up(k)) != (n, k) else None)

    def accuracy(self):
        print("\n### Accuracy and resources\n")
        worst = {}
        rows = [cell.row for cell in self.cells.values()] + list(self.f16.values())
        for row in rows:
            kind = row["activation"]
            if kind not in worst or row["error"] > worst[kind]["error"]:
                worst[kind] = row
        for kind, row in worst.items():
            print(f"- {kind}: largest error {row['error']:.2e} ({name_of((row['n'], row['k'], row['m'], row['fmt']))})")
        above = sum(row["highest"] > 1 for row in rows)
        print(f"- largest error of an output above 8 tolerances of rms: {above} of {len(rows)} cells; there the exact product rounded to the "
              f"output's type is off by {max((row['rounding'] for row in rows if row['highest'] > 1), default=0):.2f} of that itself")
        print(f"- launches that were not right or not the same bits: {len(self.failed)}; timed outputs that differed: "
              f"{sum(not row['timed_right'] for row in rows)}")
        kernels = {}
        for row in rows:
            kernels[row["config"].split("/")[0]] = row
        table("Kernels that were used", ["config", "registers", "shared memory", "spills", "cubin bytes"],
              [[name, str(r["registers"]), str(r["smem"]), str(r["spills"]), str(r["cubin_bytes"])] for name, r in sorted(kernels.items())])

    def chains(self):
        if self.chained:
            table("Chained: GEMM and a small kernel, each waiting for the other, us", ["N x K", "m", "cubind", "cuBLAS", "small kernel alone"],
                  [[f"{r['n']} x {r['k']}", str(r["m"]), str(r["us"]), str(r["cublas_us"]), str(r["small_us"])] for r in self.chained])


GRID = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192)


def main(paths):
    report = Report([json.loads(line) for path in paths for line in open(path) if line.startswith("{")])
    report.environment()
    report.misses(["grid"], "Bounds of the grid")
    report.misses(["between"], "Bounds between the grid's points")
    report.relations()
    report.accuracy()
    report.chains()
    report.grid()
    report.every_miss()
    refused = collections.Counter((row["peer"], row["fmt"] if "fmt" in row else "", row["refused"][:80]) for row in report.refused)
    if refused:
        print("\n### Refused\n")
    for (peer, fmt, why), count in refused.items():
        print(f"- {peer} {fmt}: {why} ({count})")


if __name__ == "__main__":
    main(sys.argv[1:])
