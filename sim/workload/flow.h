// One flow: so many bytes from one adapter to another, from a start time on, cut into messages that one or
// several queue pairs send. A message goes to whichever queue pair has room for a request; the last one may
// be shorter. READs are posted by the adapter that the bytes go to, as by the client of ib_read_bw.
//
// A flow finishes when its last completion is in the memory of the adapter that posts: a program that waits
// for its completions would know then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/hca/endpoint.h"
#include "sim/workload/trigger.h"

namespace verbatim::workload {

struct FlowParams {
  std::uint64_t bytes = 1;                // 0: without end
  Instant start{};                        // kNever: start_now() starts it
  std::uint32_t message_bytes = 1 << 20;  // 1 to max_message_bytes of both adapters
  std::uint32_t queue_pairs = 1;          // at least 1
  std::uint32_t depth =
      128;  // requests of a queue pair that are posted and not completed, at most; at least 1
  hca::SourceWork::Operation operation = hca::SourceWork::Operation::kWrite;
  Duration on{0},
      off{0};  // it posts requests for `on`, then none for `off`, and so on; off 0: it never rests
  bool is_background = false;  // nobody waits for it
  Duration delay{0};           // from start_now() to the first doorbell
  Trigger* on_sent = nullptr;  // fired when the last byte is acknowledged
  Trigger* on_received =
      nullptr;  // fired when the last byte is in the receiver's memory; the operation is SEND
};

// How the two ends reach each other; peers and PSNs are the flow's.
struct FlowPaths {
  hca::SourcePath there, back;
};

class Flow;

// Is called in the events in which a flow begins to post, and is done.
class FlowListener {
 public:
  virtual void on_flow_started(const Flow& flow) = 0;
  virtual void on_flow_ended(const Flow& flow) = 0;

 protected:
  ~FlowListener() = default;
};

// Shared by all flows of a run.
struct FlowAccount {
  std::size_t unfinished = 0;  // those that are not done and not in the background, and message graphs
  FlowListener* listener = nullptr;
};

class Flow final : public hca::WorkSource {
 public:
  // Before the first event. The adapters and the account outlive the flow's last event, and the flow that of the adapters. The
  // flow posts its requests at `from`: READs bring the bytes from `to`.
  Flow(Engine& engine, hca::Endpoint& from, hca::Endpoint& to, const FlowPaths& paths,
       const FlowParams& params, FlowAccount& account);

  const FlowParams& params() const { return params_; }
  // Numbers of a queue pair at the adapter that posts and at its peer.
  struct Ends {
    std::uint32_t from = 0, to = 0;
  };
  std::vector<Ends> ends() const;
  bool is_endless() const { return params_.bytes == 0; }
  // Starts a flow whose start is kNever: its first doorbell follows after its delay. Later calls change
  // nothing.
  void start_now();
  // kNever: not yet known.
  Instant start() const { return start_time_; }
  // Everything is acknowledged, or nothing more can be.
  bool is_done() const {
    return status_ != ib::WcStatus::kSuccess ? outstanding_ == 0
                                             : !is_endless() && acknowledged_ == params_.bytes;
  }
  // kSuccess, or why the flow has failed.
  ib::WcStatus status() const { return status_; }
  std::uint64_t acknowledged() const { return acknowledged_; }  // bytes of completed requests
  // When it was done; kNever: it is not.
  Instant finish() const { return finish_; }

 private:
  struct QueuePair {
    hca::SourceEnd end;
    Ring<std::uint32_t> lengths;  // of the messages that are posted and not completed
    std::uint32_t made = 0;       // of them: the adapter has taken the request
    std::uint32_t peer = 0;       // the number at the peer
  };
  // The end that posts nothing.
  struct Receiver final : hca::WorkSource {
    explicit Receiver(const FlowParams& of) : params(of) {}
    hca::SourceWork next_work(std::uint32_t) override { CHECK(false); }
    void on_completed(std::uint32_t, ib::WcStatus) override { CHECK(false); }
    void on_received(std::uint32_t, std::uint32_t bytes) override {
      received += bytes;
      if (received == params.bytes && params.on_received != nullptr) params.on_received->fire();
    }
    void on_adapter_failed(std::uint32_t) override {}  // the sender's retries find out
    const FlowParams& params;
    std::uint64_t received = 0;  // bytes
  };

  void on_start();
  void on_turn();
  void post_all();
  std::uint32_t depth() const;
  void post(QueuePair& qp, std::uint32_t count);
  // Rounded up.
  std::uint64_t messages_in(std::uint64_t bytes) const {
    return bytes / params_.message_bytes + (bytes % params_.message_bytes != 0);
  }
  QueuePair& queue_pair(std::uint32_t qpn);
  void note_end();
  hca::SourceWork next_work(std::uint32_t qpn) override;
  void on_completed(std::uint32_t qpn, ib::WcStatus status) override;
  void on_adapter_failed(std::uint32_t qpn) override;

  Engine& engine_;
  hca::Endpoint& from_;
  const FlowParams params_;
  FlowAccount& account_;
  Receiver receiver_;
  std::vector<QueuePair> queue_pairs_;
  std::uint64_t unposted_;          // bytes
  std::uint64_t acknowledged_ = 0;  // likewise
  std::uint64_t outstanding_ = 0;   // messages
  ib::WcStatus status_ = ib::WcStatus::kSuccess;
  Instant start_time_;
  Instant finish_ = kNever;
  bool rests_ = false;
  Timer start_, turn_;
};

}  // namespace verbatim::workload
