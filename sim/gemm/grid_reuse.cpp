// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/grid_reuse.h"

#include "sim/base/cache_tags.h"
#include "sim/gemm/gemm_traffic.h"
#include "sim/gemm/raster_pieces.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <unordered_map>

namespace sptc::sim {
namespace {

// Waves that are looked at one by one; a longer grid is taken to go on like the second half of
// them.
constexpr std::int64_t kMaxWaves = 64;

/// Bytes of the panels of some operands that have their rows in common, as copied, by their number:
/// that of the slice of K of a GEMM of the batch times the panels of each, and the place among
/// those. At the edges panels are shorter; some lie beyond them as a whole.
class PanelBytes {
 public:
  PanelBytes(const GemmTraffic& traffic, std::span<const Operand> operands, std::int64_t tiles,
             std::int64_t slices)
      : rows_(traffic.panel_rows(operands.front())), tiles_(tiles) {
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      std::int64_t bytes = 0;
      for (const Operand operand : operands) {
        bytes += traffic.slice_row_bytes(operand, slice);
      }
      row_bytes_.push_back(static_cast<double>(bytes));
    }
  }

  double operator()(std::int64_t panel) const {
    const auto slice = static_cast<std::size_t>(panel / tiles_) % row_bytes_.size();
    return static_cast<double>(rows_.of(panel % tiles_)) * row_bytes_[slice];
  }
  /// Of all panels of one GEMM of the batch.
  double all() const {
    return static_cast<double>(rows_.length) *
           std::accumulate(row_bytes_.begin(), row_bytes_.end(), 0.0);
  }

 private:
  PanelRows rows_;
  std::int64_t tiles_;
  std::vector<double> row_bytes_;  ///< by slice of K
};

/// Time as a partition of the L2 sees it, at the begin of a wave: bytes that were used and, of
/// those, bytes that had to be fetched.
struct L2Time {
  double used = 0, fetched = 0;
};

/// The panels (rows of tiles of A, columns of tiles of B) of one operand, and in which wave each
/// was last in use.
class Panels {
 public:
  /// `distinct`: share of a panel's bytes that the L2 has to fetch and keep; the rest it has seen
  /// a few tiles earlier.
  Panels(const PanelBytes& bytes, double distinct, double capacity, std::int64_t partitions)
      : bytes_(bytes), distinct_(distinct), capacity_(capacity), partitions_(partitions) {}

  struct Fetched {
    double from_dram = 0;  ///< bytes
    double misses = 0;     ///< panels that are not in the partition that is asked
    double panels = 0;     ///< distinct ones
    double used = 0;       ///< bytes, per partition
    double inserted = 0;   ///< of those, fetched
  };

  /// The last of `waves` uses each of `panels` (may repeat).
  Fetched use(const std::vector<std::int64_t>& panels, const std::vector<L2Time>& waves) {
    Fetched result;
    latest_wave_ = kNever;
    const auto wave = static_cast<std::int32_t>(waves.size()) - 1;
    for (const std::int64_t panel : panels) {
      std::int32_t& last_wave = last_wave_of(panel);
      if (last_wave == wave) {
        continue;  // counted already
      }
      ++result.panels;
      const double miss = 1 - (last_wave == kNever ? 0 : hit_after(last_wave, waves));
      last_wave = wave;
      // A miss that the other partition owns may hit there.
      const double from_dram = partitions_ == 1 ? miss : 0.5 * miss + 0.5 * miss * miss;
      const double bytes = bytes_(panel) * distinct_;
      result.from_dram += from_dram * bytes;
      result.misses += miss * distinct_;
      result.used += bytes;
      result.inserted += miss * bytes;
    }
    return result;
  }

 private:
  static constexpr std::int32_t kNever = -1;
  // Grids of this many panels need no hashing.
  static constexpr std::int64_t kFew = 1 << 14;

  std::int32_t& last_wave_of(std::int64_t panel) {
    if (panel >= kFew) {
      return last_wave_of_many_.try_emplace(panel, kNever).first->second;
    }
    const auto index = static_cast<std::size_t>(panel);
    if (index >= last_wave_.size()) {
      last_wave_.resize(index + 1, kNever);
    }
    return last_wave_[index];
  }

  /// Share of a panel that wave `wave` used that is still there in the last of `waves`.
  double hit_after(std::int32_t wave, const std::vector<L2Time>& waves) {
    if (wave != latest_wave_) {  // most panels have been away for the same time
      const L2Time& then = waves[static_cast<std::size_t>(wave)];
      const double used = waves.back().used - then.used;
      const double fetched = waves.back().fetched - then.fetched;
      latest_wave_ = wave;
      latest_hit_ =
          used > 0 ? CacheTags::survival(used / capacity_, std::max(0.0, 1 - fetched / used)) : 1;
    }
    return latest_hit_;
  }

  PanelBytes bytes_;
  double distinct_;
  double capacity_;
  std::int64_t partitions_;
  std::vector<std::int32_t> last_wave_;
  std::unordered_map<std::int64_t, std::int32_t> last_wave_of_many_;
  std::int32_t latest_wave_ = kNever;
  double latest_hit_ = 1;
};

ShareOfCta mean_of(std::span<const ShareOfCta> shares) {
  ShareOfCta mean;
  const auto count = static_cast<double>(shares.size());
  mean = shares.back();
  for (std::size_t operand = 0; operand < mean.operands.size(); ++operand) {
    mean.operands[operand] = {0, 0};
    for (const ShareOfCta& share : shares) {
      mean.operands[operand].from_dram += share.operands[operand].from_dram / count;
      mean.operands[operand].waits_for_dram += share.operands[operand].waits_for_dram / count;
    }
  }
  return mean;
}

}  // namespace

GridReuse::GridReuse(const GemmKernel& kernel, const MemorySpec& memory, std::int64_t sms)
    : ctas_per_wave_(sms * kernel.ctas_per_sm) {
  const GemmTraffic traffic(kernel);
  const std::int64_t ctas = kernel.ctas();
  last_wave_ = (ctas - 1) / ctas_per_wave_;
  const double capacity = static_cast<double>(memory.l2_capacity.count()) / memory.l2_partitions;
  // Metadata come with A.
  constexpr std::array kWithMetadata{Operand::kA, Operand::kMetadata};
  constexpr std::array kB{Operand::kB};
  const auto of_a_tiles = std::span(kWithMetadata).first(kernel.instruction.sparse ? 2 : 1);
  const PanelBytes a_bytes(traffic, of_a_tiles, kernel.tiles_m(), kernel.split_k);
  const PanelBytes b_bytes(traffic, kB, kernel.tiles_n(), kernel.split_k);
  Panels a(a_bytes, 1, capacity, memory.l2_partitions);
  Panels b(b_bytes, kernel.problem.distinct_b, capacity, memory.l2_partitions);
  std::vector<L2Time> begins{{}};  // of waves
  double from_dram = 0;            // of the latest wave
  std::vector<std::int64_t> rows, cols;
  const auto requested = [&](std::span<const Operand> operands, std::int64_t begin,
                             std::int64_t end) {
    double bytes = 0;
    for (const Operand operand : operands) {
      bytes += static_cast<double>(traffic.requested_bytes(operand, begin, end));
    }
    return bytes;
  };
  const auto look_at = [&](std::int64_t wave) {
    const std::int64_t begin = wave * ctas_per_wave_;
    const std::int64_t end = std::min(ctas, begin + ctas_per_wave_);
    rows.clear();
    cols.clear();
    for_each_piece(kernel, begin, end, [&](const RasterPiece& piece) {
      for (std::int64_t row = piece.first_row(); row <= piece.last_row(); ++row) {
        rows.push_back(piece.slice * kernel.tiles_m() + row);
      }
      for (std::int64_t column = 0; column < piece.width; ++column) {
        if (piece.has_column(column)) {
          cols.push_back(piece.slice * kernel.tiles_n() + piece.first_n + column);
        }
      }
    });
    const auto count = static_cast<double>(end - begin);
    const Panels::Fetched from_a = a.use(rows, begins);
    const Panels::Fetched from_b = b.use(cols, begins);
    from_dram = from_a.from_dram + from_b.from_dram;
    ShareOfCta share;
    const double requested_a = requested(of_a_tiles, begin, end);
    const double requested_b = requested(kB, begin, end);
    // As many SMs, each as busy as the busiest, which is the simulated one, as the CTAs of the wave
    // would fill. Its CTAs are full ones.
    share.active_sms = (requested_a + requested_b) / (a_bytes(0) + b_bytes(0) / kernel.cta_group) /
                       static_cast<double>(ceil_div(end - begin, sms));
    const auto of = [&](const Panels::Fetched& fetched, double bytes) {
      return bytes > 0
                 ? ShareOfCta::OfOperand{fetched.from_dram / bytes, fetched.misses / fetched.panels}
                 : ShareOfCta::OfOperand{};  // all beyond the edge
    };
    const ShareOfCta::OfOperand of_a = of(from_a, requested_a);
    share.operands[static_cast<std::size_t>(Operand::kA)] = of_a;
    share.operands[static_cast<std::size_t>(Operand::kMetadata)] = of_a;
    share.operands[static_cast<std::size_t>(Operand::kB)] = of(from_b, requested_b);
    share.burst_bytes = static_cast<double>(traffic.largest_tile_bytes());
    share.burst_l2_bytes = static_cast<double>(traffic.largest_tile_l2_bytes());
    const double of_b_tile =
        static_cast<double>(traffic.tile_bytes(Operand::kB)) / kernel.cta_group;
    share.burst_dram_bytes =
        of_a.from_dram * (static_cast<double>(traffic.largest_tile_bytes()) - of_b_tile) +
        share.operands[static_cast<std::size_t>(Operand::kB)].from_dram * of_b_tile;
    // D goes to the partition that owns it.
    const double written =
        count * static_cast<double>(traffic.output_tile_bytes()) / memory.l2_partitions;
    const L2Time& begin_of_wave = begins.back();
    begins.push_back({begin_of_wave.used + from_a.used + from_b.used + written,
                      begin_of_wave.fetched + from_a.inserted + from_b.inserted + written});
    return share;
  };
  double second_half = 0;
  const std::int64_t looked_at = std::min(last_wave_, kMaxWaves);
  waves_.reserve(static_cast<std::size_t>(looked_at));
  for (std::int64_t wave = 0; wave < looked_at; ++wave) {
    waves_.push_back(look_at(wave));
    dram_bytes_ += from_dram;
    second_half += wave >= looked_at / 2 ? from_dram : 0;
  }
  if (!waves_.empty()) {
    written_ = static_cast<double>(ctas_per_wave_ * traffic.output_tile_bytes()) /
               memory.l2_partitions / capacity;
    operands_ = begins.back().used / static_cast<double>(looked_at) / capacity - written_;
    mean_ = mean_of(std::span(waves_).subspan(static_cast<std::size_t>(looked_at / 2)));
    const std::int64_t count = looked_at - looked_at / 2;
    dram_bytes_ +=
        static_cast<double>(last_wave_ - looked_at) * second_half / static_cast<double>(count);
  }
  last_ = look_at(last_wave_);
  dram_bytes_ += from_dram;
  if (last_wave_ > looked_at) {
    // Those that were not looked at may be less like the others than the bounds of all.
    const double once = a_bytes.all() + b_bytes.all() * kernel.problem.distinct_b;
    dram_bytes_ = std::min(dram_bytes_, static_cast<double>(l2_read_bytes(kernel)));
    dram_bytes_ = std::max(dram_bytes_, once * static_cast<double>(kernel.problem.batch));
  }
}

double GridReuse::l2_share_of(double part) const {
  const double whole = operands_ + written_;
  const double shorter = part * operands_ + written_;
  // The same multiple of the capacity is used between two waves. Nothing survives beyond
  // kForgotten times of it, and a smaller L2 would lose tiles that others still want.
  return whole > 0 ? std::min(1.0, shorter / std::min(whole, CacheTags::kForgotten)) : 1;
}

const ShareOfCta& GridReuse::share_of(std::int64_t cta) const {
  const std::int64_t wave = cta / ctas_per_wave_;
  if (wave >= last_wave_) {
    return last_;
  }
  return wave < static_cast<std::int64_t>(waves_.size()) ? waves_[static_cast<std::size_t>(wave)]
                                                         : mean_;
}

MemoryTraffic closed_form_traffic(const GemmKernel& kernel, const GridReuse& reuse) {
  MemoryTraffic traffic;
  traffic.shared_memory_read = fragment_bytes(kernel);
  traffic.l2_read = l2_read_bytes(kernel);
  traffic.shared_memory_written = copied_bytes(kernel);
  traffic.l2_written = stored_bytes(kernel);
  const double other_columns =
      GemmBytes(kernel).other_columns_bytes() * static_cast<double>(kernel.problem.batch);
  traffic.dram_read = static_cast<std::int64_t>(reuse.dram_bytes() + other_columns);
  traffic.dram_written = traffic.l2_written;
  return traffic;
}

}  // namespace sptc::sim
