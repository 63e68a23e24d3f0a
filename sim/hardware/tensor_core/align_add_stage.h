// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <utility>

namespace sptc::tensor_core {

/// Fourth stage: shifts products and accumulator to the largest exponent, cuts them at F fraction
/// bits and adds them exactly. Fully pipelined: it takes what the multipliers send.
class AlignAddStage : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<ProductsToken>> products_in{"products_in"};
  sc_core::sc_port<base::WireOut<SumsToken>> sums_out{"sums_out"};

  AlignAddStage(const sc_core::sc_module_name& name, const base::Clock& clock) : base::Module(name, clock) {
    run_on(products_in);
  }

 protected:
  void on_event() override {
    while (products_in->can_read()) {
      const ProductsToken products = products_in->read();
      SumsToken sums{products.issue, products.step, products.occupied_cycles, nullptr};
      if (products.payload) {
        sums.payload = base::make_payload<mma::AlignedSums>();
        mma::align_and_add(*products.issue.context, *products.payload, *sums.payload);
      }
      sums_out->write(std::move(sums));
    }
  }
};

}  // namespace sptc::tensor_core
