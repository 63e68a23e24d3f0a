// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/sm/sm_spec.h"
#include "sim/sm/tokens.h"

#include <memory>
#include <vector>

namespace sptc::sim {

/// Shared memory of an SM, ideal: every load takes `load_matrix_latency_cycles`, any number at a
/// time, and the data of a tile is always there. One pair of ports per sub-partition.
class SharedMemory : public Module {
 public:
  struct Statistics {
    std::int64_t loads = 0;
    std::int64_t bytes = 0;
  };

  sc_core::sc_vector<sc_core::sc_port<WireIn<LoadRequest>>> request_in;
  sc_core::sc_vector<sc_core::sc_port<WireOut<LoadDone>>> done_out;

  SharedMemory(const sc_core::sc_module_name& name, const Clock& clock, const SmSpec& spec);

  const Statistics& statistics() const { return statistics_; }

 protected:
  void on_event() override;

 private:
  Statistics statistics_;
};

}  // namespace sptc::sim
