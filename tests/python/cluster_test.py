# SPDX-License-Identifier: Apache-2.0
"""sweep(client=...) on two worker processes of Dask gives the rows of a plain sweep, also where a worker is killed."""
import os
import signal
import tempfile
import unittest

import dask
import sptcsim
from distributed import Client, LocalCluster

SPEC = {"schema": "sptcsim-sweep/0.1", "name": "sms", "workloads": [{"m": 512, "n": 256, "k": 256, "name": "g"}],
        "axes": [{"parameter": "/sms", "values": [13, 27, 54, 108]}, {"option": "dtype", "values": ["f16", "s8"]}]}
ANALYTIC = {**SPEC, "options": {"fidelity": "analytic", "check": "none"}}
TIMING = {**SPEC, "options": {"fidelity": "timing", "check": "none"}}


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        dask.config.set({"distributed.comm.timeouts.connect": "60s"})
        cls.cluster = cls.enterClassContext(LocalCluster(n_workers=2, threads_per_worker=1, processes=True, memory_limit=0,
                                                         dashboard_address=None))
        cls.client = cls.enterClassContext(Client(cls.cluster))

    @classmethod
    def enterClassContext(cls, context):  # unittest has it since Python 3.11
        cls.addClassCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def test_rows_are_those_of_a_plain_sweep(self):
        calls = []
        result = sptcsim.sweep(ANALYTIC, client=self.client, shards=3, progress=lambda *call: calls.append(call))
        self.assertEqual(result, sptcsim.sweep(ANALYTIC))
        self.assertEqual((len(calls), calls[-1]), (3, (8, 8, 0)))

    def test_a_killed_worker_costs_a_retry(self):
        killed = []

        def kill(done, total, failed):
            if not killed:
                processes = self.client.run(os.getpid)
                busy = [worker for worker, parts in self.client.processing().items() if parts]
                killed.append(processes[busy[0]])
                os.kill(killed[0], signal.SIGKILL)

        result = sptcsim.sweep(TIMING, client=self.client, progress=kill)
        self.assertEqual(len(killed), 1)
        self.assertEqual(result, sptcsim.sweep(TIMING))

    def test_what_ends_it_early_leaves_the_parts_that_came(self):
        def fail(done, total, failed):
            if done >= 2:
                raise KeyError("stop")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "r.sqlite")
            with self.assertRaisesRegex(KeyError, "stop"):
                sptcsim.sweep(ANALYTIC, client=self.client, results=path, progress=fail)
            self.assertEqual(sptcsim.sweep_status(path).done, 2)
            with self.assertRaisesRegex(sptcsim.InputError, "exists"):
                sptcsim.sweep(ANALYTIC, client=self.client, results=path)
            self.assertEqual(sptcsim.sweep(ANALYTIC, results=path), sptcsim.sweep(ANALYTIC))

    def test_faults_are_one_sentence(self):
        for spec, arguments, sentence in ((SPEC, {"client": 3}, "client must be a distributed.Client, not int"),
                                          ({**SPEC, "axis": []}, {"client": self.client}, "unknown key 'axis'"),
                                          (SPEC, {"client": self.client, "shards": 0}, "shards must be an integer from 1"),
                                          (SPEC, {"client": self.client, "shard": (1, 2)}, "give one")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.sweep(spec, **arguments)


if __name__ == "__main__":
    unittest.main()
