"""vLLM's operators for 4-bit weights: Marlin, with FP32 reduction as vLLM calls it, and Machete with its own choice of schedule."""
import sys
import torch
from timing import copies_for


def load(folder):
    torch.ops.load_library(f"{folder}/_C_stable_libtorch.so")
    sys.path[:0] = [folder]


def peers_of(fmt):
    return ["marlin"] + (["machete"] if fmt.group in (0, 64, 128) else [])


def scalar_type(fmt):
    from scalar_type import scalar_types
    return (scalar_types.uint4 if fmt.zero_points else scalar_types.uint4b8).id


def random_words(*shape):
    return torch.randint(-2**31, 2**31 - 1, shape, dtype=torch.int32, device="cuda")


class Layer:
    def __init__(self, peer, fmt, n, k):
        self.peer, self.fmt, self.n, self.k, self.type = peer, fmt, n, k, scalar_type(fmt)
        one = self._marlin() if peer == "marlin" else self._machete()
        copy = lambda: tuple(None if t is None else t.clone() for t in one)
        self.sets = [one] + [copy() for _ in range(copies_for(n * k / 2) - 1)]
        self.workspace = torch.zeros(132 * 4, dtype=torch.int32, device="cuda")

    def _scales(self):
        return torch.rand(self.fmt.groups(self.k), self.n, device="cuda").bfloat16() * 0.01

    def _marlin(self):
        zeros = random_words(self.fmt.groups(self.k), self.n // 8) if self.fmt.zero_points else None
        return random_words(self.k // 16, self.n * 2), self._scales(), zeros

    def _machete(self):
        q = torch.ops._C.machete_prepack_B(random_words(self.n, self.k // 8).t(), torch.bfloat16, self.type, torch.bfloat16)
        return q, self._scales(), self._scales() if self.fmt.zero_points else None     # zeros are -scale * zero point

    def calls(self, m):
        a = torch.randn(m, self.k, device="cuda").bfloat16()
        if self.peer == "marlin":
            return [lambda s=s: torch.ops._C.marlin_gemm(a, None, s[0], None, s[1], None, None, s[2], None, None, self.workspace,
                                                         self.type, m, self.n, self.k, True, False, True, False) for s in self.sets]
        group = self.fmt.group or self.k
        return [lambda s=s: torch.ops._C.machete_mm(a, s[0], self.type, torch.bfloat16, s[1], s[2], group, None, None, None)
                for s in self.sets]
