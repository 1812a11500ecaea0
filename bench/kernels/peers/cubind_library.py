"""libcubind.so through its C ABI (client/include/cubind/cubind.h, weights.h), and a daemon to ask."""
import ctypes, os, subprocess, tempfile
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p


class Error(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("code", c_int32), ("cuda_result", c_int32), ("reserved", c_uint32), ("message", c_char * 496)]


class Gemm(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in (
        "struct_size kind activation weight output weight_scale weight_scale_type group_k group_n weight_global_scale zero_point "
        "activation_scale activation_scale_type activation_group_k bias epilogue accumulation promotion_k determinism").split()]


class ClientOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("connect_deadline_ms", c_uint32), ("request_deadline_ms", c_uint32), ("reserved", c_uint32),
                ("socket", c_char_p), ("name", c_char_p)]


class LayerDesc(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("n", c_uint32), ("k", c_uint32), ("max_m", c_uint32), ("gemm", POINTER(Gemm))]


class PrepareOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device", c_int32), ("arch", c_char_p), ("sm_count", c_uint32), ("mode", c_uint32),
                ("deadline_ms", c_uint32), ("max_cuda", c_uint32), ("excluded_toolchains", c_void_p), ("excluded_count", c_size_t),
                ("progress", c_void_p), ("progress_context", c_void_p)]


class KernelInfo(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in (
        "struct_size tile_m tile_n tile_k threads smem_bytes registers local_bytes launch_abi weight_layout outcome reserved").split()] + [
        ("compile_ms", c_double), ("cubin_bytes", c_uint64), ("cubin", c_void_p), ("name", c_char_p), ("key", c_char_p), ("arch", c_char_p),
        ("toolchain", c_char_p)]


class LaunchRow(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in "struct_size m_first m_last kernel splits k_tiles_per_split".split()]


class LaunchArgs(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("m", c_uint32), ("ldx", c_uint32), ("ldo", c_uint32)] + [
        (name, c_void_p) for name in "x weights scales zeros bias out workspace".split()] + [("workspace_bytes", c_size_t), ("stream", c_void_p)]


class PlainWeights(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("scale_type", c_uint32), ("q", c_void_p), ("scales", c_void_p), ("zeros", c_void_p)]


class PackedBuffers(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32)] + [
        field for name in ("weights", "scales", "zeros") for field in ((name, c_void_p), (name[:-1] + "_bytes", c_uint64))]


CURRENT_CONTEXT = -2


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in ("cubind_layer_kernel_count", "cubind_layer_row_count", "cubind_layer_workspace_bytes"):
            getattr(self.c, name).restype = c_size_t
        self.c.cubind_layer_workspace_bytes.argtypes = [c_void_p, c_uint32]
        self.c.cubind_version.restype = c_char_p

    def call(self, name, *arguments):
        error = Error(struct_size=ctypes.sizeof(Error))
        if getattr(self.c, name)(*arguments, ctypes.byref(error)) != 0:
            raise RuntimeError(f"{name}: {error.message.decode()}")

    def struct(self, kind, **values):
        return kind(struct_size=ctypes.sizeof(kind), **values)

    def gemm(self, name):
        gemm = self.struct(Gemm)
        self.call("cubind_gemm_from_name", name.encode(), ctypes.byref(gemm))
        return gemm

    def client(self, socket):
        client = c_void_p()
        options = self.struct(ClientOptions, connect_deadline_ms=30000, socket=socket.encode(), name=b"bench kernels")
        self.call("cubind_client_open", ctypes.byref(options), ctypes.byref(client))
        return client

    def prepare(self, client, wanted, **options):
        """wanted: (descriptor name, n, k, max_m). The layers' handles, in order."""
        gemms = [self.gemm(name) for name, *_ in wanted]
        descs = (LayerDesc * len(wanted))(*[self.struct(LayerDesc, n=n, k=k, max_m=max_m, gemm=ctypes.pointer(gemm))
                                            for gemm, (_, n, k, max_m) in zip(gemms, wanted)])
        out = (c_void_p * len(wanted))()
        options = self.struct(PrepareOptions, **options)
        self.call("cubind_layers_prepare", client, descs, c_size_t(len(wanted)), ctypes.byref(options), out)
        return [c_void_p(handle) for handle in out]

    def load(self, layer):
        loaded = c_void_p()
        self.call("cubind_layer_load", layer, c_int32(CURRENT_CONTEXT), ctypes.byref(loaded))
        return loaded

    def row(self, layer, m):
        """The launch row of an m and its kernel."""
        row, info = self.struct(LaunchRow), self.struct(KernelInfo)
        for index in range(self.c.cubind_layer_row_count(layer)):
            self.call("cubind_layer_row", layer, c_size_t(index), ctypes.byref(row))
            if row.m_first <= m <= row.m_last:
                break
        self.call("cubind_layer_kernel", layer, c_size_t(row.kernel), ctypes.byref(info))
        return row, info


class Daemon:
    """The daemon at $CUBIND_SOCKET, or one of its own with an empty store in a temporary folder, until close()."""

    def __init__(self, program):
        self.process, self.folder = None, None
        self.socket = os.environ.get("CUBIND_SOCKET")
        if self.socket:
            return
        self.folder = tempfile.TemporaryDirectory(prefix="cubind-bench-")
        self.socket = f"{self.folder.name}/cubind.sock"
        command = [program, "--socket", self.socket, "--store", f"{self.folder.name}/store", "--allow-any-filesystem", "true",
                   "--log-level", "warn"]
        if os.environ.get("CUBIND_NVRTC"):
            command += ["--toolchain-path", os.environ["CUBIND_NVRTC"]]
        self.process = subprocess.Popen(command)

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait(30)
            self.folder.cleanup()
