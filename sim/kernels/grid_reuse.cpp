// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/grid_reuse.h"

#include "sim/base/cache_tags.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/l2_residency.h"
#include "sim/kernels/raster_pieces.h"
#include "sim/kernels/work_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>

namespace sptc::kernels {
namespace {

// Waves that are looked at one by one; a longer grid is taken to go on like the second half of
// them.
constexpr std::int64_t kMaxWaves = 64;

/// Bytes of the panels of some operands that have their rows in common, as copied, by their number:
/// that of the slice of K of a GEMM of the batch times the panels of each, and the place among
/// those. At the edges panels are shorter; some lie beyond them as a whole.
class PanelBytes {
 public:
  PanelBytes(const GemmTraffic& traffic, std::span<const isa::Operand> operands, std::int64_t tiles,
             std::int64_t slices)
      : rows_(traffic.panel_rows(operands.front())), tiles_(tiles) {
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      std::int64_t bytes = 0;
      for (const isa::Operand operand : operands) {
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
  /// `resident`: share of them that the L2 holds before the first wave.
  Panels(const PanelBytes& bytes, double distinct, double capacity, std::int64_t partitions,
         double resident)
      : bytes_(bytes),
        distinct_(distinct),
        capacity_(capacity),
        partitions_(partitions),
        resident_(resident) {}

  struct Fetched {
    double from_dram = 0;  ///< bytes
    double misses = 0;     ///< panels that are not in the partition that is asked
    double panels = 0;     ///< distinct ones
    double used = 0;       ///< bytes, per partition
    double inserted = 0;   ///< of those, fetched
  };

  /// The last of the waves that began at `begins` uses each of `panels` (may repeat).
  Fetched use(const std::vector<std::int64_t>& panels, const std::vector<L2Time>& begins) {
    Fetched result;
    const auto wave = static_cast<std::int32_t>(begins.size()) - 1;
    for (const std::int64_t panel : panels) {
      Panel& seen = seen_[panel];
      if (seen.last_wave == wave) {
        continue;  // counted already
      }
      ++result.panels;
      const bool first = seen.last_wave == kNever;
      const double miss = 1 - (first ? resident_ : hit_after(seen.last_wave, begins));
      seen.last_wave = wave;
      if (first) {
        seen.bytes = bytes_(panel) * distinct_;
      }
      // A miss that the other partition owns may hit there.
      const double from_dram = partitions_ == 1 || first ? miss : 0.5 * miss + 0.5 * miss * miss;
      result.from_dram += from_dram * seen.bytes;
      result.misses += miss * distinct_;
      result.used += seen.bytes;
      result.inserted += miss * seen.bytes;
    }
    return result;
  }

 private:
  static constexpr std::int32_t kNever = -1;

  struct Panel {
    std::int32_t last_wave = kNever;
    double bytes = 0;  ///< that the L2 has to keep
  };
  /// What hit_after() said when `now` waves had begun.
  struct Hit {
    std::int32_t now = 0;
    double share = 1;
  };
  /// By number.
  class SeenPanels {
   public:
    Panel& operator[](std::int64_t panel) {
      if (panel >= kFew) {
        return many_[panel];
      }
      const auto index = static_cast<std::size_t>(panel);
      if (index >= few_.size()) {
        few_.resize(std::max(index + 1, 2 * few_.size()));
      }
      return few_[index];
    }

   private:
    static constexpr std::int64_t kFew = 1 << 14;  // grids of so many need no hashing
    std::vector<Panel> few_;
    std::unordered_map<std::int64_t, Panel> many_;
  };

  /// Share of a panel that wave `wave` used that is still there when the last one begins.
  double hit_after(std::int32_t wave, const std::vector<L2Time>& begins) {
    hits_.resize(begins.size());
    Hit& hit = hits_[static_cast<std::size_t>(wave)];
    const auto now = static_cast<std::int32_t>(begins.size());
    if (hit.now != now) {  // many panels have been away for the same time
      const L2Time& then = begins[static_cast<std::size_t>(wave)];
      const double used = begins.back().used - then.used;
      const double fetched = begins.back().fetched - then.fetched;
      hit.now = now;
      hit.share =
          used > 0 ? base::CacheTags::survival(used / capacity_, std::max(0.0, 1 - fetched / used))
                   : 1;
    }
    return hit.share;
  }

  PanelBytes bytes_;
  double distinct_;
  double capacity_;
  std::int64_t partitions_;
  double resident_;
  SeenPanels seen_;
  std::vector<Hit> hits_;  ///< by the wave that used a panel last
};

/// The L2 from wave to wave of a grid: each finds what earlier ones have left there.
class L2AcrossWaves {
 public:
  L2AcrossWaves(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms)
      : kernel_(kernel),
        traffic_(kernel),
        sms_(sms),
        ctas_per_wave_(sms * kernel.ctas_per_sm),
        partitions_(memory.l2_partitions),
        capacity_(static_cast<double>(memory.l2_capacity.count()) / memory.l2_partitions),
        a_bytes_(traffic_, operands_of_a(), kernel.tiles_m(), kernel.split_k),
        b_bytes_(traffic_, kB, kernel.tiles_n(), kernel.split_k),
        resident_(resident_operands(kernel, memory)),
        a_(a_bytes_, 1, capacity_, memory.l2_partitions, resident_.a),
        b_(b_bytes_, kernel.problem.distinct_b, capacity_, memory.l2_partitions, resident_.b) {}

  /// What a wave, CTAs `begin` to `end` (exclusive), takes of the memory.
  struct Demand {
    std::int64_t begin = 0, end = 0;
    Panels::Fetched a, b;

    double from_dram() const { return a.from_dram + b.from_dram; }  ///< bytes
  };
  /// Of wave `wave`, taken for the one right behind that of the call before.
  Demand next(std::int64_t wave) {
    Demand demand;
    demand.begin = wave * ctas_per_wave_;
    demand.end = std::min(kernel_.ctas(), demand.begin + ctas_per_wave_);
    find_panels(demand.begin, demand.end);
    demand.a = a_.use(rows_, begins_);
    demand.b = b_.use(columns_, begins_);
    const double written = written_by(demand.end - demand.begin);
    const L2Time& now = begins_.back();
    begins_.push_back({now.used + demand.a.used + demand.b.used + written,
                       now.fetched + demand.a.inserted + demand.b.inserted + written});
    return demand;
  }

  ShareOfCta share_of(const Demand& demand) const {
    const double requested_a = requested(operands_of_a(), demand);
    const double requested_b = requested(kB, demand);
    ShareOfCta share;
    // As many SMs, each as busy as the busiest, which is the simulated one, as the CTAs of the wave
    // would fill. Its CTAs are full ones.
    share.sms_asking = (requested_a + requested_b) /
                       (a_bytes_(0) + b_bytes_(0) / kernel_.cta_group) /
                       static_cast<double>(base::ceil_div(demand.end - demand.begin, sms_));
    const ShareOfCta::OfOperand of_a = share_of(demand.a, requested_a);
    const ShareOfCta::OfOperand of_b = share_of(demand.b, requested_b);
    share.operands[static_cast<std::size_t>(isa::Operand::kA)] = of_a;
    share.operands[static_cast<std::size_t>(isa::Operand::kMetadata)] = of_a;
    share.operands[static_cast<std::size_t>(isa::Operand::kB)] = of_b;
    const auto tile = static_cast<double>(traffic_.largest_tile_bytes());
    const double tile_of_b =
        static_cast<double>(traffic_.tile_bytes(isa::Operand::kB)) / kernel_.cta_group;
    share.burst_bytes = tile;
    share.burst_l2_bytes = static_cast<double>(traffic_.largest_tile_l2_bytes());
    share.burst_dram_bytes = of_a.from_dram * (tile - tile_of_b) + of_b.from_dram * tile_of_b;
    return share;
  }

  /// Of each partition of the L2: its bytes, those that the waves so far have used, and those that
  /// D of `ctas` takes, which goes to the partition that owns it.
  double capacity() const { return capacity_; }
  double used() const { return begins_.back().used; }
  double written_back() const { return 1 - resident_.d; }
  double written_by(std::int64_t ctas) const {
    return static_cast<double>(ctas) * static_cast<double>(traffic_.output_tile_bytes()) /
           partitions_;
  }
  /// Bytes of the operands of one GEMM of the batch, each once, that the L2 does not hold.
  double operands() const {
    return (1 - resident_.a) * a_bytes_.all() +
           (1 - resident_.b) * b_bytes_.all() * kernel_.problem.distinct_b;
  }

 private:
  static constexpr std::array kA{isa::Operand::kA, isa::Operand::kMetadata};
  static constexpr std::array kB{isa::Operand::kB};

  /// Metadata come with A.
  std::span<const isa::Operand> operands_of_a() const {
    return std::span(kA).first(kernel_.instruction.sparse ? 2 : 1);
  }

  /// What CTAs `begin` to `end` use: rows of tiles of A and columns of tiles of B.
  void find_panels(std::int64_t begin, std::int64_t end) {
    rows_.clear();
    columns_.clear();
    for_each_piece(kernel_, begin, end, [&](const RasterPiece& piece) {
      for (std::int64_t row = piece.first_row(); row <= piece.last_row(); ++row) {
        rows_.push_back(piece.slice * kernel_.tiles_m() + row);
      }
      for (std::int64_t column = 0; column < piece.width; ++column) {
        if (piece.has_column(column)) {
          columns_.push_back(piece.slice * kernel_.tiles_n() + piece.first_n + column);
        }
      }
    });
  }

  double requested(std::span<const isa::Operand> operands, const Demand& demand) const {
    double bytes = 0;
    for (const isa::Operand operand : operands) {
      bytes += static_cast<double>(traffic_.requested_bytes(operand, demand.begin, demand.end));
    }
    return bytes;
  }

  /// Of `bytes` that CTAs ask for; none where all lie beyond the edge.
  static ShareOfCta::OfOperand share_of(const Panels::Fetched& fetched, double bytes) {
    return bytes > 0
               ? ShareOfCta::OfOperand{fetched.from_dram / bytes, fetched.misses / fetched.panels}
               : ShareOfCta::OfOperand{};
  }

  const GemmKernel& kernel_;
  GemmTraffic traffic_;
  std::int64_t sms_, ctas_per_wave_;
  int partitions_;
  double capacity_;
  PanelBytes a_bytes_, b_bytes_;
  ResidentOperands resident_;
  Panels a_, b_;
  std::vector<L2Time> begins_{{}};            ///< of waves
  std::vector<std::int64_t> rows_, columns_;  ///< of the latest wave
};

ShareOfCta mean_of(std::span<const ShareOfCta> shares) {
  ShareOfCta mean;
  const auto count = static_cast<double>(shares.size());
  mean = shares.back();
  for (std::size_t operand = 0; operand < mean.operands.size(); ++operand) {
    // How much crosses the L2 is the same in every wave.
    mean.operands[operand].from_dram = mean.operands[operand].waits_for_dram = 0;
    for (const ShareOfCta& share : shares) {
      mean.operands[operand].from_dram += share.operands[operand].from_dram / count;
      mean.operands[operand].waits_for_dram += share.operands[operand].waits_for_dram / count;
    }
  }
  return mean;
}

std::int64_t last_wave(const GemmKernel& kernel, std::int64_t sms) {
  return (kernel.ctas() - 1) / (sms * kernel.ctas_per_sm);
}

/// Of a grid whose last wave is `last`. Calls `visit` with the number of each wave that is looked
/// at and what it takes, in order.
template <typename Visit>
DramBytes dram_bytes(const GemmKernel& kernel, L2AcrossWaves& l2, std::int64_t last,
                     const Visit& visit) {
  const std::int64_t looked_at = std::min(last, kMaxWaves);
  double bytes = 0;
  double second_half = 0;
  for (std::int64_t wave = 0; wave < looked_at; ++wave) {
    const L2AcrossWaves::Demand demand = l2.next(wave);
    visit(wave, demand);
    bytes += demand.from_dram();
    second_half += wave >= looked_at / 2 ? demand.from_dram() : 0;
  }
  if (looked_at > 0) {
    const std::int64_t count = looked_at - looked_at / 2;
    bytes += static_cast<double>(last - looked_at) * second_half / static_cast<double>(count);
  }
  const L2AcrossWaves::Demand demand = l2.next(last);
  visit(last, demand);
  bytes += demand.from_dram();
  if (last > looked_at) {
    // Those that were not looked at may be less like the others than the bounds of all.
    bytes = std::min(bytes, static_cast<double>(l2_read_bytes(kernel)));
    bytes = std::max(bytes, l2.operands() * static_cast<double>(kernel.problem.batch));
  }
  return {bytes, l2.written_back()};
}

}  // namespace

DramBytes dram_bytes(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms) {
  L2AcrossWaves l2(kernel, memory, sms);
  return dram_bytes(kernel, l2, last_wave(kernel, sms), [](auto&&...) {});
}

GridReuse::GridReuse(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms)
    : ctas_per_wave_(sms * kernel.ctas_per_sm), last_wave_(last_wave(kernel, sms)) {
  L2AcrossWaves l2(kernel, memory, sms);
  double used = 0;
  dram_ = dram_bytes(kernel, l2, last_wave_, [&](std::int64_t wave, const auto& demand) {
    if (wave == last_wave_) {
      last_ = l2.share_of(demand);
    } else {
      shares_.push_back(l2.share_of(demand));
      used = l2.used();
    }
  });
  if (!shares_.empty()) {
    written_ = l2.written_by(ctas_per_wave_) / l2.capacity();
    operands_ = used / static_cast<double>(shares_.size()) / l2.capacity() - written_;
    mean_ = mean_of(std::span(shares_).subspan(shares_.size() / 2));
  }
}

double GridReuse::l2_share_of(double part) const {
  const double whole = operands_ + written_;
  const double shorter = part * operands_ + written_;
  // The same multiple of the capacity is used between two waves. Nothing survives beyond
  // kForgotten times of it, and a smaller L2 would lose tiles that others still want.
  return whole > 0 ? std::min(1.0, shorter / std::min(whole, base::CacheTags::kForgotten)) : 1;
}

const ShareOfCta& GridReuse::share_of(std::int64_t cta) const {
  const std::int64_t wave = cta / ctas_per_wave_;
  if (wave >= last_wave_) {
    return last_;
  }
  return wave < static_cast<std::int64_t>(shares_.size()) ? shares_[static_cast<std::size_t>(wave)]
                                                          : mean_;
}

MemoryTraffic closed_form_traffic(const GemmKernel& kernel, const DramBytes& dram,
                                  std::int64_t sms) {
  const std::int64_t partial_sums = WorkSchedule::partial_sum_bytes(kernel, sms);
  MemoryTraffic traffic;
  traffic.shared_memory_read = fragment_bytes(kernel);
  traffic.selected = selected_bytes(kernel);
  traffic.l2_and_dram.l2_read = l2_read_bytes(kernel) + partial_sums;
  traffic.shared_memory_written = copied_bytes(kernel);
  traffic.shared_memory_multiplied = multiplied_bytes(kernel);
  traffic.l2_and_dram.l2_written = stored_bytes(kernel) + partial_sums;
  const double other_columns =
      GemmBytes(kernel).other_columns_bytes() * static_cast<double>(kernel.problem.batch);
  traffic.l2_and_dram.dram_read = static_cast<std::int64_t>(dram.delivered + other_columns);
  traffic.l2_and_dram.dram_written =
      std::llround(dram.written_back * static_cast<double>(traffic.l2_and_dram.l2_written));
  return traffic;
}

}  // namespace sptc::kernels
