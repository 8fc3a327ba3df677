// Texts for people about why an adapter has refused a command or a request, or why work has failed. The
// decisions are made elsewhere; no part of the model reads the texts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "sim/core/time.h"
#include "sim/core/words.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/transport/refusal.h"
#include "sim/hca/transport/requester.h"
#include "sim/ib/packet.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::hca {

struct AdapterBase;
class CompletionQueue;
class Context;
class KeyTable;
class QueuePair;

class Diagnoses {
 public:
  Diagnoses(AdapterBase& adapter, const KeyTable& keys) : adapter_(adapter), keys_(keys) {}

  // Keeps the reason why the present command is refused. Returns `error`, an errno.
  template <class... Parts>
  int refuse(int error, const Parts&... parts) const {
    reason_ = join(parts...);
    return error;
  }
  // Destination of a connection's packets, as ib::addressee() names it; "" for other queue pairs.
  static std::string peer_of(const QueuePair& qp);
  void begin_command() { reason_.clear(); }
  void end_command(protocol::CommandType type, std::uint32_t process, int error);

  // A responder has refused a request, or failed the receive for it.
  void on_refused(const QueuePair& qp, const ib::Packet& packet, const Refusal& refusal);
  // A packet has arrived that the queue pair does not take in its state.
  void on_wrong_state(const QueuePair& qp, const ib::Packet& packet);
  // There is no receive for a message; a reliable responder sends an RNR NAK.
  void on_no_receive(const QueuePair& qp, const ib::Packet& packet);
  // Time since which the last message to the queue pair has no receive; kNever: it has one, or there was no
  // message.
  Instant starved_since(const QueuePair& qp) const;
  // A message has taken this receive.
  void on_receive(const QueuePair& qp, const RecvWork& work) {
    if (!starved_.empty()) [[unlikely]] report_late_receive(qp, work);
  }
  // A completion queue has no room for a completion.
  void on_overrun(const CompletionQueue& cq, std::uint32_t number, std::uint32_t depth);
  // Work of a queue pair completes with an error.
  void on_failed_work(const QueuePair& qp, const FinishedRequest& finished);
  // A work request names a wrong object or memory; it will complete with an error.
  template <class... Parts>
  void on_faulty_work(const QueuePair& qp, std::uint64_t wr_id, const Parts&... parts) {
    report(qp, join("work request with wr_id ", wr_id, ": ", parts...));
  }

  // A key of the scatter list does not allow payload to be written there.
  void on_unplaceable(const QueuePair& qp, const ScatterList& list, std::uint64_t offset, std::uint32_t length,
                      const Context& owner, std::uint32_t pd);
  // The region with this key is about to be deregistered; `place` returns the place in the program.
  void on_end_of_region(std::uint32_t key, std::function<std::string()> place);
  // Reason why memory cannot be used through a local key, or by a peer through a remote key.
  std::string why_not(const Context& owner, std::uint32_t pd, std::uint32_t key, std::uint64_t va, std::uint64_t length,
                      std::uint32_t access) const;
  std::string why_not_remote(const QueuePair& qp, std::uint32_t key, std::uint64_t va, std::uint64_t length,
                             std::uint32_t access) const;

 private:
  void report(const QueuePair& qp, const std::string& text, const std::string& unanswered = {});
  void report_late_receive(const QueuePair& qp, const RecvWork& work);
  std::string unknown_key(std::uint32_t key, bool is_remote) const;

  AdapterBase& adapter_;
  const KeyTable& keys_;
  mutable std::string reason_;                 // why the present command is refused
  struct EndedRegion {
    std::uint32_t key = 0;
    Instant when{};
    std::function<std::string()> place;
  };
  std::deque<EndedRegion> ended_;  // the last regions that were deregistered
  std::map<std::uint32_t, Instant> starved_;   // by queue pair whose last message has no receive: since this time
};

}  // namespace verbatim::hca
