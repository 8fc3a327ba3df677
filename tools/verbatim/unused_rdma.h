// Finds runs in which a library for RDMA used TCP sockets only, which it does without a message if its
// settings or its installation hide the adapters from it.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/spec.h"
#include "sim/supervisor/spec/run_result.h"

namespace verbatim::cli {

// Less TCP payload than this is the traffic of launchers and of connection set-up.
inline constexpr std::uint64_t kMuchTcpPayload = 1'000'000;  // bytes

// A sentence with the remedy if adapters sent no packet (`packets` is 0), sockets sent at least
// kMuchTcpPayload to other hosts, and programs loaded a library for RDMA or opened an adapter. Empty
// otherwise, and if a command or a variable of the environment asks for TCP by its name.
std::string unused_rdma_text(const config::ScenarioSpec& scenario, const supervisor::RunResult& result,
                             std::uint64_t packets);

}  // namespace verbatim::cli
