# SPDX-License-Identifier: Apache-2.0
"""sweep() runs the points of a sweep as the program does."""
import json
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

    def test_systemc_simulates_the_front_of_a_sweep_in_closed_form_again(self):
        points = sptcsim.sweep(SPEC, resimulate=2).points
        simulated = [p for p in points if getattr(p, "timing_sparse_time_us", None) is not None]
        fastest = min(points, key=lambda p: p.sparse_time_us)
        thriftiest = min(points, key=lambda p: p.sparse_energy_uj_total)
        self.assertEqual({(p.sms, p.dtype) for p in simulated}, {(p.sms, p.dtype) for p in (fastest, thriftiest)})
        for point in simulated:
            self.assertGreater(point.timing_sparse_time_us, 0)
            self.assertLess(point.sparse_energy_uj_low, point.sparse_energy_uj_total)
        with self.assertRaisesRegex(sptcsim.InputError, "resimulate has no effect"):
            sptcsim.sweep({**SPEC, "options": {"check": "none", "fidelity": "timing"}}, resimulate=2)

    def test_plan_status_merge_report_and_script_are_those_of_the_program(self):
        def program(*arguments):
            return subprocess.run([os.environ["SPTCSIM"], "sweep", *arguments], capture_output=True, text=True).stdout
        with tempfile.TemporaryDirectory() as directory:
            spec, results = os.path.join(directory, "s.json"), os.path.join(directory, "r.sqlite")
            with open(spec, "w") as file:
                json.dump(SPEC, file)
            plan, theirs = sptcsim.sweep_plan(spec, jobs=2), json.loads(program("plan", spec, "--jobs", "2", "--format", "json"))
            times = ("time", "closed_form")
            self.assertEqual(*({key: value for key, value in one.items() if key not in times}
                               for one in (plan.to_dict(), theirs)))
            self.assertEqual((plan.points, len(plan.first), plan.time.measured > 0), (4, 4, True))
            for shard in (1, 2):
                program(spec, "--db", f"{results}.{shard}", "--shard", f"{shard}/2")
                self.assertEqual(sptcsim.sweep_status(results).done, 2 * shard)
            status = sptcsim.sweep_status(results)
            self.assertEqual(status.to_dict(), json.loads(program("status", results, "--format", "json")))
            self.assertEqual((status.state, status.points, status.missing, len(status.parts)), ("done", 4, 0, 2))
            self.assertEqual(sptcsim.sweep_merge([f"{results}.1", f"{results}.2"], results), 4)
            with self.assertRaisesRegex(sptcsim.InputError, "exists"):
                sptcsim.sweep_merge([f"{results}.1"], results)
            self.assertEqual(sptcsim.sweep_report(results), program("report", results))
            script = sptcsim.sweep_emit(spec, "slurm", 2, results=results, program=os.path.realpath(os.environ["SPTCSIM"]),
                                        time="1:30:00", at_once=1)
            self.assertEqual(script, program("emit", "slurm", spec, "--shards", "2", "--db", results, "--time", "1:30:00",
                                             "--at-once", "1"))
            with self.assertRaisesRegex(sptcsim.InputError, "--time must be as Slurm has it"):
                sptcsim.sweep_emit(spec, "slurm", 2, program="sptcsim", time="soon")

    def test_parts_are_merged_to_the_whole(self):
        with tempfile.TemporaryDirectory() as directory:
            parts = [os.path.join(directory, f"{index}.sqlite") for index in (1, 2)]
            rows = [sptcsim.sweep(SPEC, shard=(index, 2), results=part).points for index, part in zip((1, 2), parts)]
            self.assertEqual([[point.position for point in part] for part in rows], [[0, 2], [1, 3]])
            whole = os.path.join(directory, "all.sqlite")
            self.assertEqual(sptcsim.sweep_merge(parts, whole), 4)
            self.assertEqual(sptcsim.sweep(SPEC, results=whole), sptcsim.sweep(SPEC))
        for arguments, sentence in (({"shard": (3, 2)}, "I of shard must be an integer from 1 to 2, not 3"),
                                    ({"shard": 2}, "shard must be \\(I, N\\)"),
                                    ({"shard": (1, 2), "resimulate": 1}, "give one")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.sweep(SPEC, **arguments)

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
