// Traps of one node (IBA 13.4.9, 14.2.5.1): reports to a manager what has happened, again and again until the manager represses
// it. A node without a LID, or that knows of no manager, sends none.
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

// Where traps of a management class go.
class TrapRoute {
 public:
  // With a header that lacks transaction and method alone; nothing: nobody has asked for traps.
  virtual std::optional<ib::ManagementDatagram> trap_datagram() const = 0;
  // Bytes of the datagram before the attribute, and those of it for which there is room.
  virtual std::size_t notice_offset() const = 0;
  virtual std::size_t notice_bytes() const = 0;

 protected:
  ~TrapRoute() = default;
};

// To the subnet manager whose LID PortInfo has.
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
  // No trap leaves sooner after another than PortInfo's SubnetTimeOut says, 4.096 us * 2^n (IBA 14.2.5.6).
  // What nobody represses is sent so often and then given up (assumed: firmware repeats without end, which
  // here would keep a run whose programs wait for each other from being found out); a manager that comes
  // later asks for counters and states anyway.
  static constexpr std::uint32_t kTimesSent = 10;
  // Different ones that wait; more are not told (assumed).
  static constexpr std::size_t kMostPending = 8;

  // `source`: of its timer's events. All outlive it. Null `route`: to the subnet manager.
  TrapSender(Engine& engine, ComponentId source, const Node& node, NodeOutlet& outlet, const TrapRoute* route = nullptr);

  // Something has happened; what is told already is not told twice. The first datagram leaves when the
  // firmware has done its work, `firmware_work` from now.
  void raise(const mad::Notice& notice, Duration firmware_work);
  // A TrapRepress has come. Whether it was for a trap of this node.
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
  std::deque<Pending> pending_;  // the next to be sent first
  std::uint64_t last_transaction_ = 0;
  Instant next_{};  // when one may leave again
  Timer timer_;
};

}  // namespace verbatim::management
