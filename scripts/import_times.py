#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `sptcsim import` on large generated files: a profile of 500 MB, a log of 50,000 lines, an ONNX
model of 100 MB.

    scripts/import_times.py                  # a table; the files go to a temporary folder and are removed
    scripts/import_times.py --scale 0.1      # a tenth of each size
"""
import argparse
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OP = ('{{"ph": "X", "cat": "cpu_op", "name": "aten::{name}", "pid": 1, "tid": 2, "ts": {ts}, "dur": 9.5, "args": '
      '{{"External id": {id}, "Sequence number": {id}, "Fwd thread id": 0, "Concrete Inputs": ["", "", "", "1", "1"], '
      '"Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"], "Input Strides": [[1], [1024, 1], '
      '[1, 1024], [], []], "Input Dims": [[{m}], [{n}, 1024], [1024, {m}], [], []]}}}},\n'
      '{{"ph": "X", "cat": "kernel", "name": "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn", "pid": 0, '
      '"tid": 7, "ts": {ts}, "dur": 7.5, "args": {{"External id": {id}, "queued": 0, "device": 0, "context": 1, "stream": 7, '
      '"correlation": 9{id}, "registers per thread": 234, "shared memory": 98304, "grid": [8, 24, 1], "block": [128, 1, 1]}}}},\n')
LT = ("[2024-05-06 07:08:09][cublasLt][123][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_16F rows=1024 cols={m} ld=1024] B=0X7F "
      "Bdesc=[type=R_16F rows=1024 cols={n} ld=1024] C=0X7F Cdesc=[type=R_16F rows={m} cols={n} ld={m}] D=0X7F Ddesc=[type=R_16F "
      "rows={m} cols={n} ld={m}] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T epilogue=EPILOGUE_BIAS] "
      "algo=[algoId=6 tile=MATMUL_TILE_128x128 stages=MATMUL_STAGES_64x3] workSpace=0X7F workSpaceSizeInBytes=1024 beta=0 "
      "outOfPlace=0 stream=0X0\n")


def write_profile(file, scale):
    size = int(500e6 * scale)
    with open(file, "w") as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": [\n')
        at = 0
        while out.tell() < size:
            out.write("".join(OP.format(name="addmm" if i % 4 == 0 else "add", id=i, ts=10 * i, m=1024 + 64 * (i % 8), n=384)
                              for i in range(at, at + 1000)))
            at += 1000
        out.write('{"ph": "M"}]}\n')


def write_log(file, scale):
    with open(file, "w") as out:
        for i in range(int(50000 * scale)):
            out.write(LT.format(m=1024 + 64 * (i % 8), n=384 + i % 100))


def varint(value):
    text = b""
    while value >= 0x80:
        text += bytes([value & 0x7F | 0x80])
        value >>= 7
    return text + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def write_onnx(file, scale):
    """MatMul after MatMul of 2:4 weights [1024, 1024], so that each is looked at to its end."""
    layers = max(1, int(100e6 * scale / (4 << 20)))
    group = struct.pack("<ff", 1, 2) * 1024 + bytes(8 * 1024)  # two of four rows along k
    raw = group * (1024 // 4)
    graph = b""
    for i in range(layers):
        graph += field(1, field(1, b"x%d" % i) + field(1, b"w%d" % i) + field(2, b"x%d" % (i + 1)) + field(4, b"MatMul"))
        graph += field(5, field(1, 1024) + field(1, 1024) + field(2, 1) + field(8, b"w%d" % i) + field(9, raw))
    extents = field(1, field(1, 384)) + field(1, field(1, 1024))
    graph += field(11, field(1, b"x0") + field(2, field(1, field(1, 1) + field(2, extents))))
    pathlib.Path(file).write_bytes(field(1, 8) + field(2, b"generated") + field(7, graph))


CASES = [("PyTorch profile", write_profile, 10, 200), ("log of cuBLASLt", write_log, 1, None),
         ("ONNX model", write_onnx, 3, None)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--scale", type=float, default=1)
    arguments = parser.parse_args()
    print("| file | MB | s of CPU | s | MB of memory | goal |\n|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, write, seconds, memory in CASES:
            file = os.path.join(folder, "generated")
            write(file, arguments.scale)
            started = time.monotonic()
            process = subprocess.Popen([arguments.program, "import", file, "--out", os.path.join(folder, "out.json")],
                                       stderr=subprocess.PIPE)
            message = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                sys.exit(message.decode())
            goal = f"{seconds} s" + (f", {memory} MB" if memory else "")
            print(f"| {name} | {os.path.getsize(file) / 1e6:.0f} | {usage.ru_utime + usage.ru_stime:.2f} | "
                  f"{time.monotonic() - started:.2f} | {usage.ru_maxrss / 1024:.0f} | {goal} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
