"""cuBLAS through PyTorch (BF16), and PyTorch's own int4 kernel, which has zero points in any case."""
import torch
from timing import copies_for

TINYGEMM_MAX_M = 64              # far slower than everything else beyond


def peers_of(fmt):
    return ["tinygemm"] if fmt.group else []


class Cublas:
    def __init__(self, n, k):
        self.k = k
        self.w = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(copies_for(n * k * 2))]

    def calls(self, m):
        a = torch.randn(m, self.k, device="cuda", dtype=torch.bfloat16)
        out = torch.empty(m, self.w[0].shape[0], device="cuda", dtype=torch.bfloat16)
        return [lambda w=w: torch.mm(a, w.t(), out=out) for w in self.w]


class Layer:
    def __init__(self, peer, fmt, n, k):
        self.fmt, self.k = fmt, k
        packed = torch.randint(0, 255, (n, k // 2), dtype=torch.uint8, device="cuda")
        one = torch._convert_weight_to_int4pack(packed, 8)
        scales = torch.rand(k // fmt.group, n, 2, device="cuda", dtype=torch.bfloat16)
        copies = copies_for(n * k / 2)
        self.sets = [(one, scales)] + [(one.clone(), scales.clone()) for _ in range(copies - 1)]

    def calls(self, m):
        if m > TINYGEMM_MAX_M:
            return None
        a = torch.randn(m, self.k, device="cuda", dtype=torch.bfloat16)
        return [lambda s=s: torch._weight_int4pack_mm(a, s[0], self.fmt.group, s[1]) for s in self.sets]
