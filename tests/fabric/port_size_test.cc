// Memory of an idle port, including all allocations and its share of the switch. A program of its own,
// because it counts allocations.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/switch.h"

namespace {
std::size_t live_bytes = 0;
}

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  live_bytes += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace verbatim::fabric {
namespace {

std::size_t bytes_per_port(std::uint32_t lanes) {
  constexpr std::uint32_t kPorts = 36;
  Engine engine;
  Tracer tracer(engine);
  std::vector<ComponentId> ids;
  for (std::uint32_t i = 0; i < 2 * kPorts; ++i) ids.push_back(ComponentId{i});
  const std::vector<ComponentId> first_ids(ids.begin(), ids.begin() + kPorts), second_ids(ids.begin() + kPorts, ids.end());
  SwitchProfile profile;
  profile.virtual_lanes = lanes;
  // Lets the engine's tables grow before counting starts.
  const auto grow = std::make_unique<Timer>(engine, ComponentId{2 * kPorts}, EventClass::kStage, nullptr, [](void*) {});
  const std::size_t before = live_bytes;
  Switch first(engine, tracer, ComponentId{2 * kPorts + 1}, profile, first_ids);
  Switch second(engine, tracer, ComponentId{2 * kPorts + 2}, profile, second_ids);
  for (std::uint8_t i = 1; i <= kPorts; ++i) {
    connect(first.port(PortNumber{i}), second.port(PortNumber{i}), {ByteTime{80, 1}, Duration(10'000)});
  }
  return (live_bytes - before) / (2 * kPorts);
}

TEST(PortSize, an_idle_port_allocates_for_the_lanes_of_its_link_alone) {
  const std::size_t one = bytes_per_port(1), fifteen = bytes_per_port(15);
  EXPECT_LE(one, 1'024u);
  constexpr std::size_t kLane = 120;  // queue, credits, releases
  EXPECT_LE(fifteen, one + 14 * kLane);
}

}  // namespace
}  // namespace verbatim::fabric
