#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The channel permutation search that ASP runs by default, as a baseline for sptcsim's.

Written from the paper (Pool and Yu, "Channel Permutations for N:M Sparsity", NeurIPS 2021) in NumPy, for one core. Up to 2048
columns: stripe groups of two, all 35 ways to split their eight columns, the best groups first until none improves, 100
escapes. Beyond, as ASP does: random exchanges of two columns for 120 seconds.

    tests/bench/permutation_baseline.py [--seeds N] [--shapes 256x256,1024x1024] [--limit SECONDS]

Prints for each matrix the share of the magnitude that 2:4 keeps before, after the baseline and after sptcsim
(PYTHONPATH must lead to the package), and the CPU seconds of both. --limit ends the baseline early.
"""
import argparse
import itertools
import resource
import time

import numpy as np

import sptcsim

ESCAPES = 100
MOST_EXHAUSTIVE = 2048
SWAP_SECONDS = 120
FOURS = [c for c in itertools.combinations(range(8), 4) if c[0] == 0]
SPLITS = [c + tuple(i for i in range(8) if i not in c) for c in FOURS]


def kept(columns):
    """Sum of the two largest of each group of four: columns [.., 4, rows]."""
    high, low = np.maximum(columns[..., 0::2, :], columns[..., 1::2, :]), np.minimum(columns[..., 0::2, :], columns[..., 1::2, :])
    first, second = np.maximum(high[..., 0, :], high[..., 1, :]), np.minimum(high[..., 0, :], high[..., 1, :])
    return (first + np.maximum(second, np.maximum(low[..., 0, :], low[..., 1, :]))).sum(-1)


def best_split(columns, s, t):
    """(gain, split) of stripes s and t of columns [C, rows]."""
    eight = np.concatenate([columns[4 * s:4 * s + 4], columns[4 * t:4 * t + 4]])
    sums = np.array([kept(eight[list(split)].reshape(2, 4, -1)).sum() for split in SPLITS])
    best = int(sums.argmax())
    return sums[best] - sums[0], SPLITS[best]


def exhaustive(columns, rng, end):
    columns = columns.copy()
    pairs = list(itertools.combinations(range(len(columns) // 4), 2))
    gains, splits = np.zeros(len(pairs)), [SPLITS[0]] * len(pairs)
    changed, escapes, best = set(itertools.chain(*pairs)), 0, columns.copy()
    best_sum = kept(columns.reshape(-1, 4, columns.shape[1])).sum()
    while True:
        for i, (s, t) in enumerate(pairs):
            if s in changed or t in changed:
                gains[i], splits[i] = best_split(columns, s, t)
                if time.process_time() > end:
                    return best
        changed = set()
        for i in np.argsort(-gains):
            if gains[i] <= 1e-4:
                break
            s, t = pairs[i]
            if s not in changed and t not in changed:
                apply(columns, s, t, splits[i])
                changed |= {s, t}
        total = kept(columns.reshape(-1, 4, columns.shape[1])).sum()
        if total > best_sum:
            best, best_sum = columns.copy(), total
        if not changed:
            if escapes == ESCAPES:
                return best
            escapes += 1
            s, t = pairs[rng.integers(len(pairs))]
            split = list(SPLITS[0])
            a, b = rng.integers(4), 4 + rng.integers(4)
            split[a], split[b] = split[b], split[a]
            apply(columns, s, t, split)
            changed = {s, t}


def apply(columns, s, t, split):
    places = np.r_[4 * s:4 * s + 4, 4 * t:4 * t + 4]
    columns[places] = columns[places][list(split)]


def swaps(columns, rng, end):
    columns = columns.copy()
    while time.process_time() < end:
        a, b = rng.integers(len(columns), size=2)
        if a // 4 == b // 4:
            continue
        places = np.r_[a // 4 * 4:a // 4 * 4 + 4, b // 4 * 4:b // 4 * 4 + 4]
        before = columns[places]
        sum_before = kept(before.reshape(2, 4, -1)).sum()
        columns[[a, b]] = columns[[b, a]]
        if kept(columns[places].reshape(2, 4, -1)).sum() - sum_before <= 1e-9:
            columns[[a, b]] = columns[[b, a]]
    return columns


def cpu_seconds():
    """Of this process and of those that it waited for: the package searches in a worker."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--shapes", default="64x256,256x256,512x512,1024x1024,4096x4096")
    parser.add_argument("--limit", type=float, default=float("inf"))
    options = parser.parse_args()
    print(f"{'matrix':>12} {'seed':>4} {'before':>8} {'baseline':>8} {'sptcsim':>8} {'baseline s':>10} {'sptcsim s':>9}")
    for shape, seed in itertools.product(options.shapes.split(","), range(options.seeds)):
        rows, count = map(int, shape.split("x"))
        rng = np.random.default_rng(seed)
        weights = rng.standard_normal((rows, count), "f4") * np.exp(0.5 * rng.standard_normal(count)).astype("f4")
        columns = np.ascontiguousarray(np.abs(weights).T)
        total = columns.sum(dtype="f8")
        start, begin = time.process_time(), cpu_seconds()
        large = count > MOST_EXHAUSTIVE
        found = (swaps if large else exhaustive)(columns, rng, start + min(options.limit, SWAP_SECONDS if large else options.limit))
        middle = cpu_seconds()
        order = sptcsim.permutation_search(weights)
        end = cpu_seconds()
        shares = [kept(c.reshape(-1, 4, rows)).sum(dtype="f8") / total for c in (columns, found, columns[order])]
        print(f"{shape:>12} {seed:>4} {shares[0]:8.5f} {shares[1]:8.5f} {shares[2]:8.5f} {middle - begin:10.2f} {end - middle:9.2f}",
              flush=True)


if __name__ == "__main__":
    main()
