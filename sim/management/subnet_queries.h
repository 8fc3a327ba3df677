// Queries of the subnet administrator (IBA 15.4), each repeated until it is answered or times out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/ib/management.h"

namespace verbatim::management {

class SubnetQueryClient {
 public:
  // The answer; null: timeout.
  virtual void on_answer(const ib::Mad* answer) = 0;

 protected:
  ~SubnetQueryClient() = default;
};

class SubnetQueries {
 public:
  // `manager`: LID of the subnet administrator.
  SubnetQueries(Engine& engine, ComponentId source, ib::ManagementPort& port, ib::Lid manager);
  ~SubnetQueries();

  // Starts a query; a client has one at a time. `timeout_ms` is at least 1.
  void ask(SubnetQueryClient& client, const ib::Mad& question, std::uint32_t timeout_ms);
  void set_manager(ib::Lid manager) { manager_ = manager; }
  void forget(SubnetQueryClient& client);
  // Sends a message once, without waiting for an answer.
  void send_once(const ib::Mad& message);
  // A response of class SubnAdm has arrived.
  void on_datagram(const ib::ManagementDatagram& datagram);

 private:
  struct Query;

  void send(const ib::Mad& mad);
  void finish(std::uint64_t transaction, const ib::Mad* answer);
  std::uint64_t next_transaction() { return ++last_transaction_ << 8 | 1; }

  Engine& engine_;
  const ComponentId source_;
  ib::ManagementPort& port_;
  ib::Lid manager_;
  std::uint64_t last_transaction_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Query>> queries_;
};

}  // namespace verbatim::management
