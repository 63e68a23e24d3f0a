// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/grid_reuse.h"

#include "sim/base/cache_tags.h"
#include "sim/kernels/gemm_traffic.h"
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
  /// Bytes of all panels of one GEMM of the batch.
  double all() const {
    return static_cast<double>(rows_.length) * std::accumulate(row_bytes_.begin(), row_bytes_.end(), 0.0);
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
  Panels(const PanelBytes& bytes, double distinct, double capacity, std::int64_t partitions, double resident)
      : bytes_(bytes), distinct_(distinct), capacity_(capacity), partitions_(partitions), resident_(resident) {}

  struct Fetched {
    double from_dram = 0;  ///< bytes
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
      const bool first = seen.last_wave == kNever;
      const double miss = 1 - (first ? resident_ : hit_after(seen.last_wave, begins));
      seen.last_wave = wave;
      if (first) {
        seen.bytes = bytes_(panel) * distinct_;
      }
      // A miss that the other partition owns may hit there.
      const double from_dram = partitions_ == 1 || first ? miss : 0.5 * miss + 0.5 * miss * miss;
      result.from_dram += from_dram * seen.bytes;
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
  /// Panels that were seen, by number.
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
      hit.share = used > 0 ? base::CacheTags::survival(used / capacity_, std::max(0.0, 1 - fetched / used)) : 1;
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
        ctas_per_wave_(sms * kernel.ctas_per_sm),
        partitions_(memory.l2_partitions),
        capacity_(static_cast<double>(memory.l2_capacity.count()) / memory.l2_partitions),
        a_bytes_(traffic_, operands_of_a(), kernel.tiles_m(), kernel.split_k),
        b_bytes_(traffic_, kB, kernel.tiles_n(), kernel.split_k),
        resident_(resident_operands(kernel, memory)),
        a_(a_bytes_, kernel.problem.distinct(isa::Operand::kA), capacity_, memory.l2_partitions, resident_.a),
        b_(b_bytes_, kernel.problem.distinct(isa::Operand::kB), capacity_, memory.l2_partitions, resident_.b) {}

  /// Bytes that wave `wave`, taken for the one right behind that of the call before, takes of DRAM.
  double next(std::int64_t wave) {
    const std::int64_t begin = wave * ctas_per_wave_;
    const std::int64_t end = std::min(kernel_.ctas(), begin + ctas_per_wave_);
    find_panels(begin, end);
    const Panels::Fetched a = a_.use(rows_, begins_);
    const Panels::Fetched b = b_.use(columns_, begins_);
    const double written = written_by(end - begin);
    const L2Time& now = begins_.back();
    begins_.push_back({now.used + a.used + b.used + written, now.fetched + a.inserted + b.inserted + written});
    return a.from_dram + b.from_dram;
  }

  /// The bytes of each partition of the L2, those that the waves before the latest have used, and
  /// those that D of `ctas` takes, which goes to the partition that owns it.
  double capacity() const { return capacity_; }
  double used_before_latest() const { return begins_[begins_.size() - 2].used; }
  double written_back() const { return 1 - resident_.d; }
  double written_by(std::int64_t ctas) const {
    return static_cast<double>(ctas) * static_cast<double>(traffic_.output_tile_bytes()) / partitions_;
  }
  /// Bytes of the operands of one GEMM of the batch, each once, that the L2 does not hold.
  double operands() const {
    const GemmProblem& problem = kernel_.problem;
    return (1 - resident_.a) * a_bytes_.all() * problem.distinct(isa::Operand::kA) +
           (1 - resident_.b) * b_bytes_.all() * problem.distinct(isa::Operand::kB);
  }

 private:
  static constexpr std::array kA{isa::Operand::kA, isa::Operand::kMetadata};
  static constexpr std::array kB{isa::Operand::kB};

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

  const GemmKernel& kernel_;
  GemmTraffic traffic_;
  std::int64_t ctas_per_wave_;
  int partitions_;
  double capacity_;
  PanelBytes a_bytes_, b_bytes_;
  ResidentOperands resident_;
  Panels a_, b_;
  std::vector<L2Time> begins_{{}};            ///< of waves
  std::vector<std::int64_t> rows_, columns_;  ///< of the latest wave
};

/// Bytes of a grid whose last wave is `last`.
DramBytes dram_bytes(const GemmKernel& kernel, L2AcrossWaves& l2, std::int64_t last) {
  const std::int64_t looked_at = std::min(last, kMaxWaves);
  double bytes = 0;
  double second_half = 0;
  for (std::int64_t wave = 0; wave < looked_at; ++wave) {
    const double of_wave = l2.next(wave);
    bytes += of_wave;
    second_half += wave >= looked_at / 2 ? of_wave : 0;
  }
  if (looked_at > 0) {
    const std::int64_t count = looked_at - looked_at / 2;
    bytes += static_cast<double>(last - looked_at) * second_half / static_cast<double>(count);
  }
  bytes += l2.next(last);
  if (last > looked_at) {
    // Those that were not looked at may be less like the others than the bounds of all.
    bytes = std::min(bytes, static_cast<double>(l2_read_bytes(kernel)));
    bytes = std::max(bytes, l2.operands() * static_cast<double>(kernel.problem.batch));
  }
  return {bytes, l2.written_back()};
}

}  // namespace

ResidentOperands resident_operands(const GemmKernel& kernel, const memory::MemorySpec& memory) {
  const L2State& state = kernel.problem.conditions.l2;
  if (state.kind == L2State::Kind::kCold) {
    return {};
  }
  const GemmBytes bytes(kernel);
  const base::GemmShape& shape = kernel.problem.shape;
  const auto batch = static_cast<double>(kernel.problem.batch);
  const auto of = [&](isa::Operand operand, std::int64_t rows) {
    return batch * static_cast<double>(rows * bytes.row_bytes(operand, shape.k));
  };
  double a = of(isa::Operand::kA, shape.m) * kernel.problem.distinct(isa::Operand::kA);
  if (kernel.instruction.sparse) {
    a += of(isa::Operand::kMetadata, shape.m);
  }
  const double b = of(isa::Operand::kB, shape.n) * kernel.problem.distinct(isa::Operand::kB);
  const double d = static_cast<double>(stored_bytes(kernel)) / memory.l2_partitions;
  const double capacity = static_cast<double>(memory.l2_capacity.count()) / memory.l2_partitions;
  const double launch = a + b + d;
  const int weights = state.kind == L2State::Kind::kRotate ? state.weights : 1;
  ResidentOperands share{1, 1, 1};
  constexpr int kRounds = 8;  // what survives decides what hits, and that what survives
  for (int round = 0; round < kRounds; ++round) {
    const double hit_ratio = (share.a * a + share.b * b + share.d * d) / launch;
    share.a = share.b = share.d = base::CacheTags::survival(launch / capacity, hit_ratio);
    (kernel.problem.transposed ? share.b : share.a) = base::CacheTags::survival(weights * launch / capacity, hit_ratio);
  }
  return share;
}

GridReuse::GridReuse(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms) {
  L2AcrossWaves l2(kernel, memory, sms);
  const std::int64_t last = (kernel.ctas() - 1) / (sms * kernel.ctas_per_sm);
  dram_ = dram_bytes(kernel, l2, last);
  if (last > 0) {
    written_ = l2.written_by(sms * kernel.ctas_per_sm) / l2.capacity();
    operands_ = l2.used_before_latest() / static_cast<double>(std::min(last, kMaxWaves)) / l2.capacity() - written_;
  }
}

double GridReuse::l2_share_of(double part) const {
  const double whole = operands_ + written_;
  const double shorter = part * operands_ + written_;
  // The same multiple of the capacity is used between two waves. Nothing survives beyond
  // kForgotten times of it, and a smaller L2 would lose tiles that others still want.
  return whole > 0 ? std::min(1.0, shorter / std::min(whole, base::CacheTags::kForgotten)) : 1;
}

MemoryTraffic closed_form_traffic(const GemmKernel& kernel, const DramBytes& dram, std::int64_t sms) {
  const std::int64_t partial_sums = WorkSchedule::partial_sum_bytes(kernel, sms);
  MemoryTraffic traffic;
  traffic.shared_memory_read = fragment_bytes(kernel);
  traffic.l2_and_dram.l2_read = l2_read_bytes(kernel) + partial_sums;
  traffic.shared_memory_written = copied_bytes(kernel);
  traffic.shared_memory_multiplied = multiplied_bytes(kernel);
  traffic.l2_and_dram.l2_written = stored_bytes(kernel) + partial_sums;
  const double other_columns = GemmBytes(kernel).other_columns_bytes() * static_cast<double>(kernel.problem.batch);
  traffic.l2_and_dram.dram_read = static_cast<std::int64_t>(dram.delivered + other_columns);
  traffic.l2_and_dram.dram_written =
      std::llround(dram.written_back * static_cast<double>(traffic.l2_and_dram.l2_written));
  return traffic;
}

}  // namespace sptc::kernels
