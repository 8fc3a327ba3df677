// Reads Chakra execution traces in JSON: those of its jsonizer (the metadata and then one object for each node, one behind the
// other, with `id`, `type`, `dataDeps`, `durationMicros` and `attr`), and those that its feeder reads (`workload_graph`, a list
// of nodes with `Id`, `NodeType`, `data_deps`, `runtime` and the attributes as keys).
//
//  - COMP_NODE takes its duration; MEM_LOAD_NODE and MEM_STORE_NODE too. METADATA_NODE takes no time.
//  - COMM_SEND_NODE and COMM_RECV_NODE have comm_size in bytes, comm_dst or comm_src, and comm_tag, which may be left out.
//  - COMM_COLL_NODE has comm_type and comm_size, as nccl-tests counts bytes; pg_name names its group. REDUCE, GATHER and SCATTER
//    are refused. One with is_cpu_op is the call that starts the collective of the accelerator, and takes its duration.
//  - Control dependencies are left out of account, as by Chakra's feeder, and so are num_ops of nodes without a duration.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/workload/execution_trace.h"

namespace verbatim::config {

// Whether the text looks like a trace: JSON, or the protobuf form, which is refused by name.
bool is_execution_trace(std::string_view text, std::string_view path);

// Null: there are findings, which name the file `path`.
std::shared_ptr<const workload::RankTrace> read_execution_trace(std::string_view text, const std::string& path,
                                                                Diagnostics& diagnostics);

}  // namespace verbatim::config
