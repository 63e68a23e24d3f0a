// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/align_add_stage.h"

namespace sptc::tensor_core {

AlignAddStage::AlignAddStage(const sc_core::sc_module_name& name, const base::Clock& clock)
    : base::Module(name, clock) {
  run_on(products_in);
}

void AlignAddStage::on_event() {
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

}  // namespace sptc::tensor_core
