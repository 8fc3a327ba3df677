// Congestion control of an adapter on Ethernet: key `congestion_control` of its profile.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/time.h"

namespace verbatim::hca {

// Parameters of the reaction point, named as in /sys/class/net/INTERFACE/ecn/roce_rp (MLNX_OFED). kNotSet:
// the controller's default (`controllers.h`). Rates are in bit/s, multiples of 1 Mb/s.
struct ReactionPoint {
  static constexpr std::int64_t kNotSet = -1;

  Duration rpg_time_reset{kNotSet};              // between increases by the timer
  std::int64_t rpg_byte_reset = kNotSet;         // between increases by bytes, in units of 64 bytes; 0: no increases by bytes
  std::int64_t rpg_threshold = kNotSet;          // increases before fast recovery ends, 1 … 31
  std::int64_t rpg_ai_rate = kNotSet;            // step of the additive increase
  std::int64_t rpg_hai_rate = kNotSet;           // step of the hyper increase
  std::int64_t rpg_max_rate = kNotSet;           // a queue pair with this rate or more is not limited; 0: line rate
  std::int64_t rpg_min_rate = kNotSet;           // minimum of the rate after a cut
  std::int64_t rpg_gd = kNotSet;                 // a cut subtracts rate x alpha >> rpg_gd, alpha in 1/1024: 11 is alpha / 2
  std::int64_t rpg_min_dec_fac = kNotSet;        // percentage of the rate that a cut leaves at least
  std::int64_t dce_tcp_g = kNotSet;              // weight of the old alpha in an update, in 1/1024
  Duration dce_tcp_rtt{kNotSet};                 // between updates of alpha
  std::int64_t initial_alpha_value = kNotSet;    // in 1/1024, 1 … 1023
  std::int64_t rate_to_set_on_first_cnp = kNotSet;  // 0: line rate
  Duration rate_reduce_monitor_period{kNotSet};  // between cuts
  Duration base_round_trip{kNotSet};             // hpcc, swift: round trip of a full packet without queues
  bool clamp_tgt_rate = false;                   // each cut sets the target to the previous rate
  bool clamp_tgt_rate_after_time_inc = true;     // so does a cut after an increase by the timer
};

// Notifications of one scope are at least `min_time_between_cnps` apart.
enum class CnpScope : std::uint8_t { kPort, kDestinationIp, kQueuePair };
inline constexpr const char* kCnpScopeNames[] = {"port", "destination-ip", "queue-pair"};

struct CongestionControl {
  std::string controller = "none";  // controller of each queue pair's rate (`controllers.h`)
  bool ecn_capable = false;  // requests and READ responses of connections have ECT(0)
  // Parameters of the notification point, by the names of /sys/class/net/INTERFACE/ecn/roce_np.
  Duration min_time_between_cnps{4'000'000};
  std::string cnp_scope = kCnpScopeNames[0];
  // A packet after whose arrival the adapter's receive buffer contains this many bytes or more is treated as
  // if it were marked; 0: none. Full adapters only: a light one buffers no packets.
  std::uint32_t cnp_receive_buffer_bytes = 0;
  std::uint32_t cnp_dscp = 48;
  std::uint32_t cnp_802p_prio = 6;  // service level of a notification
  ReactionPoint reaction_point;
};

}  // namespace verbatim::hca
