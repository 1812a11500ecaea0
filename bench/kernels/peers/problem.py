"""A layer with known numbers: random 4-bit weights packed by their definition (docs/kernel-authoring.md), not by the library's
packing, and the exact product in double precision."""
import torch

TOLERANCE = {"bf16": 2.5e-3, "f16": 4e-4}
DTYPE = {"bf16": torch.bfloat16, "f16": torch.float16}
ROUNDING_AND_SUM = 1.15          # of an output's error, beside its rounding: weights were rounded, too
CHUNK_ELEMENTS = 1 << 28         # of a double precision intermediate


def padded(tensor, rows, columns):
    out = tensor.new_zeros(rows, columns)
    out[:tensor.shape[0], :tensor.shape[1]] = tensor
    return out


def up(value, step):
    return -(-value // step) * step


def pack_q(q):
    """[n, k] of 0..15 to [np/16][kp/64][lane 4 g + t][step]; row g + 8 a, k 16 step + 8 b + 2 t + h is nibble a + 2 b + 4 h."""
    n, k = up(q.shape[0], 16), up(q.shape[1], 64)
    parts = q.view(n // 16, 2, 8, k // 64, 4, 2, 4, 2)          # tile, a, g, unit, step, b, t, h
    words = torch.zeros(n // 16, k // 64, 8, 4, 4, dtype=torch.int32, device=q.device)   # tile, unit, g, t, step
    for a in range(2):
        for b in range(2):
            for h in range(2):
                nibble = parts[:, a, :, :, :, b, :, h].permute(0, 2, 1, 4, 3).to(torch.int32)   # tile, g, unit, step, t before
                words |= nibble << (4 * (a + 2 * b) + 16 * h)
    return words


def pack_groups(values, n):
    """[n, kg] to [np/16][kg][g][2]: rows g and g + 8 side by side."""
    groups = values.shape[1]
    full = padded(values, up(n, 16), groups)
    return full.view(-1, 2, 8, groups).permute(0, 3, 2, 1).contiguous()


class Problem:
    def __init__(self, fmt, n, k, max_m, seed=0):
        generator = torch.Generator("cuda").manual_seed(seed + 31 * n + k)
        rand = lambda *shape: torch.rand(shape, device="cuda", generator=generator)
        self.fmt, self.n, self.k, self.dtype = fmt, n, k, DTYPE[fmt.activation]
        groups = fmt.groups(k)
        self.q = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda", generator=generator)
        # Per channel, rows of several times the others' size would have outputs of ten rms, whose correct rounding alone breaks the bound
        # of the largest error; so scales and zero points stay near the mean there, and the outputs' rms a little above a power of two,
        # where rounding an output of 4 to 8 rms costs the least.
        spread, lowest, zeros = (1.0, 0, 16) if fmt.group else (0.2, 5, 6)
        self.scales = (0.01 * (1 + spread * (rand(n, groups) - 0.5))).to(self.dtype)
        self.zeros = torch.randint(lowest, lowest + zeros, (n, groups), dtype=torch.uint8, device="cuda",
                                   generator=generator) if fmt.zero_points else None
        codes = 21.25 + ((zeros**2 - 1) / 12 if fmt.zero_points else 0.25)          # mean square of q - z
        rms = 0.01 * (1 + spread**2 / 12) ** 0.5 * codes ** 0.5
        x = torch.randn(max_m, k, device="cuda", generator=generator)
        self.x = (x * (1.03 / (rms * k ** 0.5))).to(self.dtype)

    def packed(self):
        q = torch.full((up(self.n, 16), up(self.k, 64)), 8, dtype=torch.uint8, device="cuda")
        if self.zeros is not None:
            q[:self.n] = self.zeros[:, -1:]
            q[self.n:] = 0
        q[:self.n, :self.k] = self.q
        zeros = pack_groups(self.zeros, self.n) if self.zeros is not None else None
        return pack_q(q), pack_groups(self.scales, self.n), zeros

    def weights(self):
        """s (q - z), exact in double precision, [n, k]."""
        span = self.fmt.group or self.k
        w = self.q.double().view(self.n, -1, span)
        w -= self.zeros.double().unsqueeze(-1) if self.zeros is not None else 8.0
        w *= self.scales.double().unsqueeze(-1)
        return w.view(self.n, self.k)

    def reference(self):
        return self.x.double() @ self.weights().t()

    def judge(self, out, reference):
        """error: norm of the error / norm of the reference. highest: largest error / (8 tolerance rms). rounding: the highest that the
        exact product has once it is rounded to the output's type, which among many outputs is above 1 by itself."""
        rows, step = out.shape[0], max(1, CHUNK_ELEMENTS // self.n)
        error = norm = most = rounded = 0.0
        for row in range(0, rows, step):
            exact = reference[row:min(rows, row + step)]
            difference = out[row:row + step].double() - exact
            error += difference.square().sum().item()
            norm += exact.square().sum().item()
            most = max(most, difference.abs().max().item())
            rounded = max(rounded, (exact.to(self.dtype).double() - exact).abs().max().item())
        unit = 8 * TOLERANCE[self.fmt.activation] * (norm / (rows * self.n)) ** 0.5
        found = {"error": (error / norm) ** 0.5, "highest": most / unit, "rounding": rounded / unit}
        right = found["error"] <= TOLERANCE[self.fmt.activation] and found["highest"] <= max(1.0, ROUNDING_AND_SUM * found["rounding"])
        return {name: float(f"{value:.3g}") for name, value in found.items()} | {"right": right}
