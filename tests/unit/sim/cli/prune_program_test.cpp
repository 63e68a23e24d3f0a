// SPDX-License-Identifier: Apache-2.0
#include "sim/io/tensor_file.h"
#include "tests/support/browser.h"
#include "tests/support/json_schema.h"
#include "tests/support/onnx_file.h"
#include "tests/unit/sim/cli/program.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace sptc::cli {
namespace {

class PruneProgram : public JsonProgram {
 protected:
  static io::Tensor tensor(const std::string& name, std::vector<std::int64_t> shape,
                           const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {name, "F32", std::move(shape), {bytes.begin(), bytes.end()}};
  }
  /// Values that differ in magnitude within every group of four.
  static std::vector<float> ramp(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = (i % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(1 + i * 7 % 13);
    }
    return values;
  }
  std::string model(const std::vector<io::Tensor>& tensors) const {
    io::write_safetensors(path("model.safetensors"), tensors);
    return path("model.safetensors");
  }
  /// Refused, and neither the file nor anything beside it is there.
  void expect_nothing_written(const std::string& arguments, const std::string& part) const {
    const auto files = [&] {
      std::size_t count = 0;
      for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
        const std::string name = entry.path().filename().string();
        count += name != "out" && name != "err" ? 1U : 0U;
      }
      return count;
    };
    const std::size_t before = files();
    expect_refused(arguments, part);
    EXPECT_EQ(files(), before) << arguments;
  }
  static support::JsonSchema schema(const std::string& name) {
    return support::JsonSchema(nlohmann::json::parse(read(
        std::filesystem::path(SPTC_SOURCE_DIR) / "configs" / "schema" / (name + ".schema.json"))));
  }
  static std::string read_whole(const std::string& file) { return read(file); }
};

TEST_F(PruneProgram, ReportIsWhatItsSchemaSays) {
  const std::string file = model({tensor("a", {4, 8}, ramp(32)), tensor("odd", {2, 6}, ramp(12))});
  const auto json = json_of("prune " + file + " --permute report --format json");
  EXPECT_EQ(schema("prune").fault(json), "");
  EXPECT_EQ(json.at("layers").at(0).at("zeros_after"), 16);
  EXPECT_EQ(json.at("layers").at(1).at("reason"), "k = 6 is no multiple of 4");
  expect_output("prune " + file, "1 layers of 32 weights pruned, 1 left as they are");
}

TEST_F(PruneProgram, ReportOfAConversionIsWhatItsSchemaSays) {
  const std::string pruned = path("pruned.safetensors");
  expect_output("prune " + model({tensor("a", {4, 16}, ramp(64))}) + " --out " + pruned,
                "1 layers of 64 weights pruned");
  const auto json =
      json_of("convert " + pruned + " --dtype f16 --layout canonical --format json --out " +
              path("c.safetensors"));
  EXPECT_EQ(schema("convert").fault(json), "");
  EXPECT_EQ(json.at("layers"), 1);
}

TEST_F(PruneProgram, WeightsWithKFirstComeBackWithTheirExtents) {
  const std::string pruned = path("pruned.safetensors");
  const std::string compressed = path("compressed.safetensors");
  const std::string dense = path("dense.safetensors");
  expect_output(
      "prune " + model({tensor("a", {16, 4}, ramp(64))}) + " --transposed a --out " + pruned,
      "1 layers of 64 weights pruned");
  expect_output(
      "convert " + pruned + " --transposed a --dtype f16 --layout canonical --out " + compressed,
      "1 layers written as canonical");
  expect_output("convert " + compressed + " --layout dense --out " + dense,
                "1 layers written as dense");
  const io::TensorFile before = io::TensorFile::open(pruned);
  const io::TensorFile after = io::TensorFile::open(dense);
  EXPECT_EQ(after.tensor("a").shape, (std::vector<std::int64_t>{16, 4}));
  EXPECT_EQ(io::as_doubles(after.tensor("a")), io::as_doubles(before.tensor("a")));
}

TEST_F(PruneProgram, CriteriaThatSeeInputsLoseLessOfTheOutput) {
  // Channels of very different size, of which neighbours go together.
  const auto noise = [](std::size_t i) {
    return static_cast<float>(static_cast<int>(i * 2654435761U >> 7 & 1023U) - 511) / 512;
  };
  std::vector<float> weights(64 * 64), inputs(256 * 64);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = noise(i);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t channel = i % 64;
    inputs[i] = (noise(i - channel + channel / 2) + noise(7 * i + 3)) *
                static_cast<float>(1 + channel * 5 % 8);
  }
  const std::string file = model({tensor("a", {64, 64}, weights)});
  io::write_safetensors(path("x.safetensors"), std::vector{tensor("a", {256, 64}, inputs)});
  const auto error = [&](const std::string& criterion) {
    return json_of("prune " + file + " --criterion " + criterion + " --activations " +
                   path("x.safetensors") + " --format json")
        .at("layers")
        .at(0)
        .at("output_error")
        .get<double>();
  };
  const double magnitude = error("magnitude");
  const double wanda = error("wanda");
  EXPECT_LT(wanda, 0.95 * magnitude);
  EXPECT_LT(error("sparsegpt"), 0.95 * wanda);
}

TEST_F(PruneProgram, CompressedArraysSayWhatTheyAre) {
  const std::string file = model({tensor("a", {64, 64}, ramp(4096))});
  for (const std::string layout : {"canonical", "ptx", "cutlass", "pytorch", "marlin"}) {
    const auto to = [&](const std::string& what, const std::string& out) {
      expect_output(what + " --out " + path(out), layout);
      return read(path(out));
    };
    const std::string as = " --layout " + layout;
    const std::string pruned = to("prune " + file + " --dtype f16" + as, "a.npz");
    EXPECT_EQ(to("convert " + path("a.npz") + as, "b.npz"), pruned);
    to("convert " + path("a.npz") + as, "b.safetensors");
    EXPECT_EQ(to("convert " + path("b.safetensors") + as, "c.npz"), pruned);
  }
  expect_output("convert " + path("a.npz") + " --layout dense --out " + path("dense.npz"), "dense");
  expect_lacks(read(path("dense.npz")), "__metadata__");
}

TEST_F(PruneProgram, LayersThatAreLeftOutStayAsTheyAre) {
  const std::string file = model({tensor("a", {4, 8}, ramp(32)), tensor("b", {4, 8}, ramp(32))});
  const std::string pruned = path("pruned.safetensors");
  expect_output("prune " + file + " --exclude b --out " + pruned, "1 layers of 32 weights pruned");
  const auto bytes = [](const std::string& of, const char* name) {
    return io::TensorFile::open(of).tensor(name).bytes;
  };
  EXPECT_EQ(bytes(pruned, "b"), bytes(file, "b"));
  EXPECT_NE(bytes(pruned, "a"), bytes(file, "a"));
}

TEST_F(PruneProgram, BadInputIsOneSentenceAndWritesNothing) {
  std::vector<float> broken = ramp(32);
  broken[9] = std::numeric_limits<float>::quiet_NaN();
  const std::string out = " --out " + path("o.safetensors") + " --masks " + path("m.safetensors");
  expect_nothing_written("prune " + model({tensor("a", {4, 8}, broken)}) + out, "element 9 is NaN");
  expect_nothing_written("prune " + model({tensor("a", {4, 6}, ramp(24))}) + out,
                         "k = 6 is no multiple of 4");
  const std::string good = model({tensor("a", {4, 8}, ramp(32)), tensor("c", {3, 5}, ramp(15))});
  expect_nothing_written("prune " + good + out + " --layers c", "layer 'c' cannot be pruned");
  expect_nothing_written("prune " + good + out + " --layers nothing", "none of its 2 tensors");
  expect_nothing_written("prune " + good + out + " --layers '('", "no regular expression");
  expect_nothing_written("prune " + good + " --out " + good, "model.safetensors");
  expect_nothing_written("prune " + good + out + " --criterion wanda", "needs --activations");
  expect_nothing_written("prune " + good + out + " --criterion wander", "'wanda'");
  expect_nothing_written("prune " + good + out + " --layout cutlas", "'cutlass'");
  expect_nothing_written("prune " + good + out + " --layers a --dtype s8 --layout canonical",
                         "f32 are not quantised to s8");
  expect_nothing_written("prune " + good + out + " --permute x=a", "unknown tensor 'x'");
  expect_nothing_written("prune " + good + out + " --permute auto", "graph of an ONNX model");
  expect_nothing_written("prune " + good + out + " --pattern 1:4 --permute report",
                         "--permute looks for orders for 2:4, not for 1:4");
  expect_nothing_written("prune " + good + " --out " + path("o.onnx"), "of an ONNX model alone");
  expect_nothing_written("prune " + good + " --out " + path("o.npy"),
                         "o.npy: a .npy file holds one tensor, and the model has 2");
  expect_nothing_written("prune " + good + " --out " + path("none/o.safetensors"), "none");
}

TEST_F(PruneProgram, ThePageShowsErrorsAndPermutationsAndEscapesNames) {
  const std::string hostile = "</script><script>document.title='x'</script><!-- [[DATA]] \"'&";
  const std::vector<float> ones(32, 1.0F);  // half of its energy goes
  const std::string file = model({tensor("a", {4, 8}, ramp(32)), tensor(hostile, {4, 8}, ones),
                                  tensor("odd", {2, 6}, ramp(12))});
  io::write_safetensors(path("x.safetensors"), std::vector{tensor("a", {2, 8}, ramp(16)),
                                                           tensor(hostile, {2, 8}, ramp(16))});
  const std::string page = path("p.html");
  const auto layers = json_of("prune " + file + " --permute report --activations " +
                              path("x.safetensors") + " --format json --html " + page)
                          .at("layers");
  std::string text = read(page);
  expect_lacks(text, "src=");
  expect_lacks(text, hostile);
  expect_has(text, "sptcsim prune " + file + " --permute report");
  if (!support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string end = "</body>";
  text.replace(text.rfind(end), end.size(),
               "<script>[...document.querySelectorAll('th')].find(th => th.textContent === 'error')"
               ".click();</script></body>");
  std::ofstream(page) << text;
  const support::BrowserOutcome seen = support::open_in_browser(page, temporary.path());
  EXPECT_EQ(seen.messages, "");
  expect_has(seen.dom, "data-ready=\"yes\"");
  expect_has(seen.dom, "<title>prune: ");
  expect_has(seen.dom, "3 of 3 layers");
  expect_has(seen.dom, "left as it is: k = 6 is no multiple of 4");
  expect_has(seen.dom, " → ");
  const std::string rows = seen.dom.substr(seen.dom.find("<tbody id=\"body\">"));
  const auto shown = [](const nlohmann::json& layer) {
    return fmt::format(">{:.4f}</td>", layer.at("output_error").get<double>());
  };
  EXPECT_LT(rows.find(shown(layers[1])), rows.find(shown(layers[0])));  // sorted, the largest first
  EXPECT_LT(rows.find("&lt;/script&gt;&lt;script&gt;"), rows.find(shown(layers[1])));
}

TEST_F(PruneProgram, ThePageOfAModelWithoutInputsHasTheErrorOfWhiteNoise) {
  const std::string page = path("p.html");
  const std::string file = model({tensor("a", {4, 8}, std::vector<float>(32, 1.0F))});
  expect_output("prune " + file + " --html " + page, "1 layers of 32 weights pruned");
  expect_nothing_written(
      "prune " + file + " --out " + path("o.safetensors") + " --html " + path("none/p.html"),
      "none");
  expect_nothing_written("prune " + file + " --html " + file, "model.safetensors");
  if (!support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const support::BrowserOutcome seen = support::open_in_browser(page, temporary.path());
  EXPECT_EQ(seen.messages, "");
  expect_has(seen.dom, "50.0 % of the energy of a layer stays.");
  expect_has(seen.dom, "a: 0.7071");
}

TEST_F(PruneProgram, AModelThatHasThePatternIsRefused) {
  std::vector<float> sparse = ramp(32);
  for (std::size_t i = 0; i < sparse.size(); i += 2) {
    sparse[i] = 0;
  }
  const std::string file = model({tensor("a", {4, 8}, sparse)});
  expect_nothing_written("prune " + file + " --out " + path("o.safetensors"), "2:4 already");
  expect_output("prune " + file, "had the pattern already");
}

TEST_F(PruneProgram, LyingOffsetsAreRefused) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"F32","shape":[1,4],"data_offsets":[8,24]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  std::ofstream(path("l.safetensors"), std::ios::binary)
      << length << header << std::string(24, 'x');
  expect_nothing_written("prune " + path("l.safetensors") + " --out " + path("o.safetensors"),
                         "starts at byte 8 of the data");
}

TEST_F(PruneProgram, AFullDiskLeavesNothing) {
  const std::string file = model({tensor("a", {64, 1024}, ramp(65536))});
  const std::string out = path("o.safetensors");
  const std::string command = "ulimit -f 100; " + std::string(SPTC_PROGRAM) + " prune " + file +
                              " --out " + out + " >" + path("out") + " 2>" + path("err");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  expect_has(read(path("err")), "o.safetensors: cannot be written");
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("o.safetensors"));
  }
}

TEST_F(PruneProgram, ShardsStayShards) {
  std::filesystem::create_directory(path("in"));
  io::write_safetensors(path("in/1.safetensors"), std::vector{tensor("a", {4, 8}, ramp(32))});
  io::write_safetensors(path("in/2.safetensors"), std::vector{tensor("b", {2, 4}, ramp(8))});
  std::ofstream(path("in/model.safetensors.index.json"))
      << R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})";
  expect_output("prune " + path("in") + " --out " + path("to"), "2 layers of 40 weights");
  const auto index = nlohmann::json::parse(read(path("to/model.safetensors.index.json")));
  EXPECT_EQ(index.at("weight_map").at("b"), "2.safetensors");
  EXPECT_EQ(io::TensorFile::open(path("to/2.safetensors")).tensors().size(), 1U);
  expect_refused("prune " + path("in") + " --out " + path("to"), "new directory");
  std::ofstream(path("in/model.safetensors.index.json"))
      << R"({"weight_map": {"a": "2.safetensors", "b": "2.safetensors"}})";
  expect_refused("prune " + path("in"), "'a' is not in 2.safetensors");
}

TEST_F(PruneProgram, FiltersWithoutTapsHaveNoElement) {
  expect_refused("prune " + model({tensor("w", {8, 4, 0}, {})}), "it has no element");
  EXPECT_EQ(run("legal " + path("model.safetensors")).exit_code, 2);
}

TEST_F(PruneProgram, ARegularExpressionTakesNamesOfAnyLength) {
  const std::string name(50'000, 'w');
  const std::string at = "prune " + model({tensor(name, {4, 8}, ramp(32))}) + " --layers ";
  EXPECT_EQ(run(at + "'.*w'").exit_code, 0);
  expect_refused(at + "'(w+)+v'", "none of its 1 tensors");
  expect_refused(at + "'" + std::string(30'000, '(') + "'", "is no regular expression");
}

/// y = relu(x w1 + b1) w2 with w1 [8, 16] and w2 [16, 4].
std::string chain(const std::vector<float>& w1, const std::vector<float>& b1,
                  const std::vector<float>& w2) {
  const auto weight = [](const std::string& name, std::initializer_list<std::int64_t> dims,
                         const std::vector<float>& values) {
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    return onnx::bytes(5, onnx::tensor(name, 1, dims, onnx::bytes(9, raw)));
  };
  return onnx::model(onnx::input("x", 1, {2, 8}) + weight("w1", {8, 16}, w1) +
                     weight("b1", {16}, b1) + weight("w2", {16, 4}, w2) +
                     onnx::node("MatMul", {"x", "w1"}, "h") + onnx::node("Add", {"h", "b1"}, "s") +
                     onnx::node("Relu", {"s"}, "r") + onnx::node("MatMul", {"r", "w2"}, "y") +
                     onnx::bytes(12, onnx::bytes(1, "y")));
}

TEST_F(PruneProgram, WeightsOfAnExternalFileAreNamedAndTheirExtentsAreKnown) {
  const std::string external =
      onnx::bytes(13, onnx::bytes(1, "location") + onnx::bytes(2, "weights.data")) +
      onnx::number(14, 1);
  std::ofstream(path("x.onnx"), std::ios::binary) << onnx::model(
      onnx::input("x", 1, {64, 32}) + onnx::bytes(5, onnx::tensor("w", 1, {32, 64}, external)) +
      onnx::node("MatMul", {"x", "w"}, "y") + onnx::output("y"));
  std::ofstream(path("weights.data"), std::ios::binary) << std::string(32 * 64 * 4, '\1');
  const std::string reason =
      "x.onnx: the values of 'w' are in the external file 'weights.data', which is not read here: "
      "save the model as one file first";
  expect_nothing_written("prune " + path("x.onnx") + " --out " + path("p.onnx"), reason);
  expect_nothing_written("plan " + path("x.onnx"), reason);
  expect_has(run("legal " + path("x.onnx")).out, "w: 64 x 32");
  EXPECT_EQ(run("import " + path("x.onnx")).exit_code, 0);
}

TEST_F(PruneProgram, AnOnnxGraphSaysWhatGoesWithAPermutation) {
  std::vector<float> b1(16), w2(64);
  for (std::size_t i = 0; i < 16; ++i) {
    b1[i] = static_cast<float>(i);
    for (std::size_t j = 0; j < 4; ++j) {  // large rows 0 to 7, small ones 8 to 15
      w2[i * 4 + j] = (i < 8 ? 10.0F : 1.0F) + static_cast<float>((i * 5 + j) % 7) / 8;
    }
  }
  std::ofstream(path("c.onnx"), std::ios::binary) << chain(ramp(128), b1, w2);
  const std::string command = "prune " + path("c.onnx") + " --out " + path("p.onnx");
  const auto json = json_of(command + " --permute auto --format json");
  const auto& layers = json.at("layers");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].at("permutation"), nullptr);  // its k is an input of the graph
  EXPECT_EQ(layers[1].at("permutation").at("applied"), true);
  EXPECT_GT(layers[1].at("magnitude_kept"), 0.85);
  // The model has its length and all but its weights; the biases are the same numbers in the new
  // order, and the columns of w1 are where their biases are.
  const std::string before = read(path("c.onnx")), after = read(path("p.onnx"));
  ASSERT_EQ(before.size(), after.size());
  const auto floats = [&](const std::string& bytes, const std::vector<float>& values) {
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    std::vector<float> found(values.size());
    std::memcpy(found.data(), bytes.data() + before.find(raw), raw.size());
    return found;
  };
  const std::vector<float> order = floats(after, b1);
  EXPECT_NE(order, b1);
  const std::vector<float> w1 = ramp(128), w1_after = floats(after, w1);
  const std::vector<float> w2_after = floats(after, w2);
  for (std::size_t i = 0; i < 16; ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_TRUE(w1_after[k * 16 + i] == 0 || w1_after[k * 16 + i] == w1[k * 16 + from]);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_TRUE(w2_after[i * 4 + j] == 0 || w2_after[i * 4 + j] == w2[from * 4 + j]);
    }
  }
}

TEST_F(PruneProgram, AnOutputOfTheGraphIsNotPermuted) {
  std::vector<float> w2(64, 1.0F);
  for (std::size_t i = 0; i < 32; ++i) {
    w2[i] = 10.0F + static_cast<float>(i);
  }
  std::string model = chain(ramp(128), ramp(16), w2);
  // The graph gives away the sum before the Relu.
  const std::string output = onnx::bytes(12, onnx::bytes(1, "y"));
  const std::size_t at = model.find(output);
  ASSERT_NE(at, std::string::npos);
  model.replace(at, output.size(), onnx::bytes(12, onnx::bytes(1, "s")));
  std::ofstream(path("c.onnx"), std::ios::binary) << model;
  const auto json = json_of("prune " + path("c.onnx") + " --permute auto --format json");
  ASSERT_EQ(json.at("layers").size(), 2U);
  for (const auto& layer : json.at("layers")) {
    EXPECT_EQ(layer.at("permutation"), nullptr);
  }
}

TEST_F(PruneProgram, LegalNamesTheNearestShape) {
  const auto json = json_of("legal 100 7 100 --dtype f16 --format json");
  const support::JsonSchema schema(nlohmann::json::parse(
      read(std::filesystem::path(SPTC_SOURCE_DIR) / "configs" / "schema" / "legal.schema.json")));
  EXPECT_EQ(schema.fault(json), "");
  for (const auto& library : json.at("shapes").at(0).at("libraries")) {
    EXPECT_EQ(library.at("accepts"), false);
    if (library.at("library") == "PyTorch, CUTLASS") {
      EXPECT_EQ(library.at("nearest"), nlohmann::json({{"m", 128}, {"n", 7}, {"k", 128}}));
    }
    if (library.at("library") == "mma.sp") {  // multiples of 16, 8 and 32
      EXPECT_EQ(library.at("nearest"), nlohmann::json({{"m", 112}, {"n", 8}, {"k", 128}}));
    }
  }
  expect_output("legal 128 8 128 --dtype f16", "PyTorch, CUTLASS              2:4   yes");
  expect_output("legal 64 8 64 --dtype e4m3", "no: needs sm_89");
  expect_output("legal " + model({tensor("a", {4, 8}, ramp(32))}), "a: 4 x 8, f16 on sm_80");
  expect_refused("legal 1 2", "M N K");
  expect_refused("legal 1 2 x", "'x' is no extent");
  expect_refused("legal 1 2 3 --dtype f17", "'f16'");
}

TEST_F(PruneProgram, LegalShapesAreThoseOfTheLayouts) {
  // What `legal` takes for CUTLASS's and Marlin's metadata the layouts take, and no half of it.
  const auto layout_takes = [&](const std::string& layout, std::int64_t m, std::int64_t k) {
    const auto count = static_cast<std::size_t>(m * k);
    const std::string file = model({tensor("a", {m, k}, ramp(count))});
    return run("prune " + file + " --dtype f16 --layout " + layout).exit_code == 0;
  };
  for (const auto& [layout, m, k] :
       {std::tuple<std::string, std::int64_t, std::int64_t>("cutlass", 32, 32),
        {"marlin", 64, 32},
        {"ptx", 16, 32}}) {
    EXPECT_TRUE(layout_takes(layout, m, k)) << layout;
    EXPECT_FALSE(layout_takes(layout, m / 2, k)) << layout;
    EXPECT_FALSE(layout_takes(layout, m, k / 2)) << layout;
  }
}

}  // namespace
}  // namespace sptc::cli
