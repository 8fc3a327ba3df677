// Questions to the subnet administrator for the way to a port (IBA 15.2.5.16), each asked again until it is answered or has
// taken too long.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "sim/management/path.h"
#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/ib/management.h"

namespace verbatim::management {

class PathQueryClient {
 public:
  // 0 and the path, or an errno.
  virtual void on_path(int error, const Path& path) = 0;

 protected:
  ~PathQueryClient() = default;
};

class PathQueries {
 public:
  // Of the port with `lid`; `manager` is the subnet administrator's.
  PathQueries(Engine& engine, ComponentId source, ib::ManagementPort& port, ib::Lid lid, ib::Lid manager);
  ~PathQueries();

  // One question of a client at a time; `timeout_ms` is at least 1.
  void ask(PathQueryClient& client, const ib::Gid& from, const ib::Gid& to, std::uint16_t pkey, std::uint32_t timeout_ms);
  void forget(PathQueryClient& client);
  // Of class SubnAdm, an answer.
  void on_datagram(const ib::ManagementDatagram& datagram);

 private:
  struct Query;

  void send(const Query& query);
  void finish(std::uint64_t transaction, int error, const Path& path);

  Engine& engine_;
  const ComponentId source_;
  ib::ManagementPort& port_;
  const ib::Lid lid_, manager_;
  std::uint64_t last_transaction_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Query>> queries_;
};

}  // namespace verbatim::management
