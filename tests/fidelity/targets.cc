#include "tests/fidelity/target.h"

namespace verbatim::fidelity {

namespace {
constexpr published::Target kTargets[] = {
    {"kalia_pcie", "limits of PCI Express that Kalia et al. (USENIX ATC 2016) compute", measure_kalia_pcie},
    {"pcie_model", "bandwidths of pcie-bench/pcie-model (Neugebauer et al., SIGCOMM 2018)",
     measure_pcie_model},
    {"breaking_band", "sums of the components that Breaking Band (Zambre et al., ICPP 2019) measures",
     measure_breaking_band},
    {"timeouts", "time in which a ConnectX-6 gives a silent peer up (rdma-fault-characterization)",
     measure_timeouts},
    {"kalia_rates", "message rates of Connect-IB and ConnectX-3 that Kalia et al. (USENIX ATC 2016) measure",
     measure_kalia_rates},
    {"qp_cache", "what many queue pairs cost ConnectX-3 and Connect-IB (FaSST, OSDI 2016)", measure_qp_cache},
    {"lumina", "what recovery from one lost packet takes (Lumina, SIGCOMM 2023)", measure_lumina},
    {"qdr", "perftest's sweep on ConnectX at QDR: latencies by size, bandwidths, fetch and add", measure_qdr},
    {"hdr", "perftest's sweep of WRITE latencies at HDR", measure_hdr},
    {"osu", "osu_latency and osu_bw of Open MPI over UCX at 100 Gb/s", measure_osu},
};
}  // namespace

std::span<const published::Target> targets() { return kTargets; }

}  // namespace verbatim::fidelity
