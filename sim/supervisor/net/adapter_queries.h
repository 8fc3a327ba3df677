// Attributes of adapters as the simulated kernel reads them, for /sys and netlink.
#pragma once

#include <cstring>
#include <vector>

#include "sim/hca/hca.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::supervisor {

// Queries of attributes need no program memory and cause no events.
struct NoProgram final : host::ProgramMemory, hca::EventListener {
  bool read(host::ProgramAddress, std::span<std::byte>) override { return false; }
  bool write(host::ProgramAddress, std::span<const std::byte>) override { return false; }
  bool is_mapped(host::ProgramAddress, std::uint64_t, bool) override { return false; }
  void on_completion_event(std::uint32_t, const protocol::CompletionEvent&) override {}
  void on_async_event(std::uint32_t, const protocol::AsyncEvent&) override {}
  void on_completion_written(std::uint32_t, std::uint32_t) override {}
  void on_dma_fault(std::uint32_t, std::uint64_t, std::uint64_t) override {}
};

// Answers a query as an adapter answers the verbs library, through a temporary context.
template <class Query>
Query ask(hca::Hca& hca, Query query = {}) {
  NoProgram nobody;
  hca::ProgramPort port;
  port.memory = &nobody;
  port.listener = &nobody;
  const std::uint32_t context = hca.open(port);
  query.header.type = Query::kType;
  query.header.size = sizeof query;
  query.header.context = context;
  std::vector<std::byte> mailbox(sizeof query);
  std::memcpy(mailbox.data(), &query, sizeof query);
  hca.execute(mailbox);
  std::memcpy(&query, mailbox.data(), sizeof query);
  hca.close(context);
  return query;
}

// Attributes of the port; a failed adapter's is down.
inline protocol::QueryPort port_of(hca::Hca& hca) {
  protocol::QueryPort query{};
  query.port = 1;
  if (!hca.has_failed()) return ask(hca, query);
  query.state = 1;       // down
  query.phys_state = 3;  // disabled
  return query;
}

}  // namespace verbatim::supervisor
