// SPDX-License-Identifier: Apache-2.0
#include "sim/config/derivation.h"

#include "sim/config/architecture.h"
#include "sim/config/documented_architecture.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace sptc::config {
namespace {

using nlohmann::json;

json number(double value) {
  return {{"value", value}, {"evidence", "assumed"}, {"source", "a test"}};
}

json derived(json changes) {
  json document = {{"base", "a100-sxm4-80gb"}, {"name", "x"}};
  document.update(changes);
  return document;
}

Architecture parse(const json& document, const std::string& file = "x.json") {
  return parse_architecture(document.dump(), file);
}

void expect_refused(const json& document, std::initializer_list<std::string_view> parts) {
  support::expect_input_error([&] { parse(document); }, parts);
}

TEST(Derivation, ChangesNumbersAtAnyDepthAndKeepsTheRest) {
  const Architecture base = load_architecture("a100-sxm4-80gb");
  const Architecture changed =
      parse(derived({{"sms", number(54)}, {"sm", {{"tensor_core", {{"selector_inputs", number(8)}}}}}}));
  EXPECT_EQ(changed.gpu.name, "x");
  EXPECT_EQ(changed.gpu.sms, 54);
  EXPECT_EQ(changed.gpu.sm.tensor_core.selector_inputs, 8);
  EXPECT_EQ(changed.gpu.sm.registers, base.gpu.sm.registers);
  ASSERT_EQ(changed.parameters.size(), base.parameters.size());
  EXPECT_EQ(changed.parameters[0].source, "a test");
}

TEST(Derivation, TakesNoChipOverAndAChipAloneIsNoChange) {
  const support::TemporaryDirectory directory;
  io::write_file(directory.path() / "one.json",
                 json({{"base", "a100-sxm4-80gb"}, {"name", "one"}, {"chip", "X1"}, {"sms", number(54)}}).dump());
  const std::string one = (directory.path() / "one.json").string();
  EXPECT_EQ(load_architecture(one).chip, "X1");
  EXPECT_EQ(load_architecture(one).gpu.sms, 54);
  EXPECT_EQ(parse({{"base", one}, {"name", "two"}, {"sms", number(27)}}).chip, "");
  expect_refused(derived({{"chip", "X1"}}), {"changes nothing of its base"});
  expect_refused(derived({{"chip", 1}, {"sms", number(54)}}), {"/chip", "must be a string"});
  for (const auto& [pointer, value] : parameter_values(load_documented_architecture(one).document)) {
    EXPECT_NE(pointer, "/chip") << value;
  }
}

TEST(Derivation, KeepsTheDesignAtTheEndOfTheChainAsTheFittedOne) {
  EXPECT_EQ(load_architecture("a100-sxm4-80gb").gpu.fitted_design, nullptr);
  const support::TemporaryDirectory directory;
  io::write_file(directory.path() / "one.json",
                 json({{"base", "a100-sxm4-80gb"}, {"name", "one"}, {"sms", number(54)}}).dump());
  const std::string two = (directory.path() / "two.json").string();
  io::write_file(two, json({{"base", "one.json"}, {"name", "two"}, {"sms", number(27)}}).dump());
  const Architecture changed = load_architecture(two);
  ASSERT_NE(changed.gpu.fitted_design, nullptr);
  EXPECT_EQ(changed.gpu.fitted_design->name, "a100-sxm4-80gb");
  EXPECT_EQ(changed.gpu.fitted_design->sms, 108);
  expect_refused(derived({{"fitted_design", json::object()}}), {"fitted_design", "not written"});
}

TEST(Derivation, RefusesChangesThatChangeNothing) {
  expect_refused(derived({{"sms", number(108)}}), {"x.json: /sms: changes nothing", "108"});
  expect_refused(derived({{"sm", {{"tensor_core", json::object()}}}}), {"/sm/tensor_core"});
  expect_refused(derived({{"numerics", "ampere"}}), {"/numerics: changes nothing"});
  expect_refused(derived({{"description", "only this"}}), {"changes nothing of its base"});
  expect_refused(derived({{"sms", number(108)}, {"sm", {{"max_warps", number(64)}}}}), {"/sms", "/sm/max_warps"});
}

TEST(Derivation, RefusesUnknownKeysAndNumbersWithoutEvidence) {
  expect_refused(derived({{"smss", number(2)}}), {"unknown key 'smss'", "'sms'"});
  expect_refused(derived({{"sm", {{"tensor_core", {{"selector_input", number(8)}}}}}}), {"'selector_inputs'"});
  expect_refused(derived({{"sms", {{"value", 54}}}}), {"evidence"});
  expect_refused(derived({{"sms", 54}}), {"/sms", "must be an object"});
  expect_refused(derived({{"sms", nullptr}}), {"'sms' is missing"});
  expect_refused(derived({{"smss", nullptr}}), {"cannot be removed"});
}

TEST(Derivation, RefusesBasesThatDoNotExistOrLeadInACircle) {
  json unknown = derived({{"sms", number(54)}});
  unknown["base"] = "a100-sxm4-8";
  expect_refused(unknown, {"unknown architecture 'a100-sxm4-8'", "a100-sxm4-80gb"});
  unknown["base"] = 7;
  expect_refused(unknown, {"/base"});
  json nameless = derived({{"sms", number(54)}});
  nameless.erase("name");
  expect_refused(nameless, {"'name' is missing"});

  const support::TemporaryDirectory directory;
  const auto file = [&](const char* name, const char* base) {
    io::write_file(directory.path() / name, json({{"base", base}, {"name", name}, {"sms", number(54)}}).dump());
  };
  file("a.json", "./b.json");
  file("b.json", "./a.json");
  support::expect_input_error([&] { load_architecture((directory.path() / "a.json").string()); },
                              {"leads back to itself"});
}

TEST(Derivation, ABoardOfTheSameChipHasKernelsOfItsOwn) {
  const json board = derived({{"board", true}, {"sms", number(56)}});
  EXPECT_EQ(parse(board).gpu.fitted_design, nullptr);
  EXPECT_EQ(parse(board).bases, std::vector<std::string>{"a100-sxm4-80gb"});
  const support::TemporaryDirectory directory;
  io::write_file(directory.path() / "board.json", board.dump());
  const std::string design = (directory.path() / "design.json").string();
  io::write_file(design, json({{"base", "board.json"}, {"name", "y"}, {"sms", number(28)}}).dump());
  const Architecture changed = load_architecture(design);
  EXPECT_EQ(changed.gpu.sms, 28);
  ASSERT_NE(changed.gpu.fitted_design, nullptr);
  EXPECT_EQ(changed.gpu.fitted_design->sms, 56);
  // A sweep varies the board itself.
  const std::string path = (directory.path() / "board.json").string();
  EXPECT_EQ(load_documented_architecture(path).document[std::string(kFittedDesign)]["sms"]["value"], 56);
}

TEST(Derivation, OfABoardTheEvidenceAloneIsAChange) {
  const json same = number(108);
  expect_refused(derived({{"sms", same}}), {"/sms: changes nothing"});
  const Architecture board = parse(derived({{"board", true}, {"sms", same}}));
  EXPECT_EQ(board.gpu.sms, 108);
  EXPECT_EQ(board.parameters[0].evidence, "assumed");
  json restated = load_documented_architecture("a100-sxm4-80gb").document["sms"];
  expect_refused(derived({{"board", true}, {"sms", restated}}), {"/sms: changes nothing"});
}

TEST(Derivation, RefusesABoardThatIsNone) {
  expect_refused(derived({{"board", false}, {"sms", number(56)}}),
                 {"x.json: /board: must be true, or left out, not false"});
  expect_refused(derived({{"board", true}}), {"changes nothing of its base"});
  json whole = load_documented_architecture("a40").document;
  whole.erase(std::string(kFittedDesign));
  whole["board"] = true;
  expect_refused(whole, {"unknown key 'board'"});
}

TEST(Derivation, MigSlicesAreSharesOfTheWhole) {
  const Architecture whole = load_architecture("a100-sxm4-80gb");
  int slices = 0;
  for (const std::string& name : architecture_names()) {
    if (const auto at = name.find("-mig-"); at != std::string::npos) {
      ++slices;
      const Architecture architecture = load_architecture(name);
      // NVIDIA gives each of the seven compute slices 14 SMs.
      EXPECT_EQ(architecture.gpu.sms, 14 * (name[at + 5] - '0')) << name;
      EXPECT_LT(architecture.gpu.sms, whole.gpu.sms);
      EXPECT_EQ(architecture.gpu.sm.registers, whole.gpu.sm.registers);
      // Eighths of the memory: 10 GB each.
      const json document = load_documented_architecture(name).document;
      const double eighths = std::stod(name.substr(name.rfind('.') + 1)) / 10;
      for (const char* pointer : {"/memory/l2_capacity_bytes", "/memory/dram_gb_per_s"}) {
        EXPECT_NEAR(
            parameter_value(document, pointer).get<double>() * 8,
            parameter_value(load_documented_architecture("a100-sxm4-80gb").document, pointer).get<double>() * eighths,
            1e-6)
            << name << pointer;
      }
    }
  }
  EXPECT_EQ(slices, 5);
}

TEST(DerivedParameters, AreFoundByPointerDottedPathOrLastKey) {
  const json document = load_documented_architecture("a100-sxm4-80gb").document;
  const io::JsonPlace place{"spec.json", "/axes/0"};
  EXPECT_EQ(parameter_pointer(document, "/sm/max_warps", place), "/sm/max_warps");
  EXPECT_EQ(parameter_pointer(document, "sm.max_warps", place), "/sm/max_warps");
  EXPECT_EQ(parameter_pointer(document, "max_warps", place), "/sm/max_warps");
  EXPECT_EQ(parameter_pointer(document, "numerics", place), "/numerics");
  const auto refused = [&](const char* path, const char* part) {
    support::expect_input_error([&] { parameter_pointer(document, path, place); }, {"spec.json: /axes/0: ", part});
  };
  refused("/sm/max_warp", "'/sm/max_warps'");
  refused("max_warp", "unknown parameter");
  refused("name", "unknown parameter");
  refused("/sm", "unknown parameter");
  refused("/sms/value", "unknown parameter");
  refused("", "unknown parameter");
}

TEST(DerivedParameters, SetLikeADerivedFileGiveTheSameConfiguration) {
  json set = load_documented_architecture("a100-sxm4-80gb").document;
  set_parameter(set, "/sms", 54, "a sweep");
  EXPECT_EQ(to_architecture(set, "x").gpu.sms, 54);
  EXPECT_EQ(to_architecture(set, "x").parameters[0].evidence, "assumed");
  const json file = complete_architecture(derived({{"sms", number(54.0)}}), "x.json");
  EXPECT_EQ(parameter_values(set), parameter_values(file));
  EXPECT_NE(parameter_values(set), parameter_values(load_documented_architecture("a100-sxm4-80gb").document));
}

}  // namespace
}  // namespace sptc::config
