// Losses and repetitions of a run, including those that its programs did not notice: dropped and discarded packets,
// retransmitted packets, retries of requests, RNR NAKs, and the most repeated message.
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
  // `host_ports` are the components of the adapters' ports.
  Losses(const ComponentTable& components, const std::vector<ComponentId>& host_ports);

  // Called when a requester's timeout expires and it retransmits.
  void set_timeout_listener(std::function<void()> listener) { on_timeout_ = std::move(listener); }

  TraceEvents events() const override {
    return bits_of(TraceEvent::kPacketDropped, TraceEvent::kAckSent, TraceEvent::kRetransmission);
  }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  TraceEvents packet_events() const override { return bits_of(TraceEvent::kPacketTransmitted); }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

  // A message that its requester retransmitted from the same PSN at least once.
  struct Message {
    std::string adapter;        // "hca/client"
    std::uint64_t qpn = 0, psn = 0;
    std::uint64_t retries = 0;  // 0: no message was repeated
    std::int64_t first_ps = 0, last_ps = 0;  // of the retries
  };

  // Without acknowledgements of completed requests, without frames that a program's flow rules drop, and without
  // packets_discarded().
  std::uint64_t packets_dropped() const { return packets_dropped_; }
  // By adapters, because they follow a packet that was answered by a NAK: they are sent again in any case.
  std::uint64_t packets_discarded() const { return packets_discarded_; }
  std::uint64_t packets_sent_again() const { return packets_sent_again_; }
  // How often a requester returned to an earlier PSN: after a timeout, a NAK, an RNR NAK, or because of a
  // missing response.
  std::uint64_t retries() const { return retries_; }
  std::uint64_t rnr_naks() const { return rnr_naks_; }
  bool any() const { return packets_dropped_ + packets_discarded_ + packets_sent_again_ + retries_ + rnr_naks_ != 0; }
  // The message with most retries; of these the one that took longest; of these the first.
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
  std::function<void()> on_timeout_;  // empty: no listener
  std::vector<bool> is_host_port_;  // by component
  std::uint64_t packets_dropped_ = 0, packets_discarded_ = 0, packets_sent_again_ = 0, retries_ = 0, rnr_naks_ = 0;
  using QueuePair = std::pair<std::uint32_t, std::uint64_t>;  // component of the adapter, QP number
  std::map<QueuePair, Series> last_;                          // for each queue pair that has retransmitted
  QueuePair worst_of_{};
  Series worst_;
};

}  // namespace verbatim::observe
