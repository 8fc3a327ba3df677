// Agents that programs register at a port (Linux: ib_mad): they send datagrams, hear of the answers or that none came, and get
// the questions of others that they have registered for. Messages longer than a datagram come and go by RMPP when the agent
// wants it.
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
  // `datagram.mad` has the first bytes of `message`.
  virtual void on_message(std::uint32_t agent, const ib::ManagementDatagram& datagram, MadBytes message) = 0;
  // Of a message that was to be answered: nobody did. `datagram` is as it was sent.
  virtual void on_unanswered(std::uint32_t agent, const ib::ManagementDatagram& datagram) = 0;

 protected:
  ~MadClient() = default;
};

struct MadRegistration {
  ib::Qpn queue = ib::kGeneralServicesQp;
  std::uint8_t management_class = 0;  // 0: it gets answers only
  std::uint8_t class_version = 0;
  std::uint32_t oui = 0;              // of vendors' classes from 0x30 to 0x4f
  std::bitset<128> methods;           // questions that it gets
  std::uint8_t rmpp_version = 0;      // 0: none
  bool does_rmpp_itself = false;
};

class MadAgents {
 public:
  // `port`: by which datagrams leave. Both outlive it.
  MadAgents(Engine& engine, ComponentId source, ib::ManagementPort& port);
  ~MadAgents();

  // Classes whose questions others on this host answer: nobody can register for them.
  void reserve(std::uint8_t management_class) { reserved_.insert(management_class); }
  // The agent's number, or -errno: another agent gets such questions already, or there are no such ones.
  std::int64_t add(const MadRegistration& registration, MadClient& client);
  void remove(std::uint32_t agent);

  struct Sending {
    ib::ManagementDatagram datagram;  // the way; its bytes are the message's
    std::uint32_t timeout_ms = 0;     // 0: it needs no answer
    std::uint32_t retries = 0;
  };
  // 0 or -errno. The transaction identifier's upper half becomes the agent's own unless the message is an answer.
  int send(std::uint32_t agent, Sending sending, MadBytes message);

  // A datagram has come. Whether an agent has taken it.
  bool deliver(const ib::ManagementDatagram& datagram);

 private:
  struct Agent {
    MadRegistration registration;
    MadClient* client;
  };
  struct Pending;
  using PendingKey = std::pair<std::uint64_t, std::uint8_t>;  // transaction, class

  Agent* who_gets(const ib::ManagementDatagram& datagram, const mad::Header& header, std::uint32_t* number);
  bool overlaps(const MadRegistration& registration) const;
  void hand_over(std::uint32_t number, const Agent& agent, const ib::ManagementDatagram& datagram);

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

// Who waits at a port for what may never come.
class PortWatcher {
 public:
  // PortManagement::has_failed() from now on.
  virtual void on_port_failed() = 0;

 protected:
  ~PortWatcher() = default;
};

// What /dev/infiniband/umad and issm lead to: the management of one port.
class PortManagement {
 public:
  // In the order in which they are told. A watcher leaves before it goes.
  void add_watcher(PortWatcher& watcher) { watchers_.push_back(&watcher); }
  void remove_watcher(PortWatcher& watcher) { std::erase(watchers_, &watcher); }
  void tell_failure() const {
    for (PortWatcher* watcher : watchers_) watcher->on_port_failed();
  }

  virtual MadAgents& agents() = 0;
  virtual const std::vector<std::uint16_t>& pkeys() const = 0;
  virtual const std::vector<ib::Gid>& gids() const = 0;
  virtual bool has_subnet_management() const = 0;  // Ethernet has none
  virtual void set_subnet_manager(bool is_one) = 0;
  // The adapter has failed for good, and carries nothing any more.
  virtual bool has_failed() const = 0;

 protected:
  ~PortManagement() = default;

 private:
  std::vector<PortWatcher*> watchers_;
};

}  // namespace verbatim::management
