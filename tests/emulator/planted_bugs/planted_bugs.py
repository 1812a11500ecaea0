#!/usr/bin/env python3
"""Plants bugs in copies of the device headers, one at a time, and demands that the emulator finds each.

A bug is one text substitution in one header. The changed header lies in a folder of its own that is searched first, so
the probe is compiled from the real sources but for that one. Bugs of one kernel ("wgmma: ...") are looked for with a probe of
that kernel alone. The same probes without a bug must find nothing.

usage: planted_bugs.py --source ROOT --work DIR --compiler CXX --library EMULATOR.a --context BOOST_CONTEXT [NAME ...]
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

DEVICE = "codegen/device/"


@dataclass(frozen=True)
class Bug:
    name: str
    header: str  # below codegen/device
    old: str  # occurs exactly once
    new: str

    @property
    def kernel(self):
        return "wgmma" if self.name.startswith("wgmma: ") else "mma_sync"


BUGS = [
    Bug("no barrier before a stage is read", "kernel/gemm_mma_sync.cuh",
        "ptx::bar_sync();  // stage", "// stage"),
    Bug("no barrier between the ring and the sums over it", "kernel/gemm_mma_sync.cuh",
        "ptx::bar_sync();  // nobody reads", "// nobody reads"),
    Bug("no barrier between the sums' writers and readers", "kernel/gemm_mma_sync.cuh",
        "write_sums(warp_tile, shared);\n  ptx::bar_sync();", "write_sums(warp_tile, shared);"),
    Bug("refills the stage that is being read", "kernel/gemm_mma_sync.cuh",
        "if (more) copy.begin(source, ring + empty);", "if (more) copy.begin(source, ring + full);"),
    Bug("first step of a split left out", "kernel/gemm_mma_sync.cuh",
        "const unsigned first = split * params.k_tiles_per_split;",
        "const unsigned first = split * params.k_tiles_per_split + (split != 0 ? 1 : 0);"),
    Bug("every split begins at the first k tile", "kernel/gemm_mma_sync.cuh",
        "(params, tid, first)", "(params, tid, 0)"),
    Bug("waits for one group too few", "pipeline/stage_copy.cuh",
        "kConfig.stages - 2>", "kConfig.stages - 1>"),
    Bug("plain copies of chunks that do not exist", "pipeline/stage_copy.cuh",
        "if (exists) {", "if (exists || step != 1000) {"),
    Bug("token guard off by one", "pipeline/stage_source.cuh",
        "i * XGrid::kRowStep < tokens)", "i * XGrid::kRowStep <= tokens)"),
    Bug("k tail of the activations not zero-filled", "pipeline/stage_source.cuh",
        "k_ + column * 8 < params_.k ? tokens_left_ : 0", "tokens_left_"),
    Bug("panels beyond the last are read", "pipeline/stage_source.cuh",
        "left(ceil_div(params.n, kUnitRows), panel)", "kSmem.panels"),
    Bug("scales of the tile's first group for all its units", "pipeline/stage_source.cuh",
        "(k >> params_.group_shift)", "(k_ >> params_.group_shift)"),
    Bug("groups beyond the last are read", "pipeline/stage_source.cuh",
        "panel * kUnitRows < params_.n && k < params_.k);", "panel * kUnitRows < params_.n);"),
    Bug("swizzle of the reader differs", "mainloop/warp_tile.cuh",
        "swizzled_chunk(token, chunk)", "swizzled_chunk(token ^ 1, chunk)"),
    Bug("second scale group of a unit ignored", "mainloop/warp_tile.cuh",
        "+ unit) * kSmem.groups + group;", "+ unit) * kSmem.groups + group * 0;"),
    Bug("accumulator columns taken for neighbours of another lane", "mainloop/warp_tile.cuh",
        "lane_ % 4 * 2 + e % 2", "lane_ % 4 + e % 2 * 4"),
    Bug("second half of a step's registers first", "mainloop/mma_k16.cuh",
        "ptx::mma_m16n8k8_f16(d, a[0], a[1], b0);", "ptx::mma_m16n8k8_f16(d, a[0], a[2], b0);"),
    Bug("zero points of rows g and g + 8 exchanged", "dequant/int4.cuh",
        "{F::fma2(ptx::prmt<0x4040>(zeros, 0)", "{F::fma2(ptx::prmt<0x4141>(zeros, 0)"),
    Bug("symmetric offset is 7", "dequant/int4.cuh",
        "{0xe408e408u, 0xd480d480u}", "{0xe407e407u, 0xd470d470u}"),
    Bug("scales of rows g and g + 8 exchanged", "dequant/scales.cuh",
        "{ptx::prmt<0x1010>(pair, 0), ptx::prmt<0x3232>(pair, 0)}", "{ptx::prmt<0x3232>(pair, 0), ptx::prmt<0x1010>(pair, 0)}"),
    Bug("counter does not return to zero", "epilogue/split_k.cuh",
        "workspace_ + tile_ * 4, splits_ - 1));", "workspace_ + tile_ * 4, splits_));"),
    Bug("arrival counted before all sums are stored", "epilogue/split_k.cuh",
        "ptx::bar_sync();  // every thread's sums are stored", ""),
    Bug("arrival read before it is known", "epilogue/split_k.cuh",
        "ptx::bar_sync();  // the first thread's answer is there", ""),
    Bug("tiles share partial sums", "epilogue/split_k.cuh",
        "static_cast<u64>(tile_) * splits_ + split", "static_cast<u64>(tile_) * 0 + split"),
    Bug("row guard of the store off by one", "epilogue/output.cuh",
        "if (e < rows_)", "if (e <= rows_)"),
    Bug("row stride of the output ignored for wide stores", "epilogue/output.cuh",
        "params.n % kPieceRows == 0 && params.ldo % kPieceRows == 0", "params.n % kPieceRows == 0"),
    Bug("wgmma: a stage is multiplied before it is full", "mainloop/wgmma_tile.cuh",
        "ring.wait_full();", ""),
    Bug("wgmma: a stage is given back while it is multiplied", "mainloop/wgmma_tile.cuh",
        "if (way_unit * kBatches + batch == 1) release(used);", "if (way_unit * kBatches + batch == 0) release(used);"),
    Bug("wgmma: fragments are overwritten while they are multiplied", "mainloop/wgmma_tile.cuh",
        "ptx::wgmma_wait_group<1>();", "ptx::wgmma_wait_group<2>();"),
    Bug("wgmma: no fence between fragments and wgmma", "mainloop/wgmma_tile.cuh",
        "ptx::wgmma_fence();", ""),
    Bug("wgmma: sums are taken while wgmmas run", "mainloop/wgmma_tile.cuh",
        "ptx::wgmma_wait_group<0>();", "ptx::wgmma_wait_group<1>();"),
    Bug("wgmma: second scale group of a unit ignored", "mainloop/wgmma_tile.cuh",
        "(slot * kSmem.groups + group) * kGroupScaleBytes", "(slot * kSmem.groups + group * 0) * kGroupScaleBytes"),
    Bug("wgmma: a stage is filled before it is empty", "pipeline/fill_stages.cuh",
        "ring.wait_empty();", ""),
    Bug("wgmma: fewer bytes announced than copied", "pipeline/fill_stages.cuh",
        "(full, kSmem.scales - kSmem.weights);", "(full, kSmem.scales - kSmem.weights - 512);"),
    Bug("wgmma: groups beyond the last are read", "pipeline/fill_stages.cuh",
        "exists ? kChunkBytes : 0", "kChunkBytes"),
    Bug("wgmma: full does not wait for the scales", "kernel/gemm_wgmma.cuh",
        "mbarrier_init(ring.full(), kFillArrivals)", "mbarrier_init(ring.full(), kFillArrivals - kWarpLanes)"),
    Bug("wgmma: barriers used without their fence", "kernel/gemm_wgmma.cuh",
        "ptx::fence_mbarrier_init();", ""),
    Bug("wgmma: a slab is read before it is written", "epilogue/transposed_output.cuh",
        "ptx::bar_sync(barrier_, kWarpGroupThreads);", ""),
    Bug("wgmma: one buffer for all slabs", "epilogue/transposed_output.cuh",
        "buffer_ ^= 1;", ""),
    Bug("wgmma: parts of sums are read before they are there", "epilogue/shared_sums.cuh",
        "block_barrier();  // parts are there", "// parts are there"),
    Bug("wgmma: parts of sums are read before those of other blocks are there", "epilogue/shared_sums.cuh",
        "ptx::barrier_cluster_arrive_release();  // parts are there\n      ptx::barrier_cluster_wait_acquire();", ""),
    Bug("wgmma: parts of sums are written over a ring in use", "epilogue/shared_sums.cuh",
        "kSmem.sums_over_ring || !first_tile", "!first_tile"),
    Bug("wgmma: parts of sums of the tile before are overwritten", "epilogue/shared_sums.cuh",
        "kSmem.sums_over_ring || !first_tile", "kSmem.sums_over_ring"),
    Bug("wgmma: two parts of a sum in one place", "epilogue/shared_sums.cuh",
        "me < owner ? me : me - 1", "me - (me < owner ? 0 : me)"),
    Bug("wgmma: the ring is filled while sums lie over it", "pipeline/fill_stages.cuh",
        "if (kSmem.sums_over_ring && !first)", "if (false)"),
    Bug("wgmma: no proxy fence between sums and the copies over them", "kernel/gemm_wgmma.cuh",
        "ptx::fence_proxy_async_shared_cta();", ""),
    Bug("wgmma: all ways multiply the units of the first", "mainloop/wgmma_tile.cuh",
        "unit = way * kWayUnits", "unit = way * 0"),
    Bug("wgmma: a long run beyond the last panel", "pipeline/fill_stages.cuh",
        " && panel + kSmem.panels <= panels", ""),
    Bug("wgmma: high nibbles scaled like low ones", "dequant/int4.cuh",
        "0x74007600u", "0x76007600u"),
    Bug("wgmma: last split's steps left out", "tile/work_range.cuh",
        "block % splits * steps_per_split", "block % splits * (steps_per_split - 1)"),
    Bug("wgmma: parity does not change from round to round", "pipeline/stage_ring.cuh",
        "parity_ ^= 1;", ""),
    Bug("wgmma: empty without waiting for the last warp", "kernel/gemm_wgmma.cuh",
        "mbarrier_init(ring.empty(), kConfig.warps())", "mbarrier_init(ring.empty(), kConfig.warps() - 1)"),
    Bug("wgmma: more registers taken than given", "kernel/gemm_wgmma.cuh",
        "each / 8 * 8 : 240", "each / 8 * 8 + 8 : 248"),
    Bug("wgmma: activations read before the launch before is complete", "kernel/gemm_wgmma.cuh",
        "      ptx::griddepcontrol_wait();\n", ""),
    Bug("wgmma: more bytes announced than copied", "pipeline/fill_stages.cuh",
        "(full, kSmem.weights);", "(full, kSmem.weights + 16);"),
    Bug("wgmma: every step of a batch multiplies the first 16 k", "mainloop/wgmma_tile.cuh",
        "* (kMmaK * 2 / 16)", "* 0"),
    Bug("wgmma: descriptor of another swizzle", "mainloop/wgmma_tile.cuh",
        "ptx::Swizzle::bytes_128", "ptx::Swizzle::bytes_64"),
]


def run(command, **kwargs):
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **kwargs)


def probe(args, bug, kernel, folder):
    """(exit code, output) of the kernel's probe with the bug planted, or without one."""
    folder.mkdir(parents=True)
    overlay = folder / "overlay"
    if bug:
        header = pathlib.Path(args.source) / DEVICE / bug.header
        text = header.read_text()
        if text.count(bug.old) != 1:
            sys.exit(f'planted bug "{bug.name}": its text occurs {text.count(bug.old)} times in "{header}", not once')
        target = overlay / DEVICE / bug.header
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace(bug.old, bug.new))
    source = pathlib.Path(args.source)
    program = folder / "probe"
    built = run([args.compiler, "-std=c++20", "-O1", "-w", f"-DCUBIND_PROBE_{kernel.upper()}", "-I", overlay, "-I", source / "tests/emulator/twin", "-I", source,
                 source / "tests/emulator/planted_bugs/probe.cpp", args.library, args.context, "-o", program])
    if built.returncode != 0:
        sys.exit(f'planted bug "{bug.name if bug else "none"}": does not compile\n{built.stdout}')
    ran = run([program], timeout=120)
    return ran.returncode, ran.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("source", "work", "compiler", "library", "context"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("names", nargs="*", help="only these bugs")
    args = parser.parse_args()
    missed = []
    shutil.rmtree(args.work, ignore_errors=True)
    bugs = [bug for bug in BUGS if not args.names or bug.name in args.names]
    chosen = [(None, kernel) for kernel in sorted({bug.kernel for bug in bugs})] + [(bug, bug.kernel) for bug in bugs]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        probes = [pool.submit(probe, args, bug, kernel, pathlib.Path(args.work) / f"{number:02}")
                  for number, (bug, kernel) in enumerate(chosen)]
        for (bug, kernel), running in zip(chosen, probes):
            code, output = running.result()
            name = bug.name if bug else f"(no bug in {kernel})"
            print(f"{name}: {'found' if code == 1 else 'nothing found' if code == 0 else f'exit {code}'}\n{output}", flush=True)
            if code != (1 if bug else 0):
                missed.append(name)
    if missed:
        sys.exit("not as expected: " + "; ".join(missed))
    print(f"{len(bugs)} planted bugs, all found")


if __name__ == "__main__":
    main()
