#include "sim/management/subnet_queries.h"

#include <algorithm>

#include "sim/mad/mad.h"

namespace verbatim::management {

namespace {
// Maximum number of transmissions of a query, and minimum interval between them in ms.
constexpr std::uint32_t kTries = 4;
constexpr std::uint32_t kLeastInterval = 100;

ib::Mad in_transaction(const ib::Mad& mad, std::uint64_t transaction) {
  ib::Mad named = mad;
  mad::Header header = mad::header_of(mad);
  header.transaction_id = transaction;
  mad::put_header(named, header);
  return named;
}

}  // namespace

struct SubnetQueries::Query {
  Query(SubnetQueries& all, SubnetQueryClient& client, std::uint64_t transaction)
      : all(all),
        client(client),
        transaction(transaction),
        timer(Timer::of<&Query::on_timer>(all.engine_, all.source_, EventClass::kSupervisor, this)) {}

  void on_timer() {
    const std::int64_t left = (end - all.engine_.now()) / std::chrono::milliseconds(1);
    if (left <= 0) return all.finish(transaction, nullptr);
    all.send(question);
    timer.schedule_after(std::chrono::milliseconds(std::min<std::int64_t>(interval, left)));
  }

  SubnetQueries& all;
  SubnetQueryClient& client;
  const std::uint64_t transaction;
  ib::Mad question{};
  Instant end;
  std::uint32_t interval = 0;  // ms
  Timer timer;
};

SubnetQueries::SubnetQueries(Engine& engine, ComponentId source, ib::ManagementPort& port, ib::Lid manager)
    : engine_(engine), source_(source), port_(port), manager_(manager) {}

SubnetQueries::~SubnetQueries() = default;

void SubnetQueries::ask(SubnetQueryClient& client, const ib::Mad& question, std::uint32_t timeout_ms) {
  forget(client);
  const std::uint64_t transaction = next_transaction();
  auto query = std::make_unique<Query>(*this, client, transaction);
  query->question = in_transaction(question, transaction);
  query->end = engine_.now() + std::chrono::milliseconds(timeout_ms);
  query->interval = std::max(timeout_ms / kTries, kLeastInterval);
  Query& asked = *query;
  queries_.emplace(transaction, std::move(query));
  asked.on_timer();
}

void SubnetQueries::send_once(const ib::Mad& message) { send(in_transaction(message, next_transaction())); }

void SubnetQueries::forget(SubnetQueryClient& client) {
  std::erase_if(queries_, [&](const auto& one) { return &one.second->client == &client; });
}

void SubnetQueries::send(const ib::Mad& mad) {
  ib::ManagementDatagram datagram;
  datagram.lid = manager_;
  datagram.mad = mad;
  port_.send(datagram);
}

void SubnetQueries::on_datagram(const ib::ManagementDatagram& datagram) {
  finish(mad::header_of(datagram.mad).transaction_id, &datagram.mad);
}

void SubnetQueries::finish(std::uint64_t transaction, const ib::Mad* answer) {
  const auto found = queries_.find(transaction);
  if (found == queries_.end()) return;
  SubnetQueryClient& client = found->second->client;
  queries_.erase(found);
  client.on_answer(answer);
}

}  // namespace verbatim::management
