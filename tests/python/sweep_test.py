# SPDX-License-Identifier: Apache-2.0
"""sweep() runs the points of a sweep as the program does."""
import os
import sqlite3
import subprocess
import tempfile
import unittest

import sptcsim

SPEC = {"schema": "sptcsim-sweep/0.1", "name": "sms", "workloads": [{"m": 1024, "n": 512, "k": 256, "name": "g"}],
        "options": {"fidelity": "analytic", "check": "none"}, "axes": [{"parameter": "/sms", "values": [54, 108]},
                                                                       {"option": "dtype", "values": ["f16", "s8"]}]}


class Sweep(unittest.TestCase):
    def test_every_point_is_a_record_with_axes_and_totals(self):
        result = sptcsim.sweep(SPEC, jobs=2)
        self.assertEqual([(p.sms, p.dtype, p.status) for p in result.points],
                         [(54, "f16", "done"), (54, "s8", "done"), (108, "f16", "done"), (108, "s8", "done")])
        alone = sptcsim.gemm(1024, 512, 256, dtype="s8", arch=sptcsim.load("A100").with_({"/sms": 54}), **SPEC["options"])
        self.assertEqual(result.points[1].dense_time_us, alone.dense.time_us)

    def test_points_with_systemc_run_in_workers(self):
        spec = {**SPEC, "options": {"check": "none"}, "axes": SPEC["axes"][:1]}
        self.assertEqual([p.status for p in sptcsim.sweep(spec, jobs=2).points], ["done", "done"])

    def test_a_results_file_keeps_what_is_done(self):
        with tempfile.TemporaryDirectory() as directory:
            path, calls = os.path.join(directory, "r.sqlite"), []
            first = sptcsim.sweep(SPEC, results=path)
            again = sptcsim.sweep(SPEC, results=path, progress=lambda *call: calls.append(call))
            self.assertEqual(first, again)
            self.assertEqual(calls[-1], (4, 4, 0))
            with sqlite3.connect(path) as database:
                self.assertEqual(database.execute("SELECT count(*) FROM points").fetchone(), (4,))
            report = subprocess.run([os.environ["SPTCSIM"], "sweep", "report", path], check=True, capture_output=True,
                                    text=True).stdout
            self.assertIn("4 points", report)

    def test_what_a_callback_raises_ends_the_sweep(self):
        def fail(done, total, failed):
            raise KeyError("stop")
        with self.assertRaisesRegex(KeyError, "stop"):
            sptcsim.sweep(SPEC, progress=fail)

    def test_faults_of_a_spec_are_named_by_their_place(self):
        for change, sentence in (({"axis": []}, "unknown key 'axis'.*nearest valid: 'axes'"),
                                 ({"options": {"fidelty": "analytic"}}, "fidelty.*fidelity")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.sweep({**SPEC, **change})
        with self.assertRaisesRegex(sptcsim.InputError, "jobs must be an integer from 1 to 1024, not 0"):
            sptcsim.sweep(SPEC, jobs=0)
        with self.assertRaisesRegex(sptcsim.InputError, "results must be the path of a file, not int"):
            sptcsim.sweep(SPEC, results=3)
        with self.assertRaisesRegex(sptcsim.InputError, "progress must be a function or None, not int"):
            sptcsim.sweep(SPEC, progress=3)


if __name__ == "__main__":
    unittest.main()
