// Questions to the subnet administrator (IBA 15.4), each asked again until it is answered or has taken too long.
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
  // The answer; null: there was none.
  virtual void on_answer(const ib::Mad* answer) = 0;

 protected:
  ~SubnetQueryClient() = default;
};

class SubnetQueries {
 public:
  // `manager`: where the subnet administrator is.
  SubnetQueries(Engine& engine, ComponentId source, ib::ManagementPort& port, ib::Lid manager);
  ~SubnetQueries();

  // One question of a client at a time, in a transaction of its own; `timeout_ms` is at least 1.
  void ask(SubnetQueryClient& client, const ib::Mad& question, std::uint32_t timeout_ms);
  void set_manager(ib::Lid manager) { manager_ = manager; }
  void forget(SubnetQueryClient& client);
  // Sent once; nobody waits for the answer.
  void tell(const ib::Mad& message);
  // Of class SubnAdm, an answer.
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
