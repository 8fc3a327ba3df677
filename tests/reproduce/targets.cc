#include "tests/reproduce/target.h"

namespace verbatim::reproduce {

namespace {
constexpr published::Target kTargets[] = {
    {"ns3_forks", "W1, W2 and a fat tree against HPCC's simulator, DCQCN as it has it", measure_ns3_forks},
    {"dcqcn_incast", "K senders into one port at 40 Gb/s (DCQCN, SIGCOMM 2015)", measure_dcqcn_incast},
    {"pfc_unfairness", "PFC favours the sender nearby (DCQCN, SIGCOMM 2015, figures 3 and 8)", measure_pfc_unfairness},
    {"victim_flow", "PFC slows a flow down that meets no congestion (DCQCN, SIGCOMM 2015, figures 4 and 9)", measure_victim_flow},
    {"connectx5_sizes", "throughput by message size, perftest on ConnectX-5 and -7", measure_connectx5_sizes},
    {"connectx5_incast", "two hosts into one without PFC or marks, ib_write_bw on ConnectX-5", measure_connectx5_incast},
    {"lumina", "single losses and congestion notifications (Lumina, SIGCOMM 2023)", measure_lumina},
    {"infiniband", "parking lot and hot spot without congestion control (Gran et al.)", measure_infiniband},
    {"credit_loop", "rings of switches that wait for each other's buffers", measure_credit_loop},
    {"alibabacloud_12", "pauses from 100 to 25 Gb/s (ns-3-alibabacloud, issue 12)", measure_alibabacloud_12},
    {"hpcc_fat_tree", "320 hosts under FbHadoop and WebSearch at 30 % against HPCC's simulator", measure_hpcc_fat_tree},
    {"conweave", "128 hosts under AliStorage at 50 %, ECMP and LetFlow, against ConWeave's simulator", measure_conweave},
    {"irn", "selective repeat and go-back-N, with PFC and without (IRN, SIGCOMM 2018)", measure_irn},
    {"nccl", "bus bandwidth of collectives (nccl-tests)", measure_nccl},
    {"htsim", "RoCE and window-based transport in three tiers (htsim of the Ultra Ethernet Consortium)", measure_htsim},
    {"htsim_8192", "a permutation of 8,192 hosts at 400 Gb/s (htsim)", measure_htsim_8192},
};
}  // namespace

std::span<const published::Target> targets() { return kTargets; }

}  // namespace verbatim::reproduce
