// Memory shared by shim and simulator, with two adapters: a program whose actions are drawn from the input
// shares an adapter with an honest one. Nothing may crash or run for ever, and the honest program's message
// arrives complete.
#include <cstdint>
#include <span>

#include "sim/core/check.h"
#include "tests/fuzz/bytes.h"
#include "tests/hca/attacker.h"

namespace {

using namespace verbatim;
using namespace verbatim::test;
using fuzz::Bytes;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kMessage = 5000;
  PairOptions options;
  options.world.record = false;
  options.buffer_bytes = 8192;
  options.arena_bytes = 64 << 10;
  options.cqe = 16;
  options.path.timeout = 6;
  if (size % 2 == 1) {  // adapters that must read everything that they work with, and have little room
    hca::HcaProfile& profile = options.world.profile;
    profile.context_cache = {2, 256, 1};
    profile.protection_cache = {2, 64, 1};
    profile.translation_cache = {3, 8, 2};
    profile.wqe_layout.line_bytes = profile.wqe_layout.receive_line_bytes = 64;
    profile.processing_units = 2;
    profile.atomics.in_flight = 2;
    profile.receive_check.capacity = profile.packetize.capacity = profile.completion.capacity = 1;
    profile.icrc = {3, 2, 1};
  }
  Pair pair(options);
  CHECK(pair.ready);
  Bytes bytes({data, size});
  Attacker<Bytes> attacker(pair.world, bytes, 32 << 10, 128 << 10);
  while (!bytes.at_end()) attacker.step();

  pair.a.fill(0, kMessage, 7);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, kMessage)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, kMessage)}});
  pair.world.run_for(Duration{300'000'000});
  const auto received = pair.b.program.drain(pair.b.recv_cq), sent = pair.a.program.drain(pair.a.send_cq);
  CHECK(received.size() == 1 && received[0].wr_id == 1 && received[0].status == 0);
  CHECK(sent.size() == 1 && sent[0].wr_id == 2 && sent[0].status == 0);
  CHECK(pair.b.equals(0, kMessage, 7));

  // After the program's end, everything that it started ends by itself.
  pair.world.client->close(attacker.program.context);
  pair.world.run_for(Duration{1'000'000'000});
  CHECK(pair.world.engine.empty());
  return 0;
}
