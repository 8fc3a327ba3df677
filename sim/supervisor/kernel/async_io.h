// An asynchronous I/O context (io_setup(2)): completion events, polls that wait for a file, and requests on
// real files that the runtime executes.
//
// Transfers complete before io_submit returns, as Linux does when it cannot defer them. Events are in
// completion order.
#pragma once

#include <linux/aio_abi.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/net/socket.h"

namespace verbatim::supervisor {

// Request data that its completion event carries.
struct AsyncOrigin {
  std::uint64_t data = 0;     // io_event.data
  std::uint64_t address = 0;  // address of the iocb: io_event.obj
  VirtualFilePtr notified;    // eventfd of IOCB_FLAG_RESFD, or nullptr
};

class AsyncContext final : public VirtualFile {
 public:
  // `requests`: nr_events of io_setup(2).
  AsyncContext(Engine& engine, ComponentId source, std::uint32_t requests);
  ~AsyncContext() override;

  std::uint32_t readiness() const override { return events_.empty() ? 0 : POLLIN; }
  std::string describe() const override { return "asynchronous input and output"; }

  // Number of further requests that fit.
  std::size_t room() const;
  std::size_t capacity() const { return capacity_; }
  void complete(const AsyncOrigin& origin, std::int64_t result);
  // Completes when the file has one of `events`. The file stays open until then.
  void add_poll(const AsyncOrigin& origin, const VirtualFilePtr& file, std::uint32_t events);
  // Cancels the poll of the iocb at `address`. False: there is none.
  bool cancel_poll(std::uint64_t address);
  // A request on a real file: given to the runtime by thread `tid`, and taken back in the same order.
  void hand_out(std::uint32_t tid, AsyncOrigin origin);
  std::optional<AsyncOrigin> take_back(std::uint32_t tid);

  const std::deque<io_event>& events() const { return events_; }
  void drop_events(std::size_t count);

  // io_destroy(2): drops everything and wakes threads that wait for events.
  void end();
  bool ended() const { return ended_; }

 private:
  class Poll;
  struct HandedOut {
    std::uint32_t tid;
    AsyncOrigin origin;
  };
  void release_polls();

  std::size_t capacity_;
  bool ended_ = false;
  std::deque<io_event> events_;
  std::vector<std::unique_ptr<Poll>> polls_;
  std::vector<HandedOut> handed_out_;
  Timer release_;  // destroys finished polls outside the notification in which they finish
};

}  // namespace verbatim::supervisor
