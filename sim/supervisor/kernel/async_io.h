// A context of Linux' asynchronous input and output (io_setup(2)): events that wait to be fetched, and
// requests that are not done: those that wait until a file is ready, and those for real files that the
// runtime is carrying out.
//
// A transfer is done before io_submit returns, as Linux does where it may not put it off; events come in the
// order in which requests were done.
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

// What an event tells of its request.
struct AsyncOrigin {
  std::uint64_t data = 0;     // aio_data
  std::uint64_t address = 0;  // of the iocb
  VirtualFilePtr notified;    // eventfd, or none
};

class AsyncContext final : public VirtualFile {
 public:
  // For `requests` at once, as io_setup was asked for.
  AsyncContext(Engine& engine, ComponentId source, std::uint32_t requests);
  ~AsyncContext() override;

  std::uint32_t readiness() const override { return events_.empty() ? 0 : POLLIN; }
  std::string describe() const override { return "asynchronous input and output"; }

  // How many more requests there is room for.
  std::size_t room() const;
  std::size_t capacity() const { return capacity_; }
  void complete(const AsyncOrigin& origin, std::int64_t result);
  // Until one of `events` is there. The file stays open as long.
  void add_poll(const AsyncOrigin& origin, const VirtualFilePtr& file, std::uint32_t events);
  // Of the poll whose request lies there. False: there is none.
  bool cancel_poll(std::uint64_t address);
  // Handed to the runtime by thread `tid`, and back.
  void hand_out(std::uint32_t tid, AsyncOrigin origin);
  std::optional<AsyncOrigin> take_back(std::uint32_t tid);

  const std::deque<io_event>& events() const { return events_; }
  void drop_events(std::size_t count);

  // io_destroy: who waits for events is told.
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
  Timer release_;  // polls that are done: their files go when nobody is being told of a change
};

}  // namespace verbatim::supervisor
