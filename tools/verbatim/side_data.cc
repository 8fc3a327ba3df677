#include "tools/verbatim/side_data.h"

#include <fmt/format.h>

#include <utility>

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

// Names of ibv_access_flags; unnamed bits as a number.
std::string rights_of(std::uint64_t access) {
  static constexpr std::pair<std::uint64_t, const char*> kNames[] = {
      {1, "local write"}, {2, "remote write"}, {4, "remote read"}, {8, "remote atomic"}, {16, "window binding"},
      {32, "zero based"}, {64, "on demand"},   {128, "huge pages"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((access & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
    access &= ~bit;
  }
  if (access != 0) text += (text.empty() ? "" : ", ") + fmt::format("{:#x}", access);
  return text.empty() ? "local read" : text;
}

}  // namespace

Json sides_json(const RunSides& sides, PageSeries& series) {
  Json queues = Json::array(), regions = Json::array(), nodes = Json::array(), cables = Json::array();
  Json threads = Json::array();
  for (const RunSides::Queue& queue : sides.queues) {
    queues.push_back({{"host", queue.host}, {"name", queue.name}, {"entries", queue.entries}, {"receive", queue.is_receive ? 1 : 0},
                      {"least", series.add(queue.least)}, {"most", series.add(queue.most)}, {"fewest", queue.least_of_all}, {"peak", queue.most_of_all}});
  }
  for (const RunSides::Region& region : sides.regions) {
    regions.push_back({{"host", region.host}, {"process", region.process}, {"va", fmt::format("{:#x}", region.va)},
                       {"iova", fmt::format("{:#x}", region.iova)}, {"length", region.length}, {"rights", rights_of(region.access)},
                       {"lkey", fmt::format("{:#x}", region.lkey)}, {"rkey", fmt::format("{:#x}", region.rkey)},
                       {"from", region.from_ps}, {"to", region.to_ps}, {"written", region.written}});
  }
  for (const RunSides::Node& node : sides.nodes) nodes.push_back({node.name, node.is_switch ? 1 : 0});
  for (const RunSides::Cable& cable : sides.cables) cables.push_back({cable.a, cable.b, cable.rate});
  for (const RunSides::Thread& thread : sides.threads)
    threads.push_back({{"host", thread.host}, {"pid", thread.pid}, {"tid", thread.tid}, {"from", thread.from_ps}, {"to", thread.to_ps}});
  return {{"queues", std::move(queues)}, {"regions", std::move(regions)}, {"writes_left_out", sides.writes_left_out},
          {"nodes", std::move(nodes)},   {"cables", std::move(cables)},   {"threads", std::move(threads)}};
}

}  // namespace verbatim::cli
