// Shared by tests of the adapter's caches: sizes of entries, the time of a miss, and the name of the wait in trails.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/hca/driver.h"

namespace verbatim::test {

inline constexpr std::uint32_t kContextEntry = 256, kProtectionEntry = 64, kTranslationEntry = 32;  // bytes

// A DMA read of fewer bytes than a completion on an idle connection of the test profile.
inline std::int64_t miss_time(std::uint64_t bytes) {
  const host::PcieProfile pcie = test_profile().pcie;
  const ByteTime byte = host::pcie_byte_time(pcie.generation, pcie.lanes);
  return to_ps(byte.time_for(pcie.read_header_bytes)) + to_ps(byte.time_for(bytes + pcie.completion_header_bytes)) +
         to_ps(2 * pcie.one_way_latency + pcie.memory_read_latency);
}
inline std::int64_t context_miss() { return miss_time(kContextEntry); }
inline std::int64_t protection_miss() { return miss_time(kProtectionEntry); }
inline std::int64_t translation_miss() { return miss_time(kTranslationEntry); }

inline hca::HcaProfile profile_with_caches(std::uint32_t contexts, std::uint32_t protections, std::uint32_t translations,
                                           std::uint32_t slots) {
  hca::HcaProfile profile = test_profile();
  profile.context_cache = {contexts, kContextEntry, slots};
  profile.protection_cache = {protections, kProtectionEntry, slots};
  profile.translation_cache = {translations, kTranslationEntry, slots};
  return profile;
}

// From the posts of WRITEs to their gathers, one of each piece, when the one before is over.
inline std::vector<std::int64_t> gather_times(Pair& pair, const std::vector<protocol::Sge>& pieces) {
  std::vector<std::int64_t> times;
  for (const protocol::Sge& piece : pieces) {
    pair.world.run_for(Duration{20'000'000} - Duration{pair.world.now_ps() % 20'000'000});  // aligns the clocks' phase
    const std::int64_t posted = pair.world.now_ps();
    pair.a.program.post_send(pair.a.qp, {.opcode = protocol::WqeOpcode::kRdmaWrite,
                                         .sges = {piece},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
    pair.world.run();
    times.push_back(pair.world.trace.all(TraceEvent::kPayloadGathered).back().time_ps - posted);
  }
  return times;
}

// Time of each name in the trails of messages.
struct TimesByName final : MessageObserver {
  std::map<std::string, std::int64_t> all;
  void on_message(const MessageReport& report) override {
    std::int64_t before = to_ps(report.trail.begin());
    for (const TrailStep& step : report.trail.steps()) {
      all[step.part.name] += to_ps(step.end) - before;
      before = to_ps(step.end);
    }
    EXPECT_EQ(before, to_ps(report.at));
  }
  std::int64_t protection() { return all["memory protection entry: fetch"]; }
  std::int64_t translation() { return all["address translation: fetch"]; }
};

}  // namespace verbatim::test
