// Executes a message graph (message_graph.h) over adapters: each pair of ranks that talk has a connection,
// and per lane one more, whose queue pairs are work sources, as a flow's are. There are no processes and no
// payload bytes.
//
// A message of up to eager_bytes is sent when its send starts. A longer one has a rendezvous: the sender's
// request, the clearance that the receiver sends when a receive fits, then the data. By SEND the last
// packet's completion says that the message is there; data that are written (WRITE) have a SEND without
// payload behind them on the same queue pair.
//
// An eager send ends when its bytes are acknowledged and the completion is in memory; with sends_are_buffered
// it ends when it starts, as in LogGOPSim: they were copied. A send with rendezvous ends by its completion. A
// receive ends when the message has arrived and fits. A computation starts when its processor is free.
// Messages and posting take no processor time. Between ranks of one adapter messages arrive at once.
//
// The run follows from the graph's content: what happens in an event is an event of one adapter, and what it
// makes possible is started by ascending id, first what depends on its first effect.
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
  std::uint64_t eager_bytes = ~std::uint64_t{0};  // above: rendezvous
  bool sends_are_buffered = false;
  hca::SourceWork::Operation operation = hca::SourceWork::Operation::kSend;
};

class GraphRun {
 public:
  // Requests of a queue pair that are posted and not completed, at the most.
  static constexpr std::uint32_t kDepth = 128;
  // Payload of a rendezvous' request and clearance: a header of MPI's size.
  static constexpr std::uint32_t kControlBytes = 64;

  // Both directions between the adapters of two ranks; peers and PSNs are the run's.
  using Paths = std::function<FlowPaths(std::uint32_t from, std::uint32_t to)>;

  // Before the first event. The graph is sealed, has an operation and no circle; it and the adapters outlive
  // the run's last event, and the run theirs. `places` are the adapters by rank. `unfinished` counts what is
  // not done.
  GraphRun(Engine& engine, const MessageGraph& graph, const std::vector<hca::Endpoint*>& places, const Paths& paths,
           const GraphRunParams& params, std::size_t& unfinished);
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  const MessageGraph& graph() const { return graph_; }
  const GraphRunParams& params() const { return params_; }

  // Nothing more will happen: everything has ended, or what is left waits for ever.
  bool is_done() const { return active_ == 0; }
  // All operations have ended.
  bool is_complete() const { return ended_count_ == graph_.size(); }
  // When the last operation ended that has.
  Instant finish() const { return finish_; }

  // kNever: it has not started, or ended.
  Instant started(OperationId id) const { return started_[id]; }
  Instant ended(OperationId id) const { return ended_[id]; }
  // The receive that has taken a send's message, and the other way round.
  OperationId partner(OperationId id) const { return partners_[id]; }
  std::uint32_t operations_ended() const { return ended_count_; }
  std::uint64_t messages_matched() const { return matched_; }
  std::uint64_t bytes_matched() const { return matched_bytes_; }

  // The first transport error, and the send it happened to.
  struct Failure {
    OperationId send = kNoOperation;  // none: an adapter has failed
    std::uint32_t rank = 0;
    ib::WcStatus status = ib::WcStatus::kSuccess;
  };
  const std::optional<Failure>& failure() const { return failure_; }

  // The waiting ones, a line for each: operations that have started and not ended, messages that no
  // receive takes, and when none of the first has started, those that others let wait. At most `most` lines,
  // then how many more there are.
  std::vector<std::string> waiting(std::size_t most) const;
  // Messages that have arrived and no receive has taken.
  std::uint64_t unexpected_left() const;

 private:
  // Intrusive lists of operations, by next_.
  struct List {
    OperationId first = kNoOperation, last = kNoOperation;
  };
  // Receives that wait for a message, and messages that wait for a receive, which are from one rank with one
  // tag, or all of a rank that has a receive from any rank or with any tag.
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
    bool is_written = false;  // by WRITE: the receiver does not see it
    bool is_last_of_data = false;
    bool is_arrival = false;  // the message is there when this one is received
  };
  // One end of a connection: what it sends.
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
    // From the first that is not both completed and received. The others are counts from there.
    Ring<Item> items;
    std::uint32_t announced = 0, taken = 0, completed = 0, received = 0;
    bool has_failed = false;
    bool is_peer_gone = false;  // nothing more is received there
  };

  void connect(const std::vector<hca::Endpoint*>& places, const Paths& paths);
  void assign_mailboxes();
  void assign_processors(const std::vector<hca::Endpoint*>& places);

  void append(List& list, OperationId id);
  // Takes the first element that fits.
  template <class Fits>
  OperationId take_first(List& list, Fits fits);
  bool fits(OperationId receive, OperationId send) const;
  bool is_eager(OperationId send) const { return graph_[send].amount <= params_.eager_bytes; }
  bool is_local(OperationId send) const { return routes_[send] == nullptr; }

  // Changes of operations. Each may make others ready; work_off() starts them.
  void start(OperationId id);
  void end(OperationId id);
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
  void work_off();

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Engine& engine_;
  const MessageGraph& graph_;
  const GraphRunParams params_;
  std::size_t& unfinished_;
  std::deque<Start> starts_;  // by rank; adapters and timers point to these
  std::deque<Processor> processors_;
  std::deque<End> ends_;  // two and two
  std::vector<Mailbox> mailboxes_;
  std::vector<OperationId> ready_;            // to start in this event, in order
  std::vector<std::uint32_t> first_of_rank_;  // in by_rank_
  std::vector<OperationId> by_rank_;          // those that wait for no other

  // By operation.
  std::vector<std::uint32_t> waits_;  // for how many it still waits
  std::vector<std::uint32_t> slots_;  // mailbox of a message, processor of a computation, or kNone
  std::vector<OperationId> next_;
  std::vector<OperationId> partners_;
  std::vector<End*> routes_;  // of sends; null: within an adapter
  std::vector<Instant> started_, ended_;

  std::uint64_t active_ = 0;  // ranks that have not started, work requests on their way, running computations
  std::uint32_t ended_count_ = 0;
  std::uint64_t matched_ = 0, matched_bytes_ = 0;
  Instant finish_{};
  std::optional<Failure> failure_;
};

}  // namespace verbatim::workload
