#include "sim/management/path_query.h"

#include <algorithm>
#include <cerrno>

#include "sim/management/path_record.h"

namespace verbatim::management {

namespace {
// How often a question is asked before its time is over, and never more often than each 100 ms.
constexpr std::uint32_t kTries = 4;
constexpr std::uint32_t kLeastInterval = 100;
}  // namespace

struct PathQueries::Query {
  Query(PathQueries& all, PathQueryClient& client, std::uint64_t transaction)
      : all(all),
        client(client),
        transaction(transaction),
        timer(Timer::of<&Query::on_timer>(all.engine_, all.source_, EventClass::kSupervisor, this)) {}

  void on_timer() {
    const std::int64_t left = (end - all.engine_.now()) / std::chrono::milliseconds(1);
    if (left <= 0) return all.finish(transaction, ETIMEDOUT, {});
    all.send(*this);
    timer.schedule_after(std::chrono::milliseconds(std::min<std::int64_t>(interval, left)));
  }

  PathQueries& all;
  PathQueryClient& client;
  const std::uint64_t transaction;
  ib::Mad question{};
  Instant end;
  std::uint32_t interval = 0;  // ms
  Timer timer;
};

PathQueries::PathQueries(Engine& engine, ComponentId source, ib::ManagementPort& port, ib::Lid lid, ib::Lid manager)
    : engine_(engine), source_(source), port_(port), lid_(lid), manager_(manager) {}

PathQueries::~PathQueries() = default;

void PathQueries::ask(PathQueryClient& client, const ib::Gid& from, const ib::Gid& to, std::uint16_t pkey,
                      std::uint32_t timeout_ms) {
  forget(client);
  const std::uint64_t transaction = ++last_transaction_ << 8 | 1;
  auto query = std::make_unique<Query>(*this, client, transaction);
  query->question = encode_path_question(from, to, pkey, transaction);
  query->end = engine_.now() + std::chrono::milliseconds(timeout_ms);
  query->interval = std::max(timeout_ms / kTries, kLeastInterval);
  Query& asked = *query;
  queries_.emplace(transaction, std::move(query));
  asked.on_timer();
}

void PathQueries::forget(PathQueryClient& client) {
  std::erase_if(queries_, [&](const auto& one) { return &one.second->client == &client; });
}

void PathQueries::send(const Query& query) {
  ib::ManagementDatagram datagram;
  datagram.lid = manager_;
  datagram.mad = query.question;
  port_.send(datagram);
}

void PathQueries::on_datagram(const ib::ManagementDatagram& datagram) {
  const auto answer = decode_path_answer(datagram.mad);
  if (answer) finish(answer->transaction, answer->error, answer->path);
}

void PathQueries::finish(std::uint64_t transaction, int error, const Path& path) {
  const auto found = queries_.find(transaction);
  if (found == queries_.end()) return;
  PathQueryClient& client = found->second->client;
  queries_.erase(found);
  client.on_path(error, path);
}

}  // namespace verbatim::management
