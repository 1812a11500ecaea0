#!/usr/bin/env python3
"""Writes the goldens of tests/unit/weights: small checkpoints with what they mean.

Written from the checkpoint writers' side (how AutoAWQ, AutoGPTQ and GPTQModel build their words) and from the PTX ISA's
description of mma.m16n8k16's A fragment, not from client/weights, so that a misreading there shows. Standard library
only; the seed is fixed, so that running it again changes nothing.
"""
import json
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).resolve().parent


def f16_bits(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


def f16_value(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def bf16_bits(value):
    """Nearest even, as torch's .to(torch.bfloat16)."""
    word = struct.unpack("<I", struct.pack("<f", value))[0]
    return (word + 0x7FFF + (word >> 16 & 1)) >> 16


def bf16_value(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def signed(word):
    """Checkpoints hold int32."""
    return word - (1 << 32) if word >> 31 else word


def awq_words(rows):
    """AutoAWQ: order_map places column order[i] in nibble i."""
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    return [signed(sum(row[8 * j + order[i]] << 4 * i for i in range(8)))
            for row in rows for j in range(len(row) // 8)]


def gptq_qweight(q_kn):
    """AutoGPTQ: eight consecutive input features in a word."""
    k, n = len(q_kn), len(q_kn[0])
    return [signed(sum(q_kn[8 * j + i][col] << 4 * i for i in range(8))) for j in range(k // 8) for col in range(n)]


def gptq_qzeros(rows, v2):
    words = [sum(row[8 * j + i] << 4 * i for i in range(8)) for row in rows for j in range(len(row) // 8)]
    return [signed(word if v2 else (word - 0x11111111) & 0xFFFFFFFF) for word in words]


def fragment(n, k, q_nk, neutral):
    """PTX ISA, mma.m16n8k16, A, 16-bit types: row = groupID for a0, a1, a4, a5, else groupID + 8;
    column = 2 * threadID_in_group + (i & 1) (+ 8 for i >= 4). Register j is (a[2j], a[2j + 1]).
    Units of 16 x 64: four k16 steps; the eight nibbles of a lane's word are 4 registers x {low, high} half, nibble
    position j in the low 16 bits and j in the high 16 bits."""
    out = bytearray()
    for n0 in range(0, n, 16):
        for k0 in range(0, k, 64):
            for lane in range(32):
                group_id, in_group = lane >> 2, lane & 3
                for step in range(4):
                    word = 0
                    for i in range(8):
                        row = n0 + group_id + (0 if i in (0, 1, 4, 5) else 8)
                        col = k0 + 16 * step + 2 * in_group + (i & 1) + (8 if i >= 4 else 0)
                        q = q_nk[row][col] if row < n and col < k else neutral(row)
                        word |= q << (4 * (i >> 1) + 16 * (i & 1))
                    out += struct.pack("<I", word)
    return out.hex()


def scale_order(n, groups, at, pad):
    return [at(r, g) if r < n else pad
            for t in range(0, n, 16) for g in range(groups) for i in range(8) for r in (t + i, t + i + 8)]


def case(name, kind, n, k, group_k, zero_points, to_type, seed, v2=False):
    rng = random.Random(seed)
    groups = k // group_k
    q = [[rng.randrange(16) for _ in range(k)] for _ in range(n)]
    z = [[rng.randrange(16) if zero_points else 8 for _ in range(groups)] for _ in range(n)]
    s = [[f16_bits(rng.uniform(1e-4, 0.03)) for _ in range(groups)] for _ in range(n)]
    q_kn = [[q[r][c] for r in range(n)] for c in range(k)]
    z_gn = [[z[r][g] for r in range(n)] for g in range(groups)]
    bits = (lambda b: b) if to_type == "f16" else (lambda b: bf16_bits(f16_value(b)))
    value = f16_value if to_type == "f16" else bf16_value
    neutral = lambda row: (z[row][groups - 1] if row < n else 0) if zero_points else 8
    document = {
        "name": name, "kind": kind, "n": n, "k": k, "group_k": 0 if groups == 1 else group_k,
        "zero_points": zero_points, "type": to_type, "v2": v2,
        "qweight": awq_words(q_kn) if kind == "awq" else gptq_qweight(q_kn),
        "qzeros": awq_words(z_gn) if kind == "awq" else gptq_qzeros(z_gn, v2),
        "scales": [s[r][g] for g in range(groups) for r in range(n)],
        "g_idx": [c // group_k for c in range(k)] if kind == "gptq" else [],
        "packed_weights": fragment(n, k, q, neutral),
        "packed_scales": scale_order(n, groups, lambda r, g: bits(s[r][g]), 0),
        "packed_zeros": scale_order(n, groups, lambda r, g: z[r][g], 0) if zero_points else [],
        "values": [value(bits(s[r][c // group_k])) * (q[r][c] - z[r][c // group_k]) for r in range(n) for c in range(k)],
    }
    (HERE / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


case("awq_zero_points_tails", "awq", 24, 96, 32, True, "bf16", 1)
case("awq_zero_points_f16", "awq", 16, 128, 64, True, "f16", 2)
case("gptq_symmetric_tails", "gptq", 24, 96, 32, False, "f16", 3)
case("gptq_zero_points_borrow", "gptq", 16, 64, 32, True, "bf16", 4)
case("gptq_v2_zero_points", "gptq", 16, 64, 32, True, "f16", 5, v2=True)
case("gptq_per_channel_tails", "gptq", 40, 72, 72, True, "bf16", 6)
