// Executes a message graph (message_graph.h) over adapters: each communicating pair of ranks has a connection
// per lane, whose queue pairs are work sources, as a flow's are. There are no processes and no payload bytes.
//
// A message of up to eager_bytes is sent when its send starts. A longer one uses a rendezvous: the sender's
// request, the receiver's clearance when a receive matches, then the data. With SEND, the completion of the
// last packet signals the arrival; written data (WRITE) are followed by a SEND without payload on the same
// queue pair.
//
// An eager send ends when its bytes are acknowledged and the completion is in memory; with sends_are_buffered
// it ends when it starts, as in LogGOPSim, where the bytes are copied. A send with rendezvous ends by its
// completion. A receive ends when a matching message has arrived. A computation starts when its processor is
// free. Messages and posting take no processor time. Between ranks of one adapter, messages arrive at once.
//
// The run depends only on the content of the graph: each event belongs to one adapter and may start or end
// operations. In the order of these changes, the operations that each makes ready are started by ascending
// id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/hca/endpoint.h"
#include "sim/workload/flow.h"
#include "sim/workload/message_graph.h"

namespace verbatim::workload {

struct GraphRunParams {
  Instant start{};
  std::uint64_t eager_bytes = ~std::uint64_t{0};  // larger messages use a rendezvous
  bool sends_are_buffered = false;
  hca::SourceWork::Operation operation = hca::SourceWork::Operation::kSend;
};

class GraphRun {
 public:
  // Maximum number of outstanding requests of a queue pair.
  static constexpr std::uint32_t kDepth = 128;
  // Payload of a rendezvous' request and clearance: the size of an MPI header.
  static constexpr std::uint32_t kControlBytes = 64;

  // Returns the paths of both directions between the adapters of two ranks; the run sets peers and PSNs.
  using Paths = std::function<FlowPaths(std::uint32_t from, std::uint32_t to)>;

  // To be constructed before the first event. The graph must be sealed, not empty and without cycles; it and
  // the adapters must outlive the run's last event, and the run the adapters' last event. `places`: the
  // adapters by rank. `unfinished`: a counter, incremented now and decremented when the run is done.
  GraphRun(Engine& engine, const MessageGraph& graph, const std::vector<hca::Endpoint*>& places, const Paths& paths,
           const GraphRunParams& params, std::size_t& unfinished);
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  const MessageGraph& graph() const { return graph_; }
  const GraphRunParams& params() const { return params_; }

  // Whether no further event follows: everything has ended, or the remaining operations wait for ever.
  bool is_done() const { return active_ == 0; }
  // Whether all operations have ended.
  bool is_complete() const { return ended_count_ == graph_.size(); }
  // Time of the last end of an operation so far.
  Instant finish() const { return finish_; }

  // kNever: not started, or not ended.
  Instant started(OperationId id) const { return started_[id]; }
  Instant ended(OperationId id) const { return ended_[id]; }
  // The receive that matched a send, and vice versa.
  OperationId partner(OperationId id) const { return partners_[id]; }
  std::uint32_t operations_ended() const { return ended_count_; }
  std::uint64_t messages_matched() const { return matched_; }
  std::uint64_t bytes_matched() const { return matched_bytes_; }

  // The first transport error, and the send concerned.
  struct Failure {
    OperationId send = kNoOperation;  // kNoOperation: an adapter failed
    std::uint32_t rank = 0;
    ib::WcStatus status = ib::WcStatus::kSuccess;
  };
  const std::optional<Failure>& failure() const { return failure_; }

  // Describes waiting operations, one per line: operations that have started and not ended, messages without
  // a receive, and, if none has started, those that wait for others. At most `most` lines, then the number of
  // further ones.
  std::vector<std::string> waiting(std::size_t most) const;
  // Messages that have arrived and are not matched.
  std::uint64_t unexpected_left() const;

 private:
  // Lists of operations, linked by next_.
  struct List {
    OperationId first = kNoOperation, last = kNoOperation;
  };
  // Posted receives, and unexpected messages. One mailbox for each sender and tag of a receiving rank, or one
  // for the whole rank if it has a receive from any rank or with any tag.
  struct Mailbox {
    List posted, unexpected;
  };
  struct Processor {
    Processor(GraphRun& run, hca::Endpoint& endpoint);
    void on_computed();
    GraphRun& run;
    List waiting;
    OperationId running = kNoOperation;
    Timer timer;
  };
  struct Start {
    Start(GraphRun& run, hca::Endpoint& endpoint, std::uint32_t rank);
    void on_start();
    GraphRun& run;
    const std::uint32_t rank;
    Timer timer;
  };
  enum class Role : std::uint8_t { kEager, kRequest, kClearance, kData };
  // A work request.
  struct Item {
    OperationId send = kNoOperation;
    std::uint32_t length = 0;
    Role role = Role::kEager;
    bool is_written = false;  // by WRITE: invisible to the receiver
    bool is_last_of_data = false;
    bool is_arrival = false;  // its reception is the arrival of the message
  };
  // One end of a connection, with the requests that it sends.
  struct End final : hca::WorkSource {
    End(GraphRun& run, hca::Endpoint& endpoint) : run(run), endpoint(endpoint) {}
    void post(const Item& item);
    void announce();
    void retire();
    void fail();
    hca::SourceWork next_work(std::uint32_t qpn) override;
    void on_completed(std::uint32_t qpn, ib::WcStatus status) override;
    void on_received(std::uint32_t qpn, std::uint32_t bytes) override;
    void on_adapter_failed(std::uint32_t qpn) override;

    GraphRun& run;
    hca::Endpoint& endpoint;
    hca::SourceEnd own;
    End* peer = nullptr;
    std::uint32_t rank = 0;
    // Begins with the first item that is not both completed and received. The counters below count from it.
    Ring<Item> items;
    std::uint32_t announced = 0, taken = 0, completed = 0, received = 0;
    bool has_failed = false;
    bool is_peer_gone = false;  // the peer receives nothing more
  };

  void connect(const std::vector<hca::Endpoint*>& places, const Paths& paths);
  void assign_mailboxes();
  void assign_processors(const std::vector<hca::Endpoint*>& places);

  void append(List& list, OperationId id);
  // Removes and returns the first element that fits.
  template <class Fits>
  OperationId take_first(List& list, Fits fits);
  bool fits(OperationId receive, OperationId send) const;
  bool is_eager(OperationId send) const { return graph_[send].amount <= params_.eager_bytes; }
  bool is_local(OperationId send) const { return routes_[send] == nullptr; }

  // Changes of operations. Each may make others ready; run_ready() starts those.
  void start(OperationId id);
  void end(OperationId id);
  // Makes ready the operations that waited only for the end, or the start, of this one.
  void release(OperationId id, bool by_end);
  void start_send(OperationId id);
  void start_receive(OperationId id);
  void start_compute(OperationId id);
  void begin(Processor& processor, OperationId id);
  void post_data(OperationId send, Role role);
  void arrive(OperationId send);
  void match(OperationId receive, OperationId send);
  void on_arrival(const Item& item);
  void fail(OperationId send, std::uint32_t rank, ib::WcStatus status);
  void run_ready();

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Engine& engine_;
  const MessageGraph& graph_;
  const GraphRunParams params_;
  std::size_t& unfinished_;
  std::deque<Start> starts_;  // by rank; adapters and timers refer to them
  std::deque<Processor> processors_;
  std::deque<End> ends_;  // pairs
  std::vector<Mailbox> mailboxes_;
  std::vector<OperationId> ready_;            // to be started in this event, in order
  std::vector<std::uint32_t> first_of_rank_;  // index in by_rank_
  std::vector<OperationId> by_rank_;          // operations without dependencies

  // By operation:
  std::vector<std::uint32_t> waits_;  // number of unmet dependencies
  std::vector<std::uint32_t> slots_;  // mailbox of a message, processor of a computation, or kNone
  std::vector<OperationId> next_;
  std::vector<OperationId> partners_;
  std::vector<End*> routes_;  // of sends; null: within an adapter
  std::vector<Instant> started_, ended_;

  std::uint64_t active_ = 0;  // ranks not started, outstanding work requests and running computations
  std::uint32_t ended_count_ = 0;
  std::uint64_t matched_ = 0, matched_bytes_ = 0;
  Instant finish_{};
  std::optional<Failure> failure_;
};

}  // namespace verbatim::workload
