// SPDX-License-Identifier: Apache-2.0
// Architectures that cannot be, and what their errors say.
#include "tests/unit/sim/config/changed_architecture.h"

#include <algorithm>
#include <utility>

namespace sptc::config {
namespace {

TEST(Architecture, RefusesAnL1OrAsynchronousCopiesThatCannotBe) {
  const auto refused = [](const std::string& key, int value, std::string_view why) {
    expect_refused([&](json& document) { document["sm"][key]["value"] = value; }, {"/sm/" + key, why});
  };
  refused("l1_latency_cycles", 2, "is less than 3");
  refused("l1_and_shared_memory_bytes", 65536, "is less than shared_memory_bytes");
  const auto with_copies_of = [](int bytes) {
    return [bytes](json& document) {
      document["sm"]["async_copy_bytes"] = {{"value", bytes}, {"evidence", "assumed"}, {"source", "what if"}};
    };
  };
  expect_refused(with_copies_of(32), {"/sm/async_copy_bytes", "from 0 to 16"});
  for (const int bytes : {1, 3, 5, 12}) {
    expect_refused(with_copies_of(bytes), {"/sm/async_copy_bytes", "4, 8 or 16 bytes, not " + std::to_string(bytes)});
  }
  for (const int bytes : {0, 4, 8, 16}) {
    EXPECT_NO_THROW(parse_architecture(changed(with_copies_of(bytes)), "x.json"));
  }
}

TEST(Architecture, RefusesClustersOfKernelsThatHaveNone) {
  expect_refused(
      [](json& document) {
        document["kernels"]["cluster_ctas"] = {{"value", 2}, {"evidence", "assumed"}, {"source", "a test"}};
        document["sm"]["wgmma_interval_cycles"]["value"] = 0;
      },
      {"/kernels/cluster_ctas: has no effect without wgmma or tcgen05"});
}

TEST(Architecture, RefusesInstructionsOfWarpgroupsThatItsGenerationDoesNotHave) {
  for (const auto& [key, message] :
       {std::pair("wgmma_interval_cycles", "/sm/wgmma_interval_cycles: must be 0: sm_80 has no wgmma"),
        std::pair("tcgen05_interval_cycles", "must be 0: sm_80 has no tcgen05.mma")}) {
    expect_refused(
        [key = key](json& document) {
          document["sm"][key] = {{"value", 4}, {"evidence", "assumed"}, {"source", "a test"}};
        },
        {message});
  }
}

TEST(Architecture, RefusesAMisspeltKeyWithTheNearest) {
  expect_refused(
      [](json& document) {
        document["sm"]["max_wraps"] = document["sm"]["max_warps"];
        document["sm"].erase("max_warps");
      },
      {"x.json: /sm: unknown key 'max_wraps' (nearest valid: 'max_warps'", "the key 'max_warps' is missing"});
}

TEST(Architecture, ReportsAllErrorsAtOnceOneLineEach) {
  const std::string text = changed([](json& document) {
    document["sms"]["value"] = -1;
    document["sm"]["issue_per_cycle"].erase("source");
    document["sm"]["tensor_core"]["dot_units"]["evidence"] = "guessed";
    document["colour"] = "green";
  });
  const std::string message = support::input_error_of([&] { parse_architecture(text, "x.json"); });
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 3) << message;
  for (const char* part :
       {"/sms/value", "/sm/issue_per_cycle: the key 'source' is missing", "'guessed'", "unknown key 'colour'"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
}

TEST(Architecture, RefusesValuesThatAreNoPositiveNumber) {
  for (const json& value :
       {json(0), json(-4), json("64"), json(nullptr), json(1.5), json(true), json(1e300), json::array({1})}) {
    expect_refused([&](json& document) { document["sm"]["max_ctas"]["value"] = value; },
                   {"x.json: /sm/max_ctas/value: must be a whole number from 1"});
  }
  expect_refused([](json& document) { document["boost_clock_mhz"]["value"] = 0.0; },
                 {"/boost_clock_mhz/value: must be a number from 0.001 to 100000, not"});
}

TEST(Architecture, RefusesNanAndInfinity) {
  for (const char* literal : {"NaN", "Infinity", "-Infinity", "1e999"}) {
    std::string text = io::read_text_file(kA100, 1 << 20);
    text.replace(text.find("1410"), 4, literal);
    support::expect_input_error([&] { parse_architecture(text, "x.json"); }, {"x.json", "not valid JSON"});
  }
}

TEST(Architecture, RefusesANumberWithoutEvidenceOrWithoutObjectAndUnknownWords) {
  expect_refused([](json& document) { document["sms"].erase("evidence"); }, {"/sms: the key 'evidence' is missing"});
  expect_refused([](json& document) { document["sms"] = 108; },
                 {R"(/sms: must be an object, not 108: {"value": 108, "evidence": "assumed", )"
                  R"("source": "why"})"});
  expect_refused([](json& document) { document["sms"]["source"] = ""; },
                 {"/sms/source: must be a string that is not empty"});
  expect_refused([](json& document) { document["sms"]["evidence"] = "asumed"; },
                 {"'asumed'", "nearest valid: 'assumed'"});
  expect_refused([](json& document) { document["numerics"] = "amper"; },
                 {"/numerics: unknown numerics 'amper'", "'ampere'"});
}

TEST(Architecture, RefusesNumbersThatNoGpuHasOrThatContradictOthers) {
  const struct {
    std::string pointer;
    json value;
    const char* sentence;
  } refusals[] = {{"/sm/max_shared_memory_per_cta_bytes", 999999, ": 999999 is more than shared_memory_bytes, 167936"},
                  {"/sm/max_warps", 63, ": 63 is no multiple of sub_partitions, 4"},
                  {"/sm/tensor_core/f32_dot_units", 24, ": 24 does not divide dot_units, 32"},
                  // Bytes per cycle are counted in thousandths.
                  {"/memory/sm_port_bytes_per_cycle", 1e-9, "/value: must be a number from 0.001 to"},
                  {"/memory/l2_bytes_per_cycle", 0.001, ": 0.001 is less than 0.001 for each of 2 partitions"},
                  {"/memory/l2_partitions", 3, "/value: must be a whole number from 1 to 2, not 3"},
                  {"/kernels/stream_us", -0.5, "/value: must be a number from 0 to 1000000, not -0.5"},
                  {"/kernels/sparse_stream_us", -0.5, "/value: must be a number from 0 to 1000000, not -0.5"},
                  {"/memory/dram_refresh_ns", 3900, ": 3900 is not less than dram_refresh_interval_ns, 3900"},
                  {"/sm/shared_memory_latency_cycles", 1, ": 1 is less than 2"},
                  {"/sm/barrier_latency_cycles", 1, ": 1 is less than 2"},
                  {"/sm/tensor_core/operand_fetch_latency_cycles", 1, ": 1 is less than 2"}};
  for (const auto& one : refusals) {
    expect_refused([&](json& document) { document[json::json_pointer(one.pointer)]["value"] = one.value; },
                   {one.pointer + one.sentence});
  }
  expect_refused(
      [](json& document) {
        document["memory"]["dram_gb_per_s"]["value"] = 1;
        document["memory"]["dram_efficiency_percent"]["value"] = 1;
      },
      {"/memory/dram_gb_per_s: 0.0091 GB/s are left at 1 % and with refresh, less than 0.1"});
}

}  // namespace
}  // namespace sptc::config
