"""The floor of a memory-bound launch on this GPU: what merely reading a layer's bytes takes, cold, as one launch of a CUDA graph. The
kernel is reader.cu, compiled by the NVRTC of $CUBIND_NVRTC."""
import ctypes, os
import torch
from timing import capture, in_turns

SHAPES_OF_RING = [(8192, 24), (16384, 13)]         # chunk, stages; the better one counts
POOL_BYTES = 1 << 30
POINTS_MB = [0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8.5, 12, 16, 20, 26, 34, 42, 50, 60, 75, 100, 125, 180, 240, 340, 480, 700]


def good(result, what):
    if result != 0:
        raise RuntimeError(f"{what}: error {result}")


def compiled(chunk, stages):
    nvrtc = ctypes.CDLL(os.environ["CUBIND_NVRTC"])
    source = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "reader.cu"), "rb").read()
    options = [b"--gpu-architecture=sm_90a", b"--std=c++17", b"-DkChunk=%d" % chunk, b"-DkStages=%d" % stages]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    good(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"reader.cu", 0, None, None), "nvrtcCreateProgram")
    result = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if result != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError("reader.cu: " + log.value.decode())
    good(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
    cubin = ctypes.create_string_buffer(size.value)
    good(nvrtc.nvrtcGetCUBIN(program, cubin), "nvrtcGetCUBIN")
    return cubin


class Reader:
    def __init__(self, chunk, stages):
        self.chunk, self.smem = chunk, chunk * stages
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.cubin = compiled(chunk, stages)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        good(self.cuda.cuModuleLoadData(ctypes.byref(module), self.cubin), "cuModuleLoadData")
        good(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), module, b"read_bulk"), "cuModuleGetFunction")
        good(self.cuda.cuFuncSetAttribute(self.function, 8, self.smem), "cuFuncSetAttribute")       # dynamic shared memory
        self.blocks = torch.cuda.get_device_properties(0).multi_processor_count

    def launch(self, address, bytes_):
        source, count = ctypes.c_void_p(address), ctypes.c_ulonglong(bytes_)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(source), ctypes.addressof(count))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        good(self.cuda.cuLaunchKernel(self.function, self.blocks, 1, 1, 32, 1, 1, self.smem, stream, arguments, None), "cuLaunchKernel")


class Floor:
    """Microseconds of reading, between measured points; and of multiplying, once `flops` is known."""

    def __init__(self, replays):
        pool = torch.randint(-2**62, 2**62, (POOL_BYTES // 8,), dtype=torch.int64, device="cuda")
        readers = [Reader(*ring) for ring in SHAPES_OF_RING]
        self.points, self.flops = [], None
        for mb in POINTS_MB:
            captured, count = {}, {}
            for reader in readers:
                count[reader] = int(mb * 1e6) // reader.chunk * reader.chunk
                slots = min(512, POOL_BYTES // count[reader])
                captured[reader] = capture([lambda r=reader, slot=slot: r.launch(pool.data_ptr() + slot * count[r], count[r])
                                            for slot in range(slots)])
            us = in_turns(captured, replays)
            best = min(readers, key=lambda reader: us[reader])
            self.points.append((count[best], us[best]))

    def read_us(self, bytes_):
        points = self.points
        if bytes_ <= points[0][0]:
            return points[0][1]
        for (low, low_us), (high, high_us) in zip(points, points[1:]):
            if bytes_ <= high:
                return low_us + (high_us - low_us) * (bytes_ - low) / (high - low)
        return points[-1][1] * bytes_ / points[-1][0]

    def us(self, fmt, n, k, m):
        read = self.read_us(fmt.weight_bytes(n, k) + 2 * m * (n + k))
        return max(read, 2e6 * m * n * k / self.flops)
