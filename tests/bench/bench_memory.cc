// Memory of an idle RC queue pair in the simulator: connected, nothing posted, without its rings, which are
// in the program's own region. The goal is 4 KiB.
#include <malloc.h>

#include <cstdio>
#include <vector>

#include "sim/hca/datapath/queue_pair.h"
#include "tests/hca/driver.h"

namespace {

std::size_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

int main() {
  using namespace verbatim;
  using namespace verbatim::test;
  constexpr std::size_t kPairs = 2'000;
  WorldOptions options;
  options.record = false;
  World world(options);
  Program a(world, *world.client, 1 << 16, 64 << 20), b(world, *world.server, 1 << 16, 64 << 20);
  const Cq cq_a = a.create_cq(16), cq_b = b.create_cq(16);
  std::vector<Qp> qps;
  qps.reserve(2 * kPairs);
  const auto connect = [&] {
    const protocol::QpCapabilities capabilities{16, 16, 1, 1, 64};
    Qp at_a = a.create_qp(cq_a, cq_a, capabilities), at_b = b.create_qp(cq_b, cq_b, capabilities);
    const PathOptions path;
    bool ready = a.to_init(at_a, path) == 0 && b.to_init(at_b, path) == 0;
    ready = ready && a.to_rtr(at_a, 2, at_b.made.number, path) == 0 && a.to_rts(at_a, path) == 0;
    ready = ready && b.to_rtr(at_b, 1, at_a.made.number, path) == 0 && b.to_rts(at_b, path) == 0;
    qps.insert(qps.end(), {at_a, at_b});
    return ready;
  };
  for (std::size_t i = 0; i < 100; ++i) connect();  // tables have grown to some size
  const std::size_t before = heap_bytes();
  for (std::size_t i = 0; i < kPairs - 100; ++i) {
    if (!connect()) return 1;
  }
  world.run();
  const std::size_t bytes = heap_bytes() - before;
  std::printf("one more idle RC queue pair: %zu bytes of the simulator (goal 4096)\n",
              bytes / (2 * (kPairs - 100)));
  std::printf("sizeof(QueuePair): %zu bytes\n", sizeof(hca::QueuePair));
  return 0;
}
