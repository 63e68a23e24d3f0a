// SPDX-License-Identifier: Apache-2.0
#include "sim/io/tensor_file.h"
#include "tests/support/onnx_file.h"
#include "tests/unit/sim/cli/program.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace sptc::cli {
namespace {

class PruneProgram : public JsonProgram {
 protected:
  static io::Tensor tensor(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
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
    const std::size_t before = files();
    expect_refused(arguments, part);
    EXPECT_EQ(files(), before) << arguments;
  }
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
      json_of("convert " + pruned + " --dtype f16 --layout canonical --format json --out " + path("c.safetensors"));
  EXPECT_EQ(schema("convert").fault(json), "");
  EXPECT_EQ(json.at("layers"), 1);
}

TEST_F(PruneProgram, WeightsWithKFirstComeBackWithTheirExtents) {
  const std::string pruned = path("pruned.safetensors");
  const std::string compressed = path("compressed.safetensors");
  const std::string dense = path("dense.safetensors");
  expect_output("prune " + model({tensor("a", {16, 4}, ramp(64))}) + " --transposed a --out " + pruned,
                "1 layers of 64 weights pruned");
  expect_output("convert " + pruned + " --transposed a --dtype f16 --layout canonical --out " + compressed,
                "1 layers written as canonical");
  expect_output("convert " + compressed + " --layout dense --out " + dense, "1 layers written as dense");
  const io::TensorFile before = io::TensorFile::open(pruned);
  const io::TensorFile after = io::TensorFile::open(dense);
  EXPECT_EQ(after.tensor("a").shape, (std::vector<std::int64_t>{16, 4}));
  EXPECT_EQ(io::as_doubles(after.tensor("a")), io::as_doubles(before.tensor("a")));
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

TEST_F(PruneProgram, BadInputIsOneSentenceAndWritesNothing) {
  std::vector<float> broken = ramp(32);
  broken[9] = std::numeric_limits<float>::quiet_NaN();
  const std::string out = " --out " + path("o.safetensors") + " --masks " + path("m.safetensors");
  expect_nothing_written("prune " + model({tensor("a", {4, 8}, broken)}) + out, "element 9 is NaN");
  expect_nothing_written("prune " + model({tensor("a", {4, 6}, ramp(24))}) + out, "k = 6 is no multiple of 4");
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
  expect_nothing_written("prune " + good + out + " --permute auto",
                         "graph of an ONNX model, or tensors called as those of transformers");
  expect_nothing_written("prune " + good + out + " --pattern 64:2:8 --permute report",
                         "--permute looks for orders for N:M, not for 64:2:8");
  expect_nothing_written("prune " + good + " --out " + path("o.onnx"), "of an ONNX model alone");
  expect_nothing_written("prune " + good + " --out " + path("o.npy"),
                         "o.npy: a .npy file holds one tensor, and the model has 2");
  expect_nothing_written("prune " + good + " --out " + path("none/o.safetensors"), "none");
}

TEST_F(PruneProgram, ThePageShowsErrorsAndPermutationsAndEscapesNames) {
  const std::string hostile = "</script><script>document.title='x'</script><!-- [[DATA]] \"'&";
  const std::vector<float> ones(32, 1.0F);  // half of its energy goes
  const std::string file =
      model({tensor("a", {4, 8}, ramp(32)), tensor(hostile, {4, 8}, ones), tensor("odd", {2, 6}, ramp(12))});
  io::write_safetensors(path("x.safetensors"),
                        std::vector{tensor("a", {2, 8}, ramp(16)), tensor(hostile, {2, 8}, ramp(16))});
  const std::string page = path("p.html");
  const auto layers = json_of("prune " + file + " --permute report --activations " + path("x.safetensors") +
                              " --format json --html " + page)
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
  const std::string dom = opened(page);
  expect_has(dom, "<title>prune: ");
  expect_has(dom, "3 of 3 layers");
  expect_has(dom, "left as it is: k = 6 is no multiple of 4");
  expect_has(dom, " → ");
  const std::string rows = dom.substr(dom.find("<tbody id=\"body\">"));
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
  expect_nothing_written("prune " + file + " --out " + path("o.safetensors") + " --html " + path("none/p.html"),
                         "none");
  expect_nothing_written("prune " + file + " --html " + file, "model.safetensors");
  if (!support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page);
  expect_has(dom, "50.0 % of the energy of a layer stays.");
  expect_has(dom, "a: 0.7071");
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
  expect_output("prune " + path("in") + " --out " + path("to"), "2 layers of 40 weights");
  expect_refused("prune " + path("in") + " --exclude b --out " + path("to"), "new directory");
  std::ofstream(path("in/model.safetensors.index.json"))
      << R"({"weight_map": {"a": "2.safetensors", "b": "2.safetensors"}})";
  expect_refused("prune " + path("in"), "'a' is not in 2.safetensors");
}

TEST_F(PruneProgram, FiltersWithoutTapsHaveNoElement) {
  expect_refused("prune " + model({tensor("w", {8, 4, 0}, {})}), "it has no element");
  EXPECT_EQ(run("legal " + path("model.safetensors")).exit_code, 2);
}

TEST_F(PruneProgram, WeightsOfAnExternalFileAreNamedAndTheirExtentsAreKnown) {
  const std::string external =
      onnx::bytes(13, onnx::bytes(1, "location") + onnx::bytes(2, "weights.data")) + onnx::number(14, 1);
  std::ofstream(path("x.onnx"), std::ios::binary)
      << onnx::model(onnx::input("x", 1, {64, 32}) + onnx::bytes(5, onnx::tensor("w", 1, {32, 64}, external)) +
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

TEST_F(PruneProgram, LegalNamesTheNearestShape) {
  const auto json = json_of("legal 100 7 100 --dtype f16 --format json");
  EXPECT_EQ(schema("legal").fault(json), "");
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
  const std::string file = model({tensor("a", {4, 8}, ramp(32))});
  expect_output("legal " + file, "a: 4 x 8, tf32 on sm_80");
  expect_output("legal " + file + " --dtype f16", "a: 4 x 8, f16 on sm_80");
  expect_refused("legal 1 2", "M N K");
  expect_refused("legal 1 2 x", "'x' is no extent");
  expect_refused("legal 1 2 3 --dtype f17", "'f16'");
  for (const std::string format : {"nvfp4", "w4a16"}) {
    expect_refused("legal 1 2 3 --dtype " + format,
                   "no rules for 2:4 weights of " + format + ", only for those of f16");
  }
}

TEST_F(PruneProgram, LegalIsByTypeOrderAndGenerationOfEachTensor) {
  const std::vector<std::byte> bytes(std::size_t{64} * 64, std::byte{1});
  io::write_safetensors(path("typed.safetensors"),
                        std::vector{io::Tensor{"a", "I8", {64, 64}, bytes}, io::Tensor{"b", "F8_E4M3", {64, 64}, bytes},
                                    io::Tensor{"c", "F16", {32, 64}, bytes}, io::Tensor{"d", "F64", {4, 128}, bytes}});
  const auto accepted = [&](const std::string& more) {
    std::map<std::string, bool> found;
    const auto json = json_of("legal " + path("typed.safetensors") + " --format json --arch " + more);
    EXPECT_EQ(schema("legal").fault(json), "");
    for (const auto& shape : json.at("shapes")) {
      found[shape.at("name").get<std::string>() + " " + shape.at("dtype").get<std::string>()] =
          !shape.at("libraries").empty();
      for (const auto& library : shape.at("libraries")) {
        found[shape.at("name").get<std::string>() + ", " + library.at("library").get<std::string>()] =
            library.at("accepts").get<bool>();
      }
    }
    return found;
  };
  auto found = accepted("sm_80");
  EXPECT_TRUE(found.at("a s8") && found.at("b e4m3") && found.at("c f16"));
  EXPECT_FALSE(found.at("d f64"));  // which no library takes
  EXPECT_TRUE(found.at("a, cuSPARSELt"));
  EXPECT_FALSE(found.at("a, PyTorch, CUTLASS"));  // k is no multiple of 128
  EXPECT_FALSE(found.at("b, cuSPARSELt"));        // needs sm_89
  EXPECT_TRUE(found.at("c, CUTLASS 2.x, SparseGemm"));
  EXPECT_FALSE(found.at("c, CUTLASS 3.x, sm90"));
  found = accepted("sm_90");
  EXPECT_TRUE(found.at("b, cuSPARSELt") && found.at("c, CUTLASS 3.x, sm90"));
  EXPECT_FALSE(found.at("c, CUTLASS 3.x, sm100"));
  found = accepted("sm_100");
  EXPECT_TRUE(found.at("c, CUTLASS 3.x, sm100") && found.at("a, CUTLASS 3.x, sm100"));
  EXPECT_FALSE(found.at("c, CUTLASS 3.x, sm90"));
  // Weights [k, m] of 8 bits are those that CUTLASS of sm90 and PyTorch do not take.
  const std::string graph = onnx::input("x", 3, {64, 64}) +
                            onnx::bytes(5, onnx::tensor("w", 3, {64, 64}, onnx::bytes(9, std::string(4096, '\1')))) +
                            onnx::node("MatMul", {"x", "w"}, "y") + onnx::output("y");
  std::ofstream(path("w.onnx"), std::ios::binary) << onnx::model(graph);
  const std::string text = run("legal " + path("w.onnx") + " --arch sm_90").out;
  expect_has(text, "w: 64 x 64, s8 on sm_90; stored [k, m]");
  expect_has(text, "CUTLASS 3.x, sm90             2:4   no: weights are stored [k, m]");
  expect_has(text, "TensorRT                      2:4   yes");
}

TEST_F(PruneProgram, LegalShapesAreThoseOfTheLayouts) {
  // What `legal` takes for CUTLASS's and Marlin's metadata the layouts take, and no half of it.
  const auto layout_takes = [&](const std::string& layout, std::int64_t m, std::int64_t k) {
    const auto count = static_cast<std::size_t>(m * k);
    const std::string file = model({tensor("a", {m, k}, ramp(count))});
    return run("prune " + file + " --dtype f16 --layout " + layout).exit_code == 0;
  };
  for (const auto& [layout, m, k] :
       {std::tuple<std::string, std::int64_t, std::int64_t>("cutlass", 32, 32), {"marlin", 64, 32}, {"ptx", 16, 32}}) {
    EXPECT_TRUE(layout_takes(layout, m, k)) << layout;
    EXPECT_FALSE(layout_takes(layout, m / 2, k)) << layout;
    EXPECT_FALSE(layout_takes(layout, m, k / 2)) << layout;
  }
}

}  // namespace
}  // namespace sptc::cli
