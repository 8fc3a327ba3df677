// Message rates: adapters flooded by requests of many queue pairs, against a peer that is never the limit.
#include <string>

#include "tests/fidelity/flood.h"
#include "tests/fidelity/profiles.h"
#include "tests/fidelity/target.h"

namespace verbatim::fidelity {
namespace {

using protocol::WqeOpcode;
using test::Program;
using test::SendRequest;

constexpr Duration kWarmUp{20'000'000}, kTime{60'000'000};

// An adapter that is faster than all others, as many clients are together.
hca::HcaProfile many_clients() {
  hca::HcaProfile profile;
  profile.core_clock_hz = 2'000'000'000;
  for (hca::Stage* stage : {&profile.doorbell, &profile.wqe_decode, &profile.packetize,
                            &profile.receive_check, &profile.acknowledge, &profile.completion})
    *stage = {1, 1};
  profile.pcie.generation = 5;
  profile.pcie.outstanding_reads = 1024;
  profile.gather_buffer_bytes = 1 << 20;
  profile.receive_buffer_bytes = 131072;
  profile.wqe_prefetch = 16;
  return profile;
}

fabric::LinkParams link_of(ByteTime byte_time) {
  fabric::LinkParams link = test::test_link();
  link.byte_time = byte_time;
  return link;
}
// Both FDR ports of a Connect-IB as one of eight lanes.
constexpr ByteTime kTwoFdrPorts{220, 3}, kFdrPort{440, 3}, kEdrPort{80, 1};

// A queue pair that the receiver lacks: packets are dropped at the rate of its checks.
constexpr std::uint32_t kNobody = 0xfffff0;

struct Sends {
  std::uint32_t queue_pairs = 32, bytes = 60, batch = 16;
  Duration post_time{0};
  ByteTime byte_time = kTwoFdrPorts;
};

double ud_sends(const hca::HcaProfile& adapter, const Sends& sends) {
  FloodOptions options;
  options.client = adapter;
  options.server = many_clients();
  options.link = link_of(sends.byte_time);
  options.type = ib::QpType::kUd;
  options.queue_pairs = sends.queue_pairs;
  options.batch = sends.batch;
  options.post_time = sends.post_time;
  const test::PathOptions path;
  const std::vector<std::byte> data(sends.bytes);
  Flood flood(options, [&](Flood& self, Rng&) {
    SendRequest request;
    request.opcode = WqeOpcode::kSend;
    request.inline_data = data;
    request.address_handle = self.address_handle;
    request.remote_qpn = kNobody;
    request.remote_qkey = path.qkey;
    return request;
  });
  return flood.rate("client/p1", TraceEvent::kPacketTransmitted, kWarmUp, kTime);
}

FloodOptions inbound(const hca::HcaProfile& adapter, ByteTime byte_time) {
  FloodOptions options;
  options.client = many_clients();
  options.server = adapter;
  options.link = link_of(byte_time);
  return options;
}

double inbound_reads(const hca::HcaProfile& adapter, std::uint32_t bytes) {
  Flood flood(inbound(adapter, kTwoFdrPorts), [bytes](Flood& self, Rng&) {
    SendRequest request;
    request.opcode = WqeOpcode::kRdmaRead;
    request.sges = {self.pair.a.sge(0, bytes)};
    request.remote_va = Program::kBuffer;
    request.rkey = self.pair.b.mr.rkey;
    return request;
  });
  return flood.rate("server/p1", TraceEvent::kPacketTransmitted, kWarmUp, kTime);
}

// On `counters` words of 8 bytes, chosen at random.
double atomics(const hca::HcaProfile& adapter, ByteTime byte_time, std::uint32_t counters) {
  Flood flood(inbound(adapter, byte_time), [counters](Flood& self, Rng& rng) {
    SendRequest request;
    request.opcode = WqeOpcode::kAtomicFetchAdd;
    request.sges = {self.pair.a.sge(0, 8)};
    request.remote_va = Program::kBuffer + rng.next() % counters * 8;
    request.rkey = self.pair.b.mr.rkey;
    request.compare_add = 1;
    return request;
  });
  return flood.rate("server/hca", TraceEvent::kDmaWrite, kWarmUp, kTime);
}

// READs of 32 bytes a second of one of two like adapters, each of which reads from the other over so many
// queue pairs, chosen at random.
double reads_both_ways(const hca::HcaProfile& adapter, ByteTime byte_time, std::uint32_t queue_pairs) {
  FloodOptions options;
  options.client = options.server = adapter;
  options.link = link_of(byte_time);
  options.queue_pairs = queue_pairs;
  options.window = 32;
  options.outstanding = 256;
  options.batch = options.signal_every = 1;
  options.at_random = options.both_ways = true;
  Flood flood(options, [](Flood& self, Rng&) {
    SendRequest request;
    request.opcode = WqeOpcode::kRdmaRead;
    request.sges = {self.pair.a.sge(0, 32)};
    request.remote_va = Program::kBuffer;
    request.rkey = self.pair.b.mr.rkey;
    return request;
  });
  // Until contexts have been used so often that none is fetched for the first time.
  const std::int64_t rounds = 1 + queue_pairs / 512;
  return flood.rate("client/hca", TraceEvent::kCompletion, 4 * rounds * kWarmUp, 2 * kTime);
}

// Time of a message on the posting core. Of the paper's machine only the rate of one core with four queue
// pairs is known, so that line does not test the adapter.
constexpr Duration kPostTime{31'000};

}  // namespace

Simulated measure_kalia_rates(const Wanted& wanted) {
  const hca::HcaProfile connect_ib = adapter_profile("connect_ib"), connectx3 = adapter_profile("connectx3");
  Simulated simulated;
  const auto measure = [&](const std::string& key, auto how) {
    if (wanted.contains(key)) simulated[key] = how();
  };
  for (const std::uint32_t count : {1u, 2u, 4u}) {
    measure("one_core.queue_pairs_" + std::to_string(count), [&] {
      return ud_sends(connect_ib, {count, 60, 16, kPostTime});
    });
    measure("connectx3.one_core.queue_pairs_" + std::to_string(count), [&] {
      return ud_sends(connectx3, {count, 60, 16, Duration(0), kFdrPort});
    });
  }
  // The last sizes before another line, and the first with it.
  for (const std::uint32_t bytes : {60u, 61u, 124u, 125u, 188u, 189u, 252u, 253u, 316u}) {
    for (const std::uint32_t batch : {16u, 1u}) {
      measure("ud_send_b" + std::to_string(batch) + "." + std::to_string(bytes), [&] {
        return ud_sends(connect_ib, {32, bytes, batch, Duration(0)});
      });
    }
  }
  for (const std::uint32_t bytes : {64u, 128u}) {
    measure("read_in." + std::to_string(bytes), [&] { return inbound_reads(connect_ib, bytes); });
  }
  for (const std::uint32_t counters : {1u, 4096u}) {
    const std::string key = "atomics." + std::to_string(counters);
    measure(key, [&] { return atomics(connect_ib, kTwoFdrPorts, counters); });
    measure("connectx3." + key, [&] { return atomics(connectx3, kFdrPort, counters); });
  }
  return simulated;
}

Simulated measure_qp_cache(const Wanted& wanted) {
  Simulated simulated;
  const auto measure = [&](const std::string& name, ByteTime byte_time, std::uint32_t count) {
    const std::string key = name + ".queue_pairs_" + std::to_string(count);
    if (!wanted.contains(key) && !wanted.contains(name + ".peak")) return;
    const hca::HcaProfile adapter = adapter_profile(name);
    constexpr std::uint32_t kFew = 16;
    const double peak = reads_both_ways(adapter, byte_time, kFew);
    simulated[name + ".peak"] = peak;
    if (wanted.contains(key)) simulated[key] = 100 * reads_both_ways(adapter, byte_time, count) / peak;
  };
  measure("connectx3", kFdrPort, 170);
  measure("connect_ib", kTwoFdrPorts, 400);
  measure("connectx5", kEdrPort, 5000);
  return simulated;
}

}  // namespace verbatim::fidelity
