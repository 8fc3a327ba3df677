// Traps of one node (IBA 13.4.9, 14.2.5.1): reports an event to a manager repeatedly until the manager
// represses the trap. A node without a LID or without a known manager sends none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/mad/notice.h"
#include "sim/management/node.h"

namespace verbatim::management {

class NodeOutlet;

// Destination of traps of a management class.
class TrapRoute {
 public:
  // Datagram with a header that lacks only transaction and method; nullopt: no destination is set.
  virtual std::optional<ib::ManagementDatagram> trap_datagram() const = 0;
  // Offset of the attribute in the datagram, and the maximum size of the attribute.
  virtual std::size_t notice_offset() const = 0;
  virtual std::size_t notice_bytes() const = 0;

 protected:
  ~TrapRoute() = default;
};

// Route to the subnet manager whose LID is in PortInfo.
class SubnetTrapRoute final : public TrapRoute {
 public:
  explicit SubnetTrapRoute(const Node& node) : node_(node) {}
  std::optional<ib::ManagementDatagram> trap_datagram() const override;
  std::size_t notice_offset() const override;
  std::size_t notice_bytes() const override;

 private:
  const Node& node_;
};

class TrapSender {
 public:
  // Minimum interval between traps: PortInfo's SubnetTimeOut, 4.096 us * 2^n (IBA 14.2.5.6). A trap that is
  // not repressed is dropped after this many transmissions (assumed: firmware repeats it without end, which
  // would prevent the detection of deadlocks among programs). A manager that starts later reads counters and
  // states anyway.
  static constexpr std::uint32_t kTimesSent = 10;
  // Maximum number of distinct pending traps; further ones are dropped (assumed).
  static constexpr std::size_t kMostPending = 8;

  // `source`: component of its timer. All references must outlive this. Null `route`: to the subnet manager.
  TrapSender(Engine& engine, ComponentId source, const Node& node, NodeOutlet& outlet, const TrapRoute* route = nullptr);

  // Reports an event, unless the same trap is pending. The first datagram leaves after the firmware's
  // processing time `firmware_work`.
  void raise(const mad::Notice& notice, Duration firmware_work);
  // A TrapRepress has arrived. Returns whether it was for a trap of this node.
  bool repress(const mad::Header& header);

  std::size_t pending() const { return pending_.size(); }

 private:
  struct Pending {
    mad::Notice notice;
    std::uint64_t transaction = 0;
    std::uint32_t times_sent = 0;
  };

  const NodePort& port() const { return node_.base_port(1); }
  bool has_manager() const { return port().info.lid != 0 && route().trap_datagram().has_value(); }
  const TrapRoute& route() const { return route_ == nullptr ? usual_route_ : *route_; }
  void on_time();
  void send(const Pending& trap);

  Engine& engine_;
  const Node& node_;
  NodeOutlet& outlet_;
  const SubnetTrapRoute usual_route_;
  const TrapRoute* const route_;
  std::deque<Pending> pending_;  // the next one to be sent first
  std::uint64_t last_transaction_ = 0;
  Instant next_{};  // earliest time of the next transmission
  Timer timer_;
};

}  // namespace verbatim::management
