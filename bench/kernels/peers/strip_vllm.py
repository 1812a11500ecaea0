"""Takes what is measured out of a vLLM wheel: the library of its dense operators, with Hopper's machine code only (xz).

usage: strip_vllm.py WHEEL DIR
"""
import lzma, re, struct, subprocess, sys, tempfile, zipfile
from pathlib import Path

LIBRARY = "_C_stable_libtorch"
FATBIN_MAGIC = 0xBA55ED50
PTX, SM_HOPPER = 1, 90


def blank_other_archs(path: Path) -> None:
    """Zeroes, in place, the payload of every fat binary entry that Hopper's loader cannot choose."""
    data = bytearray(path.read_bytes())
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    for offset, size in re.findall(r"\.nv_fatbin\s+\S+\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)", sections):
        at, end = int(offset, 16), int(offset, 16) + int(size, 16)
        while at < end - 16:
            magic, _, header, total = struct.unpack_from("<IHHQ", data, at)
            if magic != FATBIN_MAGIC:
                at += 8
                continue
            entry, last = at + header, at + header + total
            while entry < last:
                kind, _, entry_header, payload = struct.unpack_from("<HHIQ", data, entry)
                arch = struct.unpack_from("<I", data, entry + 28)[0]
                if not (arch == SM_HOPPER or (kind == PTX and arch <= SM_HOPPER)):
                    data[entry + entry_header:entry + entry_header + payload] = bytes(payload)
                entry += entry_header + payload
            at = (last + 7) // 8 * 8
    path.write_bytes(data)


def main(wheel: str, out: str) -> None:
    archive, out_dir = zipfile.ZipFile(wheel), Path(out)
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(archive.extract(f"vllm/{LIBRARY}.abi3.so", tmp))
        blank_other_archs(path)
        (out_dir / f"{LIBRARY}.so.xz").write_bytes(lzma.compress(path.read_bytes(), preset=3))
    (out_dir / "scalar_type.py").write_bytes(archive.read("vllm/scalar_type.py"))
    (out_dir / "versions.txt").write_text("-".join(Path(wheel).name.split("-")[:2]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
