"""Humming (wheel humming-kernels) with its own heuristics for the batch size; every kernel it picks is compiled before timing."""
import json
from concurrent.futures import ThreadPoolExecutor
import torch
from humming import ops
from humming.config import ComputeConfig, LayerConfig
from humming.kernel.humming import HummingKernel
from humming.schema import HummingWeightSchema
from humming.testing.data import random_fill_tensor
from humming.transform import transform_humming_tensors
from humming.tune import get_heuristics_config
from timing import copies_for


class Layer:
    def __init__(self, fmt, n, k):
        self.config = LayerConfig(shape_n=n, shape_k=k, a_dtype="bfloat16", b_dtype="uint4", c_dtype="bfloat16", bs_dtype="bfloat16",
                                  weight_scale_group_size=fmt.group, has_zero_point=fmt.zero_points)
        self.compute = ComputeConfig(gemm_type="dense")
        self.kernels = {}

    def compile(self, m):
        tuning = dict(get_heuristics_config(self.config, shape_m=m, gemm_type="dense"))
        values = json.loads(self.config.to_str()) | json.loads(self.compute.to_str()) | tuning
        num_sms = values.pop("num_sms", 0)
        with torch.cuda.device(0):
            kernel = HummingKernel(**values)
        self.kernels[m] = [0, 1 << 30, kernel.kernel_id, num_sms]

    def load(self):
        c = self.config
        schema = HummingWeightSchema(
            b_dtype=c.b_dtype, bs_dtype=c.bs_dtype, weight_scale_group_size=c.weight_scale_group_size,
            weight_scale_type=c.weight_scale_type, has_zero_point=c.has_zero_point,
            weight_scale_2_type=None if c.use_int_weight_scale or c.use_fused_e8m0_scale else c.weight_scale_2_type)
        tensors = {}
        attributes = schema.get_tensors_attrs(shape_n=c.shape_n, shape_k=c.shape_k, param_dtype=torch.bfloat16, num_experts=0)
        for name, attribute in attributes.items():
            tensors[name] = torch.empty(attribute["shape"], dtype=attribute["dtype"], device="cuda")
            random_fill_tensor(tensors[name])
        one = {k: v for k, v in transform_humming_tensors(c, tensors).items() if v is not None}
        copies = copies_for(sum(t.numel() * t.element_size() for t in one.values()))
        self.sets = [one] + [{k: v.clone() for k, v in one.items()} for _ in range(copies - 1)]
        self.locks = torch.zeros(2048, dtype=torch.int32, device="cuda")

    def calls(self, m):
        if m not in self.kernels:
            return None
        configs = self.kernels[m]
        a = torch.randn(m, self.config.shape_k, dtype=torch.bfloat16, device="cuda")
        out = torch.empty(m, self.config.shape_n, dtype=torch.bfloat16, device="cuda")
        return [lambda s=s: ops.launch_kernel(configs=configs, outputs=out, locks=self.locks, top_k=1, inputs=a, **s) for s in self.sets]


def compile_all(jobs, threads=16):
    """jobs: (layer, m) pairs. Returns {(layer, m): reason} for those that would not compile."""
    failed = {}

    def one(job):
        layer, m = job
        try:
            layer.compile(m)
        except Exception as error:
            failed[job] = f"{type(error).__name__}: {str(error)[:160]}"

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, jobs))
    return failed
