// Reads Chakra execution traces in JSON, in two forms. Chakra's jsonizer writes the metadata and then one object for
// each node, one after the other, with `id`, `type`, `dataDeps`, `durationMicros` and `attr`. Chakra's feeder reads
// `workload_graph`, a list of nodes with `Id`, `NodeType`, `data_deps`, `runtime` and the attributes as keys.
//
//  - COMP_NODE, MEM_LOAD_NODE and MEM_STORE_NODE take their duration. METADATA_NODE takes no time.
//  - COMM_SEND_NODE and COMM_RECV_NODE have comm_size in bytes, comm_dst or comm_src, and an optional comm_tag.
//  - COMM_COLL_NODE has comm_type and comm_size, in bytes as nccl-tests counts them; pg_name names its group. REDUCE,
//    GATHER and SCATTER are refused. A node with is_cpu_op is the call that starts the collective on the accelerator;
//    it takes its duration.
//  - Control dependencies are ignored, as in Chakra's feeder, and so is num_ops of nodes without a duration.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/workload/execution_trace.h"

namespace verbatim::config {

// Whether the text looks like a trace: JSON, or the protobuf form, which is then refused with a finding.
bool is_execution_trace(std::string_view text, std::string_view path);

// Returns null on findings, which name the file `path`.
std::shared_ptr<const workload::RankTrace> read_execution_trace(std::string_view text, const std::string& path,
                                                                Diagnostics& diagnostics);

}  // namespace verbatim::config
