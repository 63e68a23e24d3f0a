# SPDX-License-Identifier: Apache-2.0
"""gemm() and run() return what the program prints, as often as one likes in one process."""
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

import numpy as np
import sptcsim

TRACES = pathlib.Path(__file__).parents[2] / "traces"
ANALYTIC = {"fidelity": "analytic", "check": "none"}


def program(*arguments):
    done = subprocess.run([os.environ["SPTCSIM"], *map(str, arguments), "--format", "json", "--quiet"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


class Gemm(unittest.TestCase):
    def test_it_is_what_the_program_prints_in_closed_form_and_with_systemc(self):
        for fidelity in ("analytic", "timing"):
            ours = sptcsim.gemm(512, 384, 256, arch="A100", fidelity=fidelity, dtype="bf16")
            self.assertEqual(ours.to_dict(), program("gemm", 512, 384, 256, "--arch", "a100-sxm4-80gb", "--fidelity",
                                                     fidelity, "--dtype", "bf16"))

    def test_values_through_the_data_path_are_checked(self):
        result = sptcsim.gemm(16, 8, 32, fidelity="datapath", check="exact")
        self.assertEqual((result.dense.check.elements, result.dense.check.mismatches), (128, 0))

    def test_sparse_says_which_weights(self):
        self.assertIsNone(sptcsim.gemm(256, 256, 256, sparse=False, **ANALYTIC).sparse)
        self.assertIsNone(sptcsim.gemm(256, 256, 256, sparse=True, **ANALYTIC).dense)
        both = sptcsim.gemm(256, 256, 256, **ANALYTIC)
        self.assertAlmostEqual(both.speedup, both.dense.time_us / both.sparse.time_us)

    def test_a_design_has_its_own_times(self):
        base = sptcsim.load("A100")
        times = [sptcsim.gemm(4096, 4096, 4096, arch=arch, sparse=False, clock="boost", **ANALYTIC).dense.time_us
                 for arch in (base, base.with_({"/sms": 216}))]
        self.assertLess(times[1], times[0])

    def test_single_figures_are_those_of_the_json(self):
        for arguments in ({}, {"sparse": False}, {"sparse": True}, {"clock": "boost", "check": "sample"}):
            whole = sptcsim.gemm(300, 200, 512, fidelity="analytic", **arguments).to_dict()["operations"][0]
            one = sptcsim.gemm(300, 200, 512, fidelity="analytic", **arguments)
            self.assertEqual(one.speedup, whole.get("speedup"))
            for name in ("dense", "sparse"):
                variant = getattr(one, name)
                self.assertEqual(variant is None, whole[name] is None)
                for key, value in (whole[name] or {}).items():
                    found = getattr(variant, key)
                    self.assertEqual(found.to_dict() if isinstance(found, sptcsim.Record) else found, value, key)
        one = sptcsim.gemm(300, 200, 512, fidelity="analytic")
        self.assertIn("did you mean 'time_us'", str(self.error_of(lambda: one.dense.time_u)))

    @staticmethod
    def error_of(call):
        try:
            call()
        except AttributeError as error:
            return error

    def test_closed_forms_have_no_bits_to_check_unless_asked(self):
        self.assertNotIn("check", sptcsim.gemm(64, 64, 64, fidelity="analytic").dense)
        self.assertEqual(sptcsim.gemm(64, 64, 64, fidelity="analytic", check="sample").dense.check.mismatches, 0)
        self.assertEqual(sptcsim.gemm(64, 64, 64).dense.check.mode, "sample")

    def test_a_dram_of_ones_own_stands_behind_the_l2(self):
        options = {"variants": "dense", "check": "none", "memory": os.environ["SPTC_PLUGINS"] + "/fixed_dram.so"}
        fast, slow = (sptcsim.gemm(1024, 16, 1024, **options, memory_config=f"300 ns, {rate} GB/s") for rate in (1500, 100))
        self.assertGreater(slow.dense.time_us, 2 * fast.dense.time_us)
        with self.assertRaisesRegex(sptcsim.InputError, "--memory has no effect with --fidelity analytic"):
            sptcsim.gemm(16, 8, 32, **options, fidelity="analytic")

    def test_progress_is_reported_from_both_processes(self):
        for fidelity in ("analytic", "timing"):
            calls = []
            sptcsim.gemm(256, 256, 256, fidelity=fidelity, check="none", progress=lambda *call: calls.append(call))
            self.assertEqual(calls, [(0, 1, "gemm"), (1, 1, "")])

    def test_what_a_callback_raises_ends_the_run(self):
        def fail(done, total, name):
            raise KeyError(name)
        for fidelity in ("analytic", "timing"):
            with self.assertRaisesRegex(KeyError, "gemm"):
                sptcsim.gemm(256, 256, 256, fidelity=fidelity, check="none", progress=fail)

    def test_bad_arguments_are_refused_in_one_sentence(self):
        for call, sentence in (
                (lambda: sptcsim.gemm(0, 1, 1), "m must be an integer from 1 to 2147483647, not 0"),
                (lambda: sptcsim.gemm(1, 1, 1.5), "k must be an integer from 1 to 2147483647, not 1.5"),
                (lambda: sptcsim.gemm(1, 1, 1, fidelty="x"), "unknown option 'fidelty'; did you mean 'fidelity'"),
                (lambda: sptcsim.gemm(1, 1, 1, fidelity="analytc"), "analytc.*nearest valid: 'analytic'"),
                (lambda: sptcsim.gemm(1, 1, 1, clock=float("nan")), "clock must not be NaN"),
                (lambda: sptcsim.gemm(1, 1, 1, power_limit=[1.5]), "power_limit must be a number, a word"),
                (lambda: sptcsim.gemm(1, 1, 1, progress=3), "progress must be a function or None, not int"),
                (lambda: sptcsim.gemm(1, 1, 1, explain="x"), "explain must be True or False, not 'x'"),
                (lambda: sptcsim.gemm(1, 1, 1, sparse=3), "sparse, where it is no pattern, must be True or False, not 3"),
                (lambda: sptcsim.gemm(1, 1, 1, sparse=True, variants="dense"), "sparse and variants both say")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                call()


class Process(unittest.TestCase):

    def test_ctrl_c_ends_the_run_and_not_the_interpreter(self):
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        started = time.monotonic()
        timer.start()
        self.addCleanup(timer.cancel)
        with self.assertRaises(KeyboardInterrupt):
            sptcsim.run(TRACES / "llama3_70b.json", no_extrapolate=True, check="none")
        self.assertLess(time.monotonic() - started, 30)
        self.assertGreater(sptcsim.gemm(256, 256, 256, check="none").speedup, 0)


class Run(unittest.TestCase):
    WORKLOAD = {"schema": "gemm-workload/0.1", "name": "two", "ops": [
        {"name": "up", "m": 1024, "n": 128, "k": 256, "count": 2}, {"name": "down", "m": 256, "n": 128, "k": 1024}]}

    def test_a_file_gives_what_the_program_prints(self):
        path = TRACES / "digits" / "mlp.json"
        ours = sptcsim.run(path, fidelity="datapath", check="eigen")
        theirs = program("run", path, "--fidelity", "datapath", "--check", "eigen")
        self.assertEqual(ours.to_dict(), theirs)
        self.assertEqual(ours.accuracy.samples, 899)

    def test_what_bounds_a_launch_is_seen_under_the_engine_and_library_of_the_run(self):
        path = TRACES / "vit_b_16.json"
        for option, value in (("engine", "tensorrt"), ("library", "cusparselt-default"), ("numerics", "hopper")):
            ours = sptcsim.run(path, fidelity="analytic", **{option: value})
            self.assertEqual(ours.to_dict(), program("run", path, "--fidelity", "analytic", f"--{option}", value), option)

    def test_dimensions_of_a_workload_are_set(self):
        net = {"schema": "gemm-workload/0.2", "name": "net", "dims": {"batch": 2, "seq": 8},
               "ops": [{"name": "x", "m": 64, "n": "batch*seq", "k": 32}]}
        self.assertEqual(sptcsim.run(net, **ANALYTIC).operations[0].n, 16)
        given = sptcsim.run(net, dims={"batch": 4}, **ANALYTIC)
        self.assertEqual((given.operations[0].n, given.workload), (32, "net (batch=4, seq=8)"))
        path = TRACES / "bert_large.json"
        self.assertEqual(sptcsim.run(path, dims={"batch": 3}, **ANALYTIC).operations[0].n, 3 * 384)
        for dims, part in (({"bach": 1}, "nearest valid: 'batch'"), ({"batch": 0}, "batch must be an integer from 1")):
            with self.assertRaisesRegex(sptcsim.InputError, part):
                sptcsim.run(net, dims=dims, **ANALYTIC)
        with self.assertRaisesRegex(sptcsim.InputError, "dims must be a dict of extents by their names, not list"):
            sptcsim.run(net, dims=["batch"], **ANALYTIC)

    def test_a_dict_is_a_workload(self):
        result = sptcsim.run(self.WORKLOAD, **ANALYTIC)
        self.assertEqual([op.name for op in result.operations], ["up", "down"])
        self.assertEqual([(row["name"], row["variant"]) for row in result.rows()],
                         [("up", "dense"), ("up", "sparse"), ("down", "dense"), ("down", "sparse")])

    def test_its_faults_are_named_by_their_place(self):
        with self.assertRaisesRegex(sptcsim.InputError, "^workload: .*'op'.*nearest valid: 'ops'"):
            sptcsim.run({"schema": "gemm-workload/0.1", "op": []})
        circle = {}
        circle["ops"] = circle
        op = {"name": "x", "m": 64, "n": 64, "k": 64}
        for workload in (circle, {"schema": "gemm-workload/0.1", "name": "x", "ops": [{**op, "m": float("nan")}]},
                         {"schema": "gemm-workload/0.1", "name": "x", "ops": [{**op, "m": 64j}]}):
            with self.assertRaisesRegex(sptcsim.InputError, "^workload: "):
                sptcsim.run(workload)

    def test_its_extents_may_be_those_of_numpy(self):
        op = {"name": "x", "m": np.int64(64), "n": np.uint8(64), "k": 64}
        result = sptcsim.run({"schema": "gemm-workload/0.1", "name": "x", "ops": [op]}, **ANALYTIC)
        self.assertEqual(result.operations[0].m, 64)

    def test_a_notebook_gets_a_table(self):
        page = sptcsim.run(self.WORKLOAD, **ANALYTIC)._repr_html_()
        self.assertEqual(page.count("<tr>"), 3)
        self.assertIn("<td>down</td><td>256</td>", page)

    def test_pandas_gets_a_row_for_each_operation_and_variant(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = sptcsim.run(self.WORKLOAD, **ANALYTIC).to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual((len(frame), list(frame["variant"])), (4, ["dense", "sparse"] * 2))
        self.assertIn("kernel.stages", frame.columns)


if __name__ == "__main__":
    unittest.main()
