#include "tools/verbatim/unused_rdma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace verbatim::cli {

namespace {

struct RdmaLibrary {
  std::string_view file;  // beginning of the file name
  std::string_view name;
  std::string_view remedy;
};
// The first that programs have loaded explains the run: a library may load those below it.
constexpr std::array kRdmaLibraries = {
    RdmaLibrary{
        "libucp.so", "UCX",
        "UCX uses the adapters if UCX_TLS allows it and if the hosts see the folder with its module libuct_ib.so, "
        "which they do not if that is a folder of the machine below /tmp or the home folder"},
    RdmaLibrary{
        "libopen-pal.so", "Open MPI",
        "`mpirun --mca pml ucx --mca osc ucx` makes Open MPI use the adapters, which Debian's settings disable"},
    RdmaLibrary{"libfabric.so", "libfabric",
                "the provider `verbs`, or `verbs;ofi_rxm`, makes libfabric use the adapters (FI_PROVIDER)"},
};

bool asks_for_tcp(std::string_view text) {
  constexpr std::string_view kTcp = "tcp";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), kTcp.begin(), kTcp.end(), same) != text.end();
}

bool environment_asks_for_tcp(const config::ProgramSpec& program) {
  return std::ranges::any_of(program.environment, [](const auto& variable) { return asks_for_tcp(variable.second); });
}

bool has_loaded_library(const supervisor::RunResult& result, std::string_view file) {
  return std::ranges::any_of(result.code_files, [&](const std::string& path) {
    return std::string_view(path).substr(path.rfind('/') + 1).starts_with(file);
  });
}

}  // namespace

std::string unused_rdma_text(const config::ScenarioSpec& scenario, const supervisor::RunResult& result,
                             std::uint64_t packets) {
  if (packets != 0 || result.tcp_bytes_between_hosts < kMuchTcpPayload || scenario.topology.adapters.empty())
    return "";
  // An adapter that sends to itself sends no packet to the fabric.
  if (std::ranges::any_of(result.queues,
                          [](const supervisor::QueueFigures& queue) { return queue.send_most != 0; }))
    return "";
  for (const config::ProgramSpec& program : scenario.programs) {
    if (std::ranges::any_of(program.command, asks_for_tcp) || environment_asks_for_tcp(program)) return "";
  }
  const auto* const library = std::ranges::find_if(
      kRdmaLibraries, [&](const RdmaLibrary& one) { return has_loaded_library(result, one.file); });
  const bool is_known = library != kRdmaLibraries.end();
  if (!is_known && !result.used_adapters) return "";
  return fmt::format(
      "no RDMA packet was sent, and {:.1f} MB went over TCP sockets between hosts, although {}; see the guide run-your-program",
      static_cast<double>(result.tcp_bytes_between_hosts) / 1e6,
      is_known ? fmt::format("programs loaded {}: {}", library->name, library->remedy)
               : std::string("a program opened an adapter: it has posted nothing to a queue pair"));
}

}  // namespace verbatim::cli
