// Time until a ConnectX-6 of the model reports that a peer is silent: one SEND, all packets of which are
// lost.
#include <cstdio>

#include "tests/fidelity/profiles.h"
#include "tests/fidelity/target.h"
#include "tests/hca/driver.h"

namespace verbatim::fidelity {
namespace {

// Time from the post to the completion with an error, in ms.
double detection_ms(const hca::HcaProfile& profile, unsigned timeout, unsigned retries) {
  test::PairOptions options;
  options.world.profile = profile;
  options.world.record = false;
  options.path.timeout = static_cast<std::uint8_t>(timeout);
  options.path.retry_cnt = static_cast<std::uint8_t>(retries);
  test::Pair pair(options);
  pair.world.to_server.keep = [](ib::Packet&) { return false; };
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 64)}});
  pair.world.run();
  const auto completion = pair.a.program.poll(pair.a.send_cq);
  if (!completion || completion->status != static_cast<std::uint8_t>(ib::WcStatus::kRetryExceeded)) return -1;
  return static_cast<double>(completion->visible_at_ps) / 1e9;
}

}  // namespace

Simulated measure_timeouts(const Wanted& wanted) {
  hca::HcaProfile on = hca_profile_of("hdr_pair");
  hca::HcaProfile off = on;
  off.ack_timer.least_exponent = 0;
  Simulated simulated;
  for (const std::string& key : wanted) {
    unsigned timeout = 0, retries = 0, fewer = 0;
    if (std::sscanf(key.c_str(), "floor_on.T%uR%u", &timeout, &retries) == 2 ||
        std::sscanf(key.c_str(), "floor_on_no_retry.T%uR%u", &timeout, &retries) == 2) {
      simulated[key] = detection_ms(on, timeout, retries);
    } else if (std::sscanf(key.c_str(), "floor_off.T%uR%u", &timeout, &retries) == 2) {
      simulated[key] = detection_ms(off, timeout, retries);
    } else if (std::sscanf(key.c_str(), "floor_off_difference.T%uR%u-R%u", &timeout, &retries, &fewer) == 3) {
      simulated[key] = detection_ms(off, timeout, retries) - detection_ms(off, timeout, fewer);
    }
  }
  return simulated;
}

}  // namespace verbatim::fidelity
