// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/sweep/mpi_executor.h"

namespace sptc::sweep {

int run_with_mpi(const SweepPlan& /*plan*/, PointRunner& /*runner*/, const PointLimits& /*limits*/,
                 const MpiRoot& /*root*/) {
  throw base::InputError(
      "--mpi: this program was built without MPI; build it with -DSPTC_WITH_MPI=ON");
}

}  // namespace sptc::sweep
