"""What is measured: number formats, layer shapes, batch sizes."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """4-bit integer weights, 16-bit activations and scales. group 0: one scale for each output channel."""
    group: int
    zero_points: bool
    activation: str = "bf16"

    @property
    def name(self):
        return f"w4a16-{f'g{self.group}' if self.group else 'ch'}{'-zp' if self.zero_points else ''}"

    @property
    def descriptor(self):
        """As cubind names it."""
        return self.name.replace("w4a16-", f"w4a16-{self.activation}-")

    def groups(self, k):
        return k // self.group if self.group else 1

    def weight_bytes(self, n, k):
        """What has to be read of a layer's weights, whoever stores them: zero points are 4 bits."""
        return n * k / 2 + n * self.groups(k) * (2.5 if self.zero_points else 2)


FORMATS = {f.name: f for zero_points in (False, True) for group in (128, 64, 32, 0) for f in [Format(group, zero_points)]}

# (N, K): 8B qkv, o, gate_up, down; 70B qkv, o, gate_up, down; a small and a narrow one
SHAPES = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),
          (10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672), (2048, 2048), (640, 2048)]
BATCHES = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192]

# Between the points that plans are made from.
BETWEEN_SHAPES = [(5120, 25600), (3584, 18944), (7168, 2048)]
BETWEEN_BATCHES = [5, 23, 41, 57, 72, 80, 112, 144, 160, 208, 224, 320, 640]

# Each with its N and K rounded up to multiples of 256.
UNEVEN_SHAPES = [(2880, 2880), (4160, 4160), (1056, 4160), (640, 2880), (4160, 2880)]
UNEVEN_BATCHES = [1, 16, 64, 256, 1024]


def rounded_up(shape):
    return tuple(-(-side // 256) * 256 for side in shape)
