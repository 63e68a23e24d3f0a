// SPDX-License-Identifier: Apache-2.0
// IEEE 1666 leaves open which of the processes that become due at the same time is evaluated first,
// so no result may depend on it. Here events that are due together are notified once more in a
// random order: this program's sc_event::notify stands before that of the SystemC library.
#include "sim/config/architecture.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>
#include <systemc>

#include <cstdint>
#include <dlfcn.h>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sptc::property {
namespace {

using Notify = void (*)(sc_core::sc_event*, const sc_core::sc_time&);

Notify notify_of_library() {
  static const auto found = reinterpret_cast<Notify>(dlsym(RTLD_NEXT, "_ZN7sc_core8sc_event6notifyERKNS_7sc_timeE"));
  return found;
}

class Shuffler {
 public:
  void start(std::uint64_t seed) {
    random_.seed(seed);
    on_ = true;
  }

  void note(sc_core::sc_event& event, const sc_core::sc_time& delay) {
    if (!on_ || delay == sc_core::SC_ZERO_TIME) {
      return;
    }
    const std::uint64_t now = sc_core::sc_time_stamp().value();
    const std::uint64_t due = now + delay.value();
    std::uint64_t& pending = due_of_[&event];
    if (pending > now && pending <= due) {
      return;  // the earlier one stays
    }
    pending = due;
    at_.erase(at_.begin(), at_.upper_bound(now));
    std::vector<sc_core::sc_event*>& together = at_[due];
    together.push_back(&event);
    for (int i = 0; i < 3; ++i) {
      sc_core::sc_event* const other = together[random_() % together.size()];
      if (due_of_[other] == due && random_() % 2 == 0) {
        other->cancel();
        notify_of_library()(other, delay);
        ++shuffled_;
      }
    }
  }

  std::int64_t shuffled() const { return shuffled_; }

 private:
  bool on_ = false;
  std::mt19937_64 random_;
  std::map<sc_core::sc_event*, std::uint64_t> due_of_;           ///< the latest known
  std::map<std::uint64_t, std::vector<sc_core::sc_event*>> at_;  ///< by that
  std::int64_t shuffled_ = 0;
};

Shuffler& shuffler() {
  static Shuffler all;
  return all;
}

}  // namespace
}  // namespace sptc::property

void sc_core::sc_event::notify(const sc_time& delay) {
  sptc::property::notify_of_library()(this, delay);
  sptc::property::shuffler().note(*this, delay);
}

namespace sptc::property {
namespace {

std::vector<kernels::GemmProblem> dense_and_sparse(const std::vector<base::GemmShape>& shapes) {
  std::vector<kernels::GemmProblem> all;
  for (const base::GemmShape& shape : shapes) {
    for (const bool sparse : {false, true}) {
      all.push_back({shape, 1, numerics::DataType::kF16, sparse});
    }
  }
  return all;
}

/// Of each launch the cycles, and what its tensor cores do in them. `seed` 0: in the library's
/// order.
std::vector<double> cycles(const std::string& arch, const std::vector<kernels::GemmProblem>& problems,
                           std::uint64_t seed) {
  return support::in_child<double>(problems.size() * (1 + sm::kStallReasons), [&] {
    if (seed > 0) {
      shuffler().start(seed);
    }
    gpu::GemmSimulator simulator(config::load_architecture(arch).gpu, {});
    std::vector<double> all;
    for (const kernels::GemmProblem& problem : problems) {
      const gpu::GemmRun run = simulator.run(problem, {}, nullptr);
      all.push_back(static_cast<double>(run.cycles));
      all.insert(all.end(), run.stalls->of.begin(), run.stalls->of.end());
    }
    const bool shuffled = shuffler().shuffled() > 1000;
    return shuffled == (seed > 0) ? all : std::vector<double>();
  });
}

void expect_same_in_any_order(const std::string& arch, const std::vector<kernels::GemmProblem>& problems) {
  const std::vector<double> as_it_comes = cycles(arch, problems, 0);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_EQ(cycles(arch, problems, seed), as_it_comes) << seed;
  }
}

class OrderOfEvaluation : public testing::TestWithParam<const char*> {};

TEST_P(OrderOfEvaluation, OfProcessesInACycleDoesNotChangeCycles) {
  expect_same_in_any_order(
      GetParam(), dense_and_sparse({{510, 222, 1081}, {1255, 1647, 337}, {1426, 126, 1743}, {2368, 3712, 64}}));
}

INSTANTIATE_TEST_SUITE_P(Gpus, OrderOfEvaluation, testing::Values("a100-sxm4-80gb", "a40", "h100-sxm5-80gb"),
                         [](const auto& param) { return std::string(param.param).substr(0, 4); });

}  // namespace
}  // namespace sptc::property
