# SPDX-License-Identifier: Apache-2.0
"""Architectures: read, derive, save."""
import os
import pickle
import tempfile
import unittest

import sptcsim


class Load(unittest.TestCase):
    def test_an_alias_and_a_name_are_the_same(self):
        self.assertEqual(sptcsim.load("A100").name, sptcsim.load("a100-sxm4-80gb").name)
        self.assertIn("a100-sxm4-80gb", sptcsim.architectures())

    def test_every_shipped_one_loads(self):
        for name in sptcsim.architectures():
            self.assertEqual(sptcsim.load(name).name, name)

    def test_a_file_of_bytes_that_are_no_text_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "bytes.json")
            with open(path, "wb") as file:
                file.write(b"{ \xff")
            with self.assertRaisesRegex(sptcsim.InputError, r"not valid JSON.*'\{ \\xff'"):
                sptcsim.load(path)

    def test_a_number_has_its_evidence(self):
        sms = sptcsim.load("A100").parameter("/sms")
        self.assertEqual((sms.value, sms.evidence), (108, "cited"))
        self.assertTrue(sms.source)

    def test_a_number_is_found_by_pointer_path_and_last_key(self):
        arch = sptcsim.load("A100")
        self.assertEqual([arch[p] for p in ("/sm/max_warps", "sm.max_warps", "max_warps")], [64, 64, 64])

    def test_an_unknown_name_comes_with_the_nearest(self):
        with self.assertRaisesRegex(sptcsim.InputError, "unknown architecture 'h10'.*h100"):
            sptcsim.load("h10")

    def test_what_is_no_name_is_refused(self):
        with self.assertRaisesRegex(sptcsim.InputError, "an architecture is a name, a path or an Architecture, not int"):
            sptcsim.load(3)


class With(unittest.TestCase):
    def test_a_design_keeps_all_other_numbers(self):
        base = sptcsim.load("A100")
        design = base.with_({"/sms": 216})
        changed = {new.pointer for old, new in zip(base.parameters, design.parameters) if old.value != new.value}
        self.assertEqual((changed, design["/sms"], base["/sms"]), ({"/sms"}, 216, 108))
        self.assertEqual(design.bases, ["a100-sxm4-80gb"])
        self.assertEqual(design.parameter("/sms").evidence, "assumed")

    def test_changes_add_up(self):
        design = sptcsim.load("A100").with_({"/sms": 216}).with_({"max_warps": 32})
        self.assertEqual((design["/sms"], design["max_warps"]), (216, 32))

    def test_a_number_that_stays_changes_nothing(self):
        arch = sptcsim.load("A100")
        self.assertIs(arch.with_({"/sms": 108}), arch)
        self.assertEqual(arch.with_({"/sms": 216}).with_({"/sms": 108, "max_warps": 32})["/sms"], 108)

    def test_bad_changes_are_refused(self):
        arch = sptcsim.load("A100")
        for changes, sentence in (({"/smss": 1}, "unknown parameter '/smss'"), ({"/sms": 0}, "must be a whole number"),
                                  ({"/sms": float("nan")}, "'/sms' must be a finite number, not nan"),
                                  ({"/sms": float("inf")}, "'/sms' must be a finite number, not inf"),
                                  ({3: 3}, "a parameter must be a word, not int"),
                                  (None, "changes must be a dict of numbers by their paths, not NoneType"),
                                  ({"/sms": "many"}, "'/sms' must be a number, not 'many'")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                arch.with_(changes)


class Save(unittest.TestCase):
    def test_a_saved_design_is_loaded_again(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "wide.json")
            sptcsim.load("A100").with_({"/sms": 216}, name="wide").save(path)
            self.assertEqual((sptcsim.load(path).name, sptcsim.load(path)["/sms"]), ("wide", 216))
            again = sptcsim.load(path).with_({"max_warps": 32})
            self.assertEqual((again["/sms"], again["max_warps"]), (216, 32))

    def test_a_place_that_cannot_be_written_is_named(self):
        with self.assertRaisesRegex(sptcsim.InputError, "^/nowhere/x.json: No such file"):
            sptcsim.load("A100").with_({"/sms": 216}).save("/nowhere/x.json")


class Records(unittest.TestCase):
    def test_an_unknown_attribute_comes_with_the_nearest(self):
        with self.assertRaisesRegex(AttributeError, "no 'valeu' here; did you mean 'value'"):
            sptcsim.load("A100").parameter("/sms").valeu

    def test_a_record_can_be_pickled(self):
        parameter = sptcsim.load("A100").parameter("/sms")
        self.assertEqual(pickle.loads(pickle.dumps(parameter)), parameter)


if __name__ == "__main__":
    unittest.main()
