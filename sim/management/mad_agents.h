// Agents that programs register at a port (Linux: ib_mad): they send datagrams, get the responses or
// timeouts, and receive the requests that they registered for. Messages longer than a datagram use RMPP if
// the agent enables it.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/management/rmpp.h"

namespace verbatim::management {

class MadClient {
 public:
  // A request or response for the agent. `message`: all of it, reassembled by RMPP; `datagram.mad` has its
  // first bytes.
  virtual void on_message(std::uint32_t agent, const ib::ManagementDatagram& datagram, MadBytes message) = 0;
  // A request has timed out. `datagram` is the request as sent.
  virtual void on_unanswered(std::uint32_t agent, const ib::ManagementDatagram& datagram) = 0;

 protected:
  ~MadClient() = default;
};

struct MadRegistration {
  ib::Qpn queue = ib::kGeneralServicesQp;
  std::uint8_t management_class = 0;  // 0: the agent gets responses only
  std::uint8_t class_version = 0;
  std::uint32_t oui = 0;              // of vendor classes from 0x30 to 0x4f
  std::bitset<128> methods;           // requests that it receives
  std::uint8_t rmpp_version = 0;      // 0: no RMPP
  bool does_rmpp_itself = false;      // the agent sends and receives RMPP segments as datagrams
};

class MadAgents {
 public:
  // Datagrams leave by `port`. Both references must outlive this.
  MadAgents(Engine& engine, ComponentId source, ib::ManagementPort& port);
  ~MadAgents();

  // Reserves a class for other agents of this host: registrations for its requests are refused.
  void reserve(std::uint8_t management_class) { reserved_.insert(management_class); }
  // Returns the agent's number or -errno: another agent receives these requests, or the registration is
  // invalid.
  std::int64_t add(const MadRegistration& registration, MadClient& client);
  void remove(std::uint32_t agent);

  struct Sending {
    ib::ManagementDatagram datagram;  // destination; its bytes are replaced by the message
    std::uint32_t timeout_ms = 0;     // 0: no response expected
    std::uint32_t retries = 0;
  };
  // Returns 0 or -errno. The upper half of the transaction id is replaced by the agent's number unless the
  // message is a response.
  int send(std::uint32_t agent, Sending sending, MadBytes message);

  // A datagram has arrived. Returns whether it belongs to an agent; a response without a pending request is
  // discarded.
  bool deliver(const ib::ManagementDatagram& datagram);

 private:
  struct Agent {
    MadRegistration registration;
    MadClient* client;
  };
  struct Pending;
  using PendingKey = std::pair<std::uint64_t, std::uint8_t>;  // transaction, class

  Agent* find_agent(const ib::ManagementDatagram& datagram, const mad::Header& header, std::uint32_t* number);
  bool overlaps(const MadRegistration& registration) const;
  void deliver_to(std::uint32_t number, const Agent& agent, const ib::ManagementDatagram& datagram);

  Engine& engine_;
  const ComponentId source_;
  ib::ManagementPort& port_;
  RmppSender sender_;
  RmppReceiver receiver_;
  std::set<std::uint8_t> reserved_;
  std::uint32_t last_agent_ = 0;
  std::map<std::uint32_t, Agent> agents_;
  std::map<PendingKey, std::unique_ptr<Pending>> pending_;
};

// Notified when the adapter of a port fails: it then produces no further events.
class PortWatcher {
 public:
  // PortManagement::has_failed() has become true.
  virtual void on_port_failed() = 0;

 protected:
  ~PortWatcher() = default;
};

// Management of one port, as /dev/infiniband/umad and issm need it.
class PortManagement {
 public:
  // Watchers are notified in the order in which they were added. A watcher must be removed before it is
  // destroyed.
  void add_watcher(PortWatcher& watcher) { watchers_.push_back(&watcher); }
  void remove_watcher(PortWatcher& watcher) { std::erase(watchers_, &watcher); }
  void report_failure() const {
    for (PortWatcher* watcher : watchers_) watcher->on_port_failed();
  }

  virtual MadAgents& agents() = 0;
  virtual const std::vector<std::uint16_t>& pkeys() const = 0;
  virtual const std::vector<ib::Gid>& gids() const = 0;
  virtual bool has_subnet_management() const = 0;  // false on Ethernet
  // Sets the port's capability IsSM.
  virtual void set_subnet_manager(bool is_one) = 0;
  // The adapter has failed permanently and carries no datagrams.
  virtual bool has_failed() const = 0;

 protected:
  ~PortManagement() = default;

 private:
  std::vector<PortWatcher*> watchers_;
};

}  // namespace verbatim::management
