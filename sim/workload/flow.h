// One flow: a number of bytes from one adapter to another, from a start time on, cut into messages that one
// or several queue pairs send. The next message goes to a queue pair with room for a request; the last one
// may be shorter. READs are posted by the adapter that receives the bytes, as by the client of ib_read_bw.
//
// A flow finishes when its last completion is in the memory of the posting adapter's host, where a program
// could poll it.
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
  std::uint64_t bytes = 1;                // 0: endless
  Instant start{};                        // kNever: started by start_now()
  std::uint32_t message_bytes = 1 << 20;  // 1 to max_message_bytes of both adapters
  std::uint32_t queue_pairs = 1;          // at least 1
  std::uint32_t depth = 128;              // maximum number of outstanding requests of a queue pair; at least 1
  hca::SourceWork::Operation operation = hca::SourceWork::Operation::kWrite;
  Duration on{0}, off{0};      // posts requests for `on`, pauses for `off`, and so on; off 0: never pauses
  bool is_background = false;  // the run may end before it
  Duration delay{0};           // from start_now() to the first doorbell
  Trigger* on_sent = nullptr;  // fired when the last byte is acknowledged
  Trigger* on_received = nullptr;  // fired when the last byte is in the receiver's memory; SEND only
};

// Paths between the two ends; the flow sets peers and PSNs.
struct FlowPaths {
  hca::SourcePath there, back;
};

class Flow;

// Notified in the event in which a flow posts its first requests, and in the one in which it is done.
class FlowListener {
 public:
  virtual void on_flow_started(const Flow& flow) = 0;
  virtual void on_flow_ended(const Flow& flow) = 0;

 protected:
  ~FlowListener() = default;
};

// Shared by all flows of a run.
struct FlowAccount {
  std::size_t unfinished = 0;  // flows that are not done and not in the background, and message graphs
  FlowListener* listener = nullptr;
};

class Flow final : public hca::WorkSource {
 public:
  // To be constructed before the first event. The adapters and the account must outlive the flow's last
  // event, and the flow the adapters' last event. Requests are posted at `from`: READs transfer the bytes
  // from `to`.
  Flow(Engine& engine, hca::Endpoint& from, hca::Endpoint& to, const FlowPaths& paths,
       const FlowParams& params, FlowAccount& account);

  const FlowParams& params() const { return params_; }
  // QP numbers at the posting adapter and at its peer.
  struct Ends {
    std::uint32_t from = 0, to = 0;
  };
  std::vector<Ends> ends() const;
  bool is_endless() const { return params_.bytes == 0; }
  // Starts a flow whose start is kNever: its first doorbell follows after its delay. Later calls have no
  // effect.
  void start_now();
  // kNever: not known yet.
  Instant start() const { return start_time_; }
  // Whether everything is acknowledged, or the flow has failed and nothing is outstanding.
  bool is_done() const {
    return status_ != ib::WcStatus::kSuccess ? outstanding_ == 0
                                             : !is_endless() && acknowledged_ == params_.bytes;
  }
  // kSuccess, or the error that ended the flow.
  ib::WcStatus status() const { return status_; }
  std::uint64_t acknowledged() const { return acknowledged_; }  // bytes of completed requests
  // Time at which it was done; kNever: it is not.
  Instant finish() const { return finish_; }

 private:
  struct QueuePair {
    hca::SourceEnd end;
    Ring<std::uint32_t> lengths;  // of outstanding messages
    std::uint32_t made = 0;       // how many of them the adapter has taken
    std::uint32_t peer = 0;       // QP number of the peer
  };
  // The end that posts no requests.
  struct Receiver final : hca::WorkSource {
    explicit Receiver(const FlowParams& of) : params(of) {}
    hca::SourceWork next_work(std::uint32_t) override { CHECK(false); }
    void on_completed(std::uint32_t, ib::WcStatus) override { CHECK(false); }
    void on_received(std::uint32_t, std::uint32_t bytes) override {
      received += bytes;
      if (received == params.bytes && params.on_received != nullptr) params.on_received->fire();
    }
    void on_adapter_failed(std::uint32_t) override {}  // the sender's retries detect it
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
  std::uint64_t acknowledged_ = 0;  // bytes
  std::uint64_t outstanding_ = 0;   // messages
  ib::WcStatus status_ = ib::WcStatus::kSuccess;
  Instant start_time_;
  Instant finish_ = kNever;
  bool is_paused_ = false;
  Timer start_, turn_;
};

}  // namespace verbatim::workload
