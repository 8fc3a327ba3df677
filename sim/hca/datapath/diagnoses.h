// Says in words why an adapter has refused a command or a request, or why work has failed. It is told what has been decided
// and decides nothing; nobody but people reads what it says.
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

  // Keeps the reason why the command under way is refused, and gives back its errno.
  template <class... Parts>
  int refuse(int error, const Parts&... parts) const {
    reason_ = join(parts...);
    return error;
  }
  // To whom the packets of a connection go, as ib::addressee() names it; "" of others.
  static std::string peer_of(const QueuePair& qp);
  void begin_command() { reason_.clear(); }
  void end_command(protocol::CommandType type, std::uint32_t process, int error);

  // A responder has refused a request, or failed the receive for it.
  void on_refused(const QueuePair& qp, const ib::Packet& packet, const Refusal& refusal);
  // A packet has come that the state of the queue pair does not let it take.
  void on_wrong_state(const QueuePair& qp, const ib::Packet& packet);
  // An unreliable queue pair, or a responder that says so in an RNR NAK, has found no receive for a message.
  void on_no_receive(const QueuePair& qp, const ib::Packet& packet);
  // Since when the last message to the queue pair has found none; kNever: it has found one, or none has come.
  Instant starved_since(const QueuePair& qp) const;
  // A message has found this receive.
  void on_receive(const QueuePair& qp, const RecvWork& work) {
    if (!starved_.empty()) [[unlikely]] tell_late_receive(qp, work);
  }
  // A completion has come for which its queue has no room.
  void on_overrun(const CompletionQueue& cq, std::uint32_t number, std::uint32_t depth);
  // Work of a queue pair completes with an error.
  void on_failed_work(const QueuePair& qp, const FinishedRequest& finished);
  // Work cannot be done as it names something wrong; it completes with an error when its turn comes.
  template <class... Parts>
  void on_faulty_work(const QueuePair& qp, std::uint64_t wr_id, const Parts&... parts) {
    tell(qp, join("work request with wr_id ", wr_id, ": ", parts...));
  }

  // What is to be placed through the keys of this list cannot be.
  void on_unplaceable(const QueuePair& qp, const ScatterList& list, std::uint64_t offset, std::uint32_t length,
                      const Context& owner, std::uint32_t pd);
  // The region with this key is about to be deregistered; `place` says where in the program, when somebody asks.
  void on_end_of_region(std::uint32_t key, std::function<std::string()> place);
  // Why memory cannot be used through a local key, or by a peer through a remote one.
  std::string why_not(const Context& owner, std::uint32_t pd, std::uint32_t key, std::uint64_t va, std::uint64_t length,
                      std::uint32_t access) const;
  std::string why_not_remote(const QueuePair& qp, std::uint32_t key, std::uint64_t va, std::uint64_t length,
                             std::uint32_t access) const;

 private:
  void tell(const QueuePair& qp, const std::string& text, const std::string& unanswered = {});
  void tell_late_receive(const QueuePair& qp, const RecvWork& work);
  std::string unknown_key(std::uint32_t key, bool is_remote) const;

  AdapterBase& adapter_;
  const KeyTable& keys_;
  mutable std::string reason_;                 // of the command under way
  struct EndedRegion {
    std::uint32_t key = 0;
    Instant when{};
    std::function<std::string()> place;
  };
  std::deque<EndedRegion> ended_;  // the last of them
  std::map<std::uint32_t, Instant> starved_;   // queue pairs whose last message found no receive: since when
};

}  // namespace verbatim::hca
