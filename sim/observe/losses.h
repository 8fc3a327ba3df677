// Losses and repetitions of a run, also those that its programs did not notice: dropped packets, packets that were sent again,
// retries of requests, RNR NAKs, and the message that was repeated most often.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"

namespace verbatim::observe {

class Losses final : public TraceSink, public ib::PacketObserver {
 public:
  // `host_ports`: components of the adapters' ports, where packets leave the hosts.
  Losses(const ComponentTable& components, const std::vector<ComponentId>& host_ports);

  // Is called when a requester has waited too long for an answer and sends again.
  void set_timeout_listener(std::function<void()> listener) { on_timeout_ = std::move(listener); }

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

  // A message that its requester has begun to send again from the same PSN, time after time.
  struct Message {
    std::string adapter;        // "hca/client"
    std::uint64_t qpn = 0, psn = 0;
    std::uint64_t retries = 0;  // 0: no message was repeated
    std::int64_t first_ps = 0, last_ps = 0;  // of the retries
  };

  // Not among them: acknowledgements of requests that are complete already, and frames that a program's flow rules drop.
  std::uint64_t packets_dropped() const { return packets_dropped_; }
  std::uint64_t packets_sent_again() const { return packets_sent_again_; }
  // How often a requester went back to a PSN: after a timeout, a NAK, an RNR NAK, or for a response that was missing.
  std::uint64_t retries() const { return retries_; }
  std::uint64_t rnr_naks() const { return rnr_naks_; }
  bool any() const { return packets_dropped_ + packets_sent_again_ + retries_ + rnr_naks_ != 0; }
  // Among messages with equally many retries, the one that took longest; among those the first.
  Message worst_message() const;

 private:
  struct Series {
    std::uint64_t psn = 0, retries = 0;
    std::int64_t first_ps = 0, last_ps = 0;
  };
  static bool is_worse(const Series& a, const Series& b) {
    return std::pair(a.retries, a.last_ps - a.first_ps) > std::pair(b.retries, b.last_ps - b.first_ps);
  }

  const ComponentTable& components_;
  std::function<void()> on_timeout_;  // empty: nobody listens
  std::vector<bool> is_host_port_;  // by component
  std::uint64_t packets_dropped_ = 0, packets_sent_again_ = 0, retries_ = 0, rnr_naks_ = 0;
  using QueuePair = std::pair<std::uint32_t, std::uint64_t>;  // component of the adapter, number
  std::map<QueuePair, Series> last_;                          // of each that has gone back
  QueuePair worst_of_{};
  Series worst_;
};

}  // namespace verbatim::observe
