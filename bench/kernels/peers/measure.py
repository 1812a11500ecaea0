"""cubind beside its peers on this GPU, in one run; prints one JSON line for each cell as it is measured, and what surrounds them.

  measure.py --library libcubind.so --daemon cubind [--peers-folder DIR] [--groups grid,f16,between,uneven,chained]
             [--formats w4a16-g128,...] [--shapes 8192x8192,...] [--batches 1,16,...] [--peers cubind,cublas,marlin,machete,humming,tinygemm]

cubind's outputs are checked first: against the product in double precision, into memory that held NaNs, twice for the same bits.
Then, for each shape and batch size, the graphs of all peers and formats are replayed in turn. Conditions: timing.py. Groups:
  grid      the shapes and batch sizes of cases.py, all peers        f16       the same for cubind with f16 beside bf16, groups of 128
  between   batch sizes and shapes between those, cubind and cuBLAS  uneven    N and K that are no multiples of 256, and rounded up
  chained   GEMM, small kernel, GEMM: what depends on each other
CUBIND_NVRTC names the NVRTC that daemon and reader use. Exit code 1 if a number was wrong, 3 if a peer broke the CUDA context.
"""
import argparse, gc, json, os, sys, threading, time
import torch
import cases
from cases import BATCHES, FORMATS, SHAPES, Format
from cubind_library import Daemon, Library
from peer_cubind import Layer as Cubind
from timing import capture, in_turns
import environment, peer_torch, reader

start = time.time()
wrong = 0


def emit(**row):
    sys.stdout.write(json.dumps(row) + "\n")         # one write: a second thread emits, too
    sys.stdout.flush()


def left(arguments):
    return arguments.seconds - (time.time() - start)


def release():
    gc.collect()
    torch.cuda.empty_cache()


def plan(arguments):
    """{shape: {batch: group}} and, for each shape, the formats that divide its k and the peers that are measured there."""
    shapes = [tuple(map(int, s.split("x"))) for s in arguments.shapes.split(",")] if arguments.shapes else None
    batches = [int(m) for m in arguments.batches.split(",")] if arguments.batches else None
    cells = {}
    def add(group, of_shapes, of_batches):
        for shape in of_shapes:
            for m in of_batches:
                if (shapes is None or shape in shapes) and (batches is None or m in batches):
                    cells.setdefault(shape, {}).setdefault(m, group)
    if "grid" in arguments.groups or "f16" in arguments.groups:
        add("grid", shapes or SHAPES, batches or BATCHES)
    if "between" in arguments.groups:
        add("between", SHAPES, cases.BETWEEN_BATCHES)
        add("between", cases.BETWEEN_SHAPES, cases.BETWEEN_BATCHES + BATCHES)
    if "uneven" in arguments.groups:
        for shape in cases.UNEVEN_SHAPES:
            add("uneven", [shape, cases.rounded_up(shape)], cases.UNEVEN_BATCHES)
    return cells


class Run:
    def __init__(self, arguments):
        self.arguments = arguments
        self.cells = plan(arguments)
        self.formats = [FORMATS[name] for name in arguments.formats.split(",")] if arguments.formats else list(FORMATS.values())
        self.library = Library(arguments.library)
        self.daemon = Daemon(arguments.daemon)
        self.cubind = {}      # (fmt, n, k): layer
        self.found = {}       # (fmt, n, k, m): what check() found
        self.humming = {}     # (fmt, n, k): layer

    def wants(self, peer):
        return peer in self.arguments.peers

    def formats_of(self, n, k):
        """Those of cubind: with f16 beside bf16 where that is asked for."""
        fit = [f for f in self.formats if f.group == 0 or k % f.group == 0]
        if "f16" in self.arguments.groups and (n, k) in SHAPES:
            fit += [Format(f.group, f.zero_points, "f16") for f in fit if f.group == 128]
        return fit

    def has_peers(self, n, k):
        return "grid" in self.arguments.groups and "grid" in self.cells[n, k].values()

    # ---- before anything is timed ----

    def compile_humming(self):
        import peer_humming
        jobs = []
        for (n, k), batches in self.cells.items():
            if not self.has_peers(n, k):
                continue
            for fmt in self.formats:
                try:
                    self.humming[fmt, n, k] = layer = peer_humming.Layer(fmt, n, k)
                except Exception as error:
                    emit(peer="humming", fmt=fmt.name, n=n, k=k, refused=str(error)[:160])
                    continue
                jobs += [(layer, m) for m, group in batches.items() if group == "grid"]
        before = time.time()
        failed = peer_humming.compile_all(jobs)
        emit(note="humming compiled", kernels=len(jobs), failed=len(failed), seconds=round(time.time() - before, 1))
        for (layer, m), why in list(failed.items())[:20]:
            emit(peer="humming", n=layer.config.shape_n, k=layer.config.shape_k, m=m, refused=why)

    def prepare_cubind(self):
        """One request for all layers, as a model makes it."""
        wanted = [(fmt, n, k) for n, k in self.cells for fmt in self.formats_of(n, k)]
        before = time.time()
        client = self.library.client(self.daemon.socket)
        handles = self.library.prepare(client, [(fmt.descriptor, n, k, max(self.cells[n, k])) for fmt, n, k in wanted], deadline_ms=300000)
        emit(note="cubind prepared", layers=len(handles), seconds=round(time.time() - before, 1))
        self.prepared = dict(zip(wanted, handles))

    def check_cubind(self):
        global wrong
        before = time.time()
        for (fmt, n, k), handle in self.prepared.items():
            batches = sorted(self.cells[n, k])
            layer = self.cubind[fmt, n, k] = Cubind(self.library, handle, fmt, n, k, batches[-1])
            for m, found in layer.check(batches).items():
                self.found[fmt, n, k, m] = found
                if not (found["right"] and found["same_bits"]):
                    wrong += 1
                    emit(check="failed", fmt=fmt.name, activation=fmt.activation, n=n, k=k, m=m, **found, **layer.describe(m))
        release()
        emit(note="cubind checked", launches=2 * len(self.found), wrong=wrong, seconds=round(time.time() - before, 1))

    # ---- timing ----

    def rate(self):
        """Operations a second of cuBLAS at 8192 rows, the median over the shapes from 4096 x 4096 on."""
        rates = []
        for n, k in [shape for shape in SHAPES if shape[0] * shape[1] >= 4096 * 4096]:
            layer = peer_torch.Cublas(n, k)
            us = in_turns({"cublas": capture(layer.calls(8192))}, 3)["cublas"]
            rates.append(2e6 * 8192 * n * k / us)
            emit(note="cublas rate", n=n, k=k, m=8192, us=round(us, 1), tflops=round(rates[-1] / 1e12, 1))
            del layer
            release()
        return sorted(rates)[len(rates) // 2]

    def layers_of(self, n, k):
        """{(peer, fmt): layer} of a shape, loaded."""
        layers = {}
        if self.wants("cublas"):
            layers["cublas", None] = peer_torch.Cublas(n, k)
        for fmt in self.formats_of(n, k):
            if self.wants("cubind"):
                layer = layers["cubind", fmt] = self.cubind[fmt, n, k]
                layer.rotate()
        if not self.has_peers(n, k):
            return layers
        for fmt in self.formats:
            makers = [(p, lambda p=p: peer_torch.Layer(p, fmt, n, k)) for p in peer_torch.peers_of(fmt)]
            if self.arguments.peers_folder:
                import peer_vllm
                makers += [(p, lambda p=p: peer_vllm.Layer(p, fmt, n, k)) for p in peer_vllm.peers_of(fmt)]
            if (fmt, n, k) in self.humming:
                def load(layer=self.humming[fmt, n, k]):
                    layer.load()
                    return layer
                makers.append(("humming", load))
            for peer, make in makers:
                if not self.wants(peer):
                    continue
                try:
                    layers[peer, fmt] = make()
                except Exception as error:
                    emit(peer=peer, fmt=fmt.name, n=n, k=k, refused=f"{type(error).__name__}: {str(error)[:160]}")
        return layers

    def time_cell(self, layers, n, k, m, group):
        captured = {}
        for (peer, fmt), layer in layers.items():
            if group != "grid" and peer not in ("cubind", "cublas"):
                continue
            try:
                calls = layer.calls(m)
                if calls is not None:
                    captured[peer, fmt] = capture(calls)
            except Exception as error:
                text = f"{type(error).__name__}: {str(error)[:160]}"
                emit(peer=peer, fmt=fmt.name if fmt else "w16a16", n=n, k=k, m=m, refused=text)
                if "CUDA error" in text or "illegal" in text:
                    sys.exit(3)                 # the context is gone; start again without this peer
        for (peer, fmt), us in in_turns(captured, self.arguments.replays).items():
            row = dict(peer=peer, fmt=fmt.name if fmt else "w16a16", n=n, k=k, m=m, us=round(us, 2), group=group)
            if fmt:
                row["floor_us"] = round(self.floor.us(fmt, n, k, m), 2)
            if peer == "cubind":
                self.add_findings(row, layers[peer, fmt], m)
            emit(**row)

    def add_findings(self, row, layer, m):
        """After the timed launches: their output must be what a checked launch gives."""
        global wrong
        found = self.found[layer.fmt, layer.n, layer.k, m]
        timed_right = torch.equal(layer.last_out.view(torch.int16), layer.output(m).view(torch.int16))
        if not timed_right:
            wrong += 1
        row.update(activation=layer.fmt.activation, **found, timed_right=timed_right, **layer.describe(m))

    def chained(self):
        """us of GEMM and small kernel in a chain, and of the small kernel alone in one."""
        fmt = self.formats[0]
        for n in (2048, 4096, 8192):
            if (n, n) not in SHAPES + [(2048, 2048)] or left(self.arguments) < 5:
                continue
            handle, = self.library.prepare(self.library.client(self.daemon.socket), [(fmt.descriptor, n, n, 1024)])
            layer = Cubind(self.library, handle, fmt, n, n, 1024)
            layer.rotate()
            cublas = peer_torch.Cublas(n, n)
            for m in (1, 16, 64, 256, 1024):
                y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
                x = layer.problem.x[:m]
                small = lambda: torch.mul(y, 1e-3, out=x)
                ours = [layer.args(m, set_, y) for set_ in layer.sets]
                calls = {"cubind": [lambda a=a: (layer.launch(a), small()) for a in ours],
                         "cublas": [lambda w=w: (torch.mm(x, w.t(), out=y), small()) for w in cublas.w], "small": [small] * 64}
                us = in_turns({name: capture(of) for name, of in calls.items()}, self.arguments.replays)
                emit(group="chained", fmt=fmt.name, n=n, k=n, m=m, dependent_launch=False, small_us=round(us["small"], 2),
                     us=round(us["cubind"], 2), cublas_us=round(us["cublas"], 2))
            del layer, cublas
            release()

    def go(self):
        emit(**environment.describe(self.arguments.peers_folder))
        humming = None
        if self.wants("humming") and self.arguments.peers_folder:
            humming = threading.Thread(target=self.compile_humming)
            humming.start()
        if self.wants("cubind") and self.cells:
            self.prepare_cubind()
            self.check_cubind()
        if humming:
            humming.join()
        self.floor = reader.Floor(self.arguments.replays)
        for bytes_, us in self.floor.points:
            emit(note="floor", bytes=bytes_, us=round(us, 2))
        if self.cells:
            self.floor.flops = self.rate()
            emit(note="rate", tflops=round(self.floor.flops / 1e12, 1))
        for (n, k), batches in self.cells.items():
            if left(self.arguments) < 0:
                break
            layers = self.layers_of(n, k)
            for m in sorted(batches):
                if left(self.arguments) < 0:
                    emit(note="out of time", n=n, k=k, m=m)
                    break
                self.time_cell(layers, n, k, m, batches[m])
            for layer in layers.values():
                layer.__dict__.pop("sets", None)
            layers.clear()
            for key in [key for key in self.cubind if key[1:] == (n, k)]:
                del self.cubind[key]
            release()
        if "chained" in self.arguments.groups:
            self.chained()
        emit(note="done", wrong=wrong, seconds=round(time.time() - start, 1))


def main():
    parser = argparse.ArgumentParser()
    for option in ("formats", "shapes", "batches", "peers-folder"):
        parser.add_argument("--" + option)
    parser.add_argument("--library", required=True)
    parser.add_argument("--daemon", required=True)
    parser.add_argument("--groups", default="grid,f16,between,uneven,chained", type=lambda text: text.split(","))
    parser.add_argument("--peers", default="cubind,cublas,marlin,machete,humming,tinygemm", type=lambda text: text.split(","))
    parser.add_argument("--replays", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=540, help="no new cell is started after this")
    arguments = parser.parse_args()
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    if arguments.peers_folder:
        import peer_vllm
        peer_vllm.load(arguments.peers_folder)
    run = Run(arguments)
    try:
        run.go()
    finally:
        run.daemon.close()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
