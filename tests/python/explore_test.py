# SPDX-License-Identifier: Apache-2.0
"""sptcsim.explore finds the fronts and the shares that whole sweeps have."""
import unittest

import sptcsim
from sptcsim import explore

SMS = {"parameter": "/sms", "values": [108, 27, 54]}
CLOCK = {"parameter": "boost_clock_mhz", "values": [1000, 1410]}
SPEC = {"schema": "sptcsim-sweep/0.1", "name": "sms", "workloads": [{"m": 2048, "n": 2048, "k": 1024, "name": "g"}],
        "options": {"fidelity": "analytic", "check": "none", "clock": "boost"}, "axes": [SMS, CLOCK], "store": "totals"}
OBJECTIVES = ("sparse_time_us", "area_mm2")


def figures(point):
    return tuple(point[name] for name in OBJECTIVES)


def front_of(points):
    """By definition."""
    found = {figures(point) for point in points if point["status"] == "done"}
    return {a for a in found if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in found)}


class Front(unittest.TestCase):
    def test_of_a_tiny_grid_it_is_exact(self):
        result = explore.front(SPEC, OBJECTIVES, trials=6)
        points, whole = result.to_dict()["points"], sptcsim.sweep(SPEC).to_dict()["points"]
        self.assertEqual((result.exact, len(points)), (True, 6))
        self.assertEqual({figures(point) for point in points if point["front"]}, front_of(whole))
        self.assertEqual(sorted(point["hash"] for point in points), sorted(point["hash"] for point in whole))

    def test_a_search_finds_the_front_with_a_part_of_the_points(self):
        clocks = {"parameter": "boost_clock_mhz", "range": {"from": 900, "to": 1400, "step": 50}}
        spec = {**SPEC, "where": "sms > 8", "axes": [{"parameter": "/sms", "range": {"from": 8, "to": 128, "step": 8}}, clocks]}
        result = explore.front(spec, OBJECTIVES, trials=64)
        points, best = result.to_dict()["points"], front_of(sptcsim.sweep(spec).to_dict()["points"])
        self.assertEqual((result.exact, [point["status"] for point in points].count("done")), (False, 64))
        self.assertLessEqual({point["reason"] for point in points if point["sms"] == 8}, {"'where' forbids it"})
        found = {figures(point) for point in points if point["front"]}
        self.assertEqual(found, front_of(points))
        # Within 5 % in both objectives counts as found.
        near = [a for a in best if any(b[0] <= 1.05 * a[0] and b[1] <= 1.05 * a[1] for b in found)]
        self.assertGreaterEqual(len(near), 0.7 * len(best))
        self.assertEqual(result, explore.front(spec, OBJECTIVES, trials=64))

    def test_refused_points_are_rows_and_no_trials(self):
        spec = {**SPEC, "where": "sms > 30", "axes": [SMS, {"option": "pattern", "values": ["2:4", "5:7"]}]}
        rows = explore.front(spec, OBJECTIVES).to_dict()["points"]
        self.assertEqual(sorted((row["sms"], row["pattern"], row["status"]) for row in rows),
                         [(27, "2:4", "refused"), (27, "5:7", "refused"), (54, "2:4", "done"), (54, "5:7", "failed"),
                          (108, "2:4", "done"), (108, "5:7", "failed")])
        self.assertEqual({row["front"] for row in rows if row["status"] != "done"}, {False})

    def test_axes_of_an_interval_an_architecture_and_words(self):
        interval = {"from": 900, "to": 1400, "count": 2, "integer": True}
        spec = {**SPEC, "arch": ["A100", "H100"], "axes": [{"parameter": "boost_clock_mhz", "random": interval},
                                                           {"option": "dtype", "values": ["f16", "s8"]}]}
        rows = explore.front(spec, ("sparse_time_us", "-sparse_tflops"), trials=20).to_dict()["points"]
        self.assertEqual(len(rows), 20)
        self.assertEqual({(row["arch"], row["dtype"]) for row in rows if row["front"]}, {("h100-sxm5-80gb", "s8")})
        self.assertTrue(all(900 <= row["boost_clock_mhz"] <= 1400 for row in rows))

    def test_faults_are_one_sentence(self):
        two = {**SPEC, "workloads": SPEC["workloads"] + [{"m": 8, "n": 8, "k": 8, "name": "h"}]}
        for spec, arguments, sentence in ((two, {}, "takes one workload, and the spec has 2"),
                                          ({**SPEC, "axes": []}, {}, "the spec has no axes"),
                                          ({**SPEC, "axis": []}, {}, "unknown key 'axis'"),
                                          ("none.json", {}, "none.json: No such file"),
                                          (SPEC, {"objectives": ["time"]}, "no figure 'time'"),
                                          (SPEC, {"objectives": []}, "must name a figure"),
                                          (SPEC, {"trials": 0}, "trials must be an integer from 1")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                explore.front(spec, **arguments)


class Sensitivity(unittest.TestCase):
    def test_an_axis_that_does_nothing_explains_nothing(self):
        # The area knows no clock.
        clock, sms = (explore.sensitivity({**SPEC, "axes": [CLOCK, SMS]}, "area_mm2", samples=256)["axes"])
        self.assertEqual((clock.name, sms.name), ("boost_clock_mhz", "sms"))
        self.assertAlmostEqual(clock.first, 0, delta=0.02)
        self.assertAlmostEqual(clock.total, 0, delta=0.02)
        self.assertAlmostEqual(sms.first, 1, delta=0.05)
        self.assertAlmostEqual(sms.total, 1, delta=0.05)

    def test_shares_sum_to_one_at_most_and_totals_to_one_at_least(self):
        result = explore.sensitivity(SPEC, samples=512)
        self.assertEqual(result.points, 6)
        self.assertLess(sum(axis.first for axis in result.axes), 1.05)
        self.assertGreater(sum(axis.total for axis in result.axes), 0.95)
        times = [point.sparse_time_us for point in sptcsim.sweep(SPEC).points]
        self.assertAlmostEqual(result.mean, sum(times) / len(times), delta=0.05 * result.mean)

    def test_a_figure_that_never_changes_has_no_shares(self):
        result = explore.sensitivity({**SPEC, "axes": [CLOCK]}, "area_mm2", samples=8)
        self.assertEqual((result.variance, result.axes[0].first, result.axes[0].total), (0, 0, 0))

    def test_faults_are_one_sentence(self):
        bad = {**SPEC, "axes": [{"option": "pattern", "values": ["2:4", "5:7"]}]}
        for spec, arguments, sentence in ((bad, {}, "pattern=5:7 has no sparse_time_us: weights at 5:7"),
                                          ({**SPEC, "where": "sms > 30"}, {}, "axes that vary independently"),
                                          (SPEC, {"samples": 100}, "a power of 2, not 100"),
                                          (SPEC, {"figure": "time"}, "no figure 'time'")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                explore.sensitivity(spec, **arguments)


class Hypercube(unittest.TestCase):
    def test_each_part_of_an_axis_is_met_once(self):
        axes = [{"parameter": "/sms", "range": {"from": 1, "to": 8, "step": 1}},
                {"parameter": "boost_clock_mhz", "random": {"from": 1000, "to": 1400, "count": 8}}]
        (zipped,) = explore.hypercube(axes, 8)
        sms, clocks = (axis["values"] for axis in zipped["zip"])
        self.assertEqual(sorted(sms), list(range(1, 9)))
        self.assertEqual(sorted(int((clock - 1000) // 50) for clock in clocks), list(range(8)))
        points = sptcsim.sweep({**SPEC, "axes": [zipped]}).points
        self.assertEqual([point.sms for point in points], sms)


if __name__ == "__main__":
    unittest.main()
