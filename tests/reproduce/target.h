// Targets of tools/reproduce (tests/published/target.h).
#pragma once

#include <span>

#include "tests/published/target.h"

namespace verbatim::reproduce {

using published::Simulated;
using published::Wanted;

std::span<const published::Target> targets();

// Each target is in a file of its own, or together with others of the same source.
Simulated measure_ns3_forks(const Wanted& wanted);
Simulated measure_dcqcn_incast(const Wanted& wanted);
Simulated measure_pfc_unfairness(const Wanted& wanted);
Simulated measure_victim_flow(const Wanted& wanted);
Simulated measure_connectx5_sizes(const Wanted& wanted);
Simulated measure_connectx5_incast(const Wanted& wanted);
Simulated measure_lumina(const Wanted& wanted);
Simulated measure_infiniband(const Wanted& wanted);
Simulated measure_credit_loop(const Wanted& wanted);
Simulated measure_alibabacloud_12(const Wanted& wanted);
Simulated measure_hpcc_fat_tree(const Wanted& wanted);
Simulated measure_conweave(const Wanted& wanted);
Simulated measure_irn(const Wanted& wanted);
Simulated measure_nccl(const Wanted& wanted);
Simulated measure_htsim(const Wanted& wanted);
Simulated measure_htsim_8192(const Wanted& wanted);

}  // namespace verbatim::reproduce
