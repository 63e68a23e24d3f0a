// SPDX-License-Identifier: Apache-2.0
//
// Right elements of D that an epilogue stored in the wrong place, everywhere in the same way.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {
namespace {

/// A way to store: where the element comes from that stands at D[row, column].
struct Store {
  const char* cause;
  std::string text;
  Source source;
};

void add_transposed_blocks(std::vector<Store>& stores) {
  for (const std::size_t edge : {8U, 16U, 32U, 64U}) {
    stores.push_back({"transposed-tile", fmt::format("{0} x {0} blocks of D are transposed", edge),
                      [edge](std::size_t row, std::size_t column) {
                        return std::pair(row / edge * edge + column % edge, column / edge * edge + row % edge);
                      }});
  }
}

/// Chunks of a line that were exchanged in shared memory on the way, as a swizzle does.
void add_swizzles(std::vector<Store>& stores) {
  for (const std::size_t chunk : {2U, 4U, 8U, 16U}) {
    for (const std::size_t mask : {1U, 3U, 7U}) {
      for (const std::size_t rows : {1U, 2U, 4U, 8U}) {
        stores.push_back(
            {"swizzle",
             fmt::format("chunks of {} columns of D are swizzled: chunk c of row i is chunk c ^ (i{} % {})", chunk,
                         rows > 1 ? fmt::format(" / {}", rows) : "", mask + 1),
             [=](std::size_t row, std::size_t column) {
               return std::pair(row, ((column / chunk) ^ (row / rows & mask)) * chunk + column % chunk);
             }});
      }
    }
  }
}

/// Accumulators of a lane or of neighbours in the order of others.
void add_registers(std::vector<Store>& stores) {
  stores.push_back(
      {"permuted-columns", "in D columns 1 and 2 of every 4 are exchanged", [](std::size_t row, std::size_t column) {
         constexpr std::size_t kOrder[] = {0, 2, 1, 3};
         return std::pair(row, column / 4 * 4 + kOrder[column % 4]);
       }});
  for (const std::size_t of_row : {0U, 1U}) {
    stores.push_back(
        {"duplicated-columns",
         fmt::format("in {} rows of D both columns of a pair hold the first", of_row == 0 ? "even" : "odd"),
         [of_row](std::size_t row, std::size_t column) {
           return std::pair(row, row % 2 == of_row ? column / 2 * 2 : column);
         }});
  }
}

/// CTAs that take tiles row after row where the kernel meant column after column.
void add_rasters(const KernelData& data, std::vector<Store>& stores) {
  for (const std::size_t height : {32U, 64U, 128U, 256U}) {
    for (const std::size_t width : {32U, 64U, 128U, 256U}) {
      const std::size_t down = data.m / height, across = data.n / width;
      if (data.m % height == 0 && data.n % width == 0 && down > 1 && across > 1) {
        for (const bool is_first : {true, false}) {
          stores.push_back({"moved-tile",
                            fmt::format("tiles of {} x {} stand in the order of {}, not of {}", height, width,
                                        is_first ? "columns" : "rows", is_first ? "rows" : "columns"),
                            [=](std::size_t row, std::size_t column) {
                              const std::size_t i = row / height, j = column / width;
                              const std::size_t cta = is_first ? i * across + j : j * down + i;
                              const std::size_t from_row = is_first ? cta % down : cta / across,
                                                from_column = is_first ? cta / down : cta % across;
                              return std::pair(from_row * height + row % height, from_column * width + column % width);
                            }});
        }
      }
    }
  }
}

}  // namespace

Proposals stores_of_d(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  std::vector<Store> stores;
  add_transposed_blocks(stores);
  add_swizzles(stores);
  add_registers(stores);
  add_rasters(at.data(), stores);
  Proposals proposals{{}, static_cast<double>(stores.size())};
  for (Store& store : stores) {
    Hypothesis stored = moved(kernel, {.d = true}, store.cause, std::move(store.text), std::move(store.source));
    const auto fits = std::ranges::count_if(at.strongest(), [&](const auto& element) {
      return kernel.agrees(element.first, element.second, stored.word(element.first, element.second));
    });
    if (2 * fits > std::ssize(at.strongest())) {
      proposals.list.push_back(std::move(stored));
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
