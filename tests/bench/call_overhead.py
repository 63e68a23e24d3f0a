#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the C++ function: call_overhead.py build/bench/bench_calls

PYTHONPATH must find the package sptcsim. Times are the least of many short series, in microseconds.
"""
import json
import subprocess
import sys
import time

import numpy as np
import sptcsim

SERIES, CALLS = 200, 50


def microseconds(call):
    """Of one call: the least mean of a series."""
    best = float("inf")
    for _ in range(SERIES):
        started = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter() - started) / CALLS)
    return best * 1e6


def closed_form(program):
    """The same of the C++ function."""
    done = subprocess.run([program, "--benchmark_filter=closed_form", "--benchmark_repetitions=400",
                           "--benchmark_min_time=0.002", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True)
    return min(run["real_time"] for run in json.loads(done.stdout)["benchmarks"] if run["run_type"] == "iteration")


def many_gemms():
    """CPU seconds of 2,000 closed forms, one figure of each read."""
    started = time.process_time()
    for n in range(1, 2001):
        sptcsim.gemm(1024, n * 8, 1024, fidelity="analytic").dense.time_us
    return time.process_time() - started


def main(program):
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    alone = closed_form(program)
    gemm = microseconds(lambda: sptcsim.gemm(2048, 1024, 1024, fidelity="analytic"))
    rows = (("closed form in C++, dense and 2:4", alone),
            ('`gemm(2048, 1024, 1024, fidelity="analytic")`', gemm),
            ("overhead of that call", gemm - alone),
            ("`mma` of m16n8k16, f16", microseconds(lambda: sptcsim.mma("m16n8k16.f32.f16.f16.f32", a, b))))
    for name, value in rows:
        print(f"| {name} | {value:.1f} us |")
    print(f"| 2,000 GEMMs 1024 x n x 1024, n from 8 to 16,000, one figure of each | {many_gemms():.2f} s of CPU |")


if __name__ == "__main__":
    main(sys.argv[1])
