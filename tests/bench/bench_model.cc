// The model alone: one flow of RC SENDs, then one of RC RDMA WRITEs, each of 1 GB in 1 MiB messages, MTU
// 4096, two adapters, one switch, 100 Gb/s. Prints data packets x links per CPU-second, events per packet-hop
// and the rate in virtual time.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int run(const char* name, bool is_write, std::uint64_t total_bytes) {
  constexpr std::uint32_t kMessage = 1 << 20;
  constexpr std::uint32_t kDepth = 8;
  PairOptions options;
  options.world.with_switch = true;
  options.world.record = false;
  options.buffer_bytes = kMessage;
  Pair pair(options);
  if (!pair.ready) return 1;

  const std::uint64_t messages = total_bytes / kMessage;
  std::uint64_t posted = 0, received = 0, sent = 0;
  const auto post_recv = [&] { pair.b.program.post_recv(pair.b.qp, 0, {pair.b.sge(0, kMessage)}); };
  const auto post_send = [&] {
    pair.a.program.post_send(pair.a.qp, {.wr_id = posted++,
                                         .opcode = is_write ? WqeOpcode::kRdmaWrite : WqeOpcode::kSend,
                                         .sges = {pair.a.sge(0, kMessage)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
  };
  for (std::uint32_t i = 0; i < 2 * kDepth && !is_write; ++i) post_recv();
  const double start = cpu_seconds();
  for (std::uint32_t i = 0; i < kDepth; ++i) post_send();
  while (sent < messages || (!is_write && received < messages)) {
    // The programs poll every 20 us of virtual time, a quarter of a message.
    pair.world.run_for(Duration{20'000'000});
    for (const protocol::Cqe& entry : pair.b.program.drain(pair.b.recv_cq)) {
      if (entry.status != 0) return 1;
      ++received;
      post_recv();
    }
    for (const protocol::Cqe& entry : pair.a.program.drain(pair.a.send_cq)) {
      if (entry.status != 0) return 1;
      ++sent;
      if (posted < messages) post_send();
    }
  }
  const double seconds = cpu_seconds() - start;
  const double hops = static_cast<double>(messages) * (kMessage / 4096) * 2;
  std::printf("model, %s: %.2f million packet-hops per CPU-second (%.0f hops, %.3f s)\n", name,
              hops / seconds / 1e6, hops, seconds);
  std::printf("model, %s: %.2f events per packet-hop\n", name,
              static_cast<double>(pair.world.engine.events_executed()) / hops);
  std::printf(
      "model, %s: %.2f Gb/s of payload in virtual time\n", name,
      static_cast<double>(messages) * kMessage * 8 / (static_cast<double>(pair.world.now_ps()) * 1e-3));
  return 0;
}

}  // namespace
}  // namespace verbatim::test

int main(int argc, char** argv) {
  const std::uint64_t megabytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
  if (const int failed = verbatim::test::run("SEND", false, megabytes << 20)) return failed;
  return verbatim::test::run("RDMA WRITE", true, megabytes << 20);
}
