"""cubind: kernels requested from a running daemon, loaded and launched by the client library, the planner's choice."""
import ctypes
import torch
from cubind_library import LaunchArgs
from problem import Problem
from timing import copies_for


class Layer:
    """One layer's kernels, its weights once, and its exact products while they are checked."""

    def __init__(self, library, prepared, fmt, n, k, max_m):
        self.library, self.prepared, self.fmt, self.n, self.k = library, prepared, fmt, n, k
        self.loaded = library.load(prepared)
        self.problem = Problem(fmt, n, k, max_m)
        self.sets = [self.problem.packed()]
        size = max(256, library.c.cubind_layer_workspace_bytes(prepared, 0))
        self.workspace = torch.zeros(size, dtype=torch.uint8, device="cuda")

    def args(self, m, set_, out):
        pointer = lambda tensor: None if tensor is None else tensor.data_ptr()
        weights, scales, zeros = set_
        return LaunchArgs(struct_size=ctypes.sizeof(LaunchArgs), m=m, ldx=self.k, ldo=self.n, x=pointer(self.problem.x), weights=pointer(weights),
                          scales=pointer(scales), zeros=pointer(zeros), bias=None, out=pointer(out), workspace=pointer(self.workspace),
                          workspace_bytes=self.workspace.numel(), stream=None)

    def launch(self, args):
        args.stream = torch.cuda.current_stream().cuda_stream
        self.library.call("cubind_layer_launch", self.loaded, ctypes.byref(args))

    def output(self, m):
        """Of one launch into memory that held NaNs."""
        out = torch.full((m, self.n), float("nan"), dtype=self.problem.dtype, device="cuda")
        self.launch(self.args(m, self.sets[0], out))
        return out

    def check(self, batches):
        """{m: what a row says about right and wrong}. Every m twice, to compare the bits."""
        reference = self.problem.reference()
        found = {}
        for m in batches:
            out = self.output(m)
            found[m] = self.problem.judge(out, reference[:m])
            found[m]["same_bits"] = torch.equal(out.view(torch.int16), self.output(m).view(torch.int16))
        del self.problem.q
        return found

    def describe(self, m):
        row, info = self.library.row(self.prepared, m)
        return dict(config=f"{info.name.decode()}/{row.splits}", registers=info.registers, smem=info.smem_bytes, spills=info.local_bytes,
                    cubin_bytes=info.cubin_bytes, arch=info.arch.decode())

    def rotate(self):
        one = self.sets[0]
        copy = lambda: tuple(None if t is None else t.clone() for t in one)
        bytes_ = sum(t.numel() * t.element_size() for t in one if t is not None)
        self.sets += [copy() for _ in range(copies_for(bytes_) - 1)]

    def calls(self, m):
        out = torch.empty(m, self.n, dtype=self.problem.dtype, device="cuda")
        self.last_out = out
        return [lambda args=self.args(m, set_, out): self.launch(args) for set_ in self.sets]
