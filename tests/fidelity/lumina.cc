// Time of the recovery from one lost packet, measured like Lumina's: by times of packets at the switch
// between two adapters.
#include <cstdio>

#include "sim/ib/aeth.h"
#include "tests/fidelity/profiles.h"
#include "tests/fidelity/target.h"
#include "tests/hca/requests.h"

namespace verbatim::fidelity {
namespace {

constexpr std::uint32_t kFirst = 1000, kLost = 1005, kBytes = 20 * 1024;
constexpr ByteTime k40Gbps{200, 1}, k100Gbps{80, 1};

// Times in us: from the lost packet to the NAK, or to the request for the missing data, and from there to the
// missing packet.
struct Recovery {
  double generation = -1, reaction = -1;
};

Recovery recovery_of(const hca::HcaProfile& profile, ByteTime byte_time, bool is_read) {
  test::PairOptions options;
  options.world.profile = profile;
  options.world.link.byte_time = byte_time;
  options.world.with_switch = true;
  options.path.mtu = 3;  // 1024 bytes
  options.path.sq_psn = options.path.rq_psn = kFirst;
  test::Pair pair(options);
  int seen = 0;
  test::Filter& receiver = is_read ? pair.world.to_client : pair.world.to_server;
  receiver.keep = [&](ib::Packet& packet) { return packet.bth.psn.value != kLost || seen++ > 0; };
  pair.a.program.post_send(pair.a.qp, is_read ? test::read_from(pair, 0, kBytes) : test::write_to(pair, 0, kBytes));
  pair.world.run();
  // Port 1 of the switch is the client's.
  const std::uint32_t to_client = pair.world.components.id("switch/p1").value, to_server = pair.world.components.id("switch/p2").value;
  std::int64_t lost = -1, reported = -1, repeated = -1;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
    if (record.values[2] != kLost) continue;
    if (record.component == (is_read ? to_client : to_server)) {
      (lost < 0 ? lost : repeated) = record.time_ps;
    } else if (record.component == (is_read ? to_server : to_client)) {
      reported = record.time_ps;
    }
  }
  if (lost < 0 || reported < lost || repeated < reported) return {};
  return {static_cast<double>(reported - lost) / 1e6, static_cast<double>(repeated - reported) / 1e6};
}

}  // namespace

Simulated measure_lumina(const Wanted& wanted) {
  Simulated simulated;
  for (const auto& [name, byte_time] :
       {std::pair("connectx4_edr", k40Gbps), std::pair("connectx5", k100Gbps), std::pair("connectx6_hdr", k100Gbps)}) {
    for (const bool is_read : {false, true}) {
      const std::string key = std::string(name) + (is_read ? ".read" : ".write");
      if (!wanted.contains(key + ".nak_generation") && !wanted.contains(key + ".nak_reaction")) continue;
      const Recovery recovery = recovery_of(adapter_profile(name), byte_time, is_read);
      simulated[key + ".nak_generation"] = recovery.generation;
      simulated[key + ".nak_reaction"] = recovery.reaction;
    }
  }
  return simulated;
}

}  // namespace verbatim::fidelity
