// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/sweep/executors/mpi_executor.h"

namespace sptc::sweep::executors {

int run_with_mpi(const space::SweepPlan& /*plan*/, point::PointRunner& /*runner*/,
                 const PointLimits& /*limits*/, std::chrono::seconds /*silence*/,
                 const MpiRoot& /*root*/) {
  throw base::InputError(
      "--mpi: this program was built without MPI; build it with -DSPTC_WITH_MPI=ON");
}

}  // namespace sptc::sweep::executors
