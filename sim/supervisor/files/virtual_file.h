// What a virtual descriptor refers to: an open file description of the simulated kernel. Shared by the
// descriptors that were duplicated from one another.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// Who waits for files: a thread of a program.
class Waiter {
 public:
  // What it waits for may be there. `by_adapter_event`: an event of an adapter says so.
  virtual void wake(bool by_adapter_event = false) = 0;

 protected:
  ~Waiter() = default;
};

// Result of an operation that may have to wait: nothing yet, or a value (-errno on failure).
using IoResult = std::optional<std::int64_t>;

class VirtualFile {
 public:
  virtual ~VirtualFile();

  // POLLIN, POLLOUT, POLLHUP, POLLERR, POLLRDHUP as poll(2) would report now.
  virtual std::uint32_t readiness() const = 0;
  // One phrase for messages about blocked threads, for example "completion channel".
  virtual std::string describe() const = 0;

  // At most `limit` bytes into `bytes`; 0 is end of file.
  virtual IoResult read(std::size_t limit, std::vector<std::byte>& bytes);
  virtual IoResult write(std::span<const std::byte> bytes);
  // A descriptor was duplicated or closed; the last close ends what the file stands for.
  void add_descriptor() { ++descriptors_; }
  void drop_descriptor();

  bool nonblocking() const { return nonblocking_; }
  void set_nonblocking(bool on) { nonblocking_ = on; }
  // Whether what is done with it may be noticed outside of the host at the same instant: by an adapter, by who sees what the
  // run puts out.
  virtual bool reaches_beyond_host() const { return false; }
  // Access mode as fcntl(F_GETFL) tells it.
  virtual int access_mode() const;
  // st_mode as fstat(2) tells it.
  virtual std::uint32_t mode() const;
  // st_ino: given at the first question, 0 before.
  std::uint64_t number() const { return number_; }
  void set_number(std::uint64_t number) { number_ = number; }
  // st_rdev of a character device, 0: it is none.
  std::uint64_t device() const { return device_; }
  void set_device(std::uint64_t device) { device_ = device; }
  // How long a read or write waits at most (SO_RCVTIMEO, SO_SNDTIMEO); zero: for ever.
  Duration read_timeout{}, write_timeout{};

  // Who is blocked on this file, in the order in which they blocked.
  void add_waiter(Waiter& waiter);
  void remove_waiter(Waiter& waiter);
  // Somebody who is told of every change for as long as the file is open, whoever waits: once at most.
  const std::shared_ptr<Waiter>& follower() const { return follower_; }
  void set_follower(std::shared_ptr<Waiter> follower) { follower_ = std::move(follower); }
  // Changes whenever the file has become more ready; edge-triggered epoll compares it.
  std::uint64_t generation() const { return generation_; }
  // Who waits for changes takes what is there for something new.
  void tell_again() { notify(); }

 protected:
  virtual void on_last_close() {}
  // Whether a thread that waits here goes on when another one closes the last descriptor.
  virtual bool ends_waits_at_close() const { return true; }
  // What becomes readable is an event of an adapter: who sleeps for it runs after the profile's event_wake_up.
  virtual bool tells_adapter_events() const { return false; }
  // Something about the file's readiness has changed: those who wait try again.
  void notify();

 private:
  std::vector<Waiter*> waiters_;
  std::shared_ptr<Waiter> follower_;
  std::uint64_t generation_ = 0;
  int descriptors_ = 0;
  bool nonblocking_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t device_ = 0;
};

using VirtualFilePtr = std::shared_ptr<VirtualFile>;

// The virtual descriptors of the process with this virtual pid.
struct DescriptorTable {
  std::uint32_t pid;
  const std::map<int, VirtualFilePtr>& files;
};

// stdout or stderr of a program: every write is complete at once.
class OutputFile final : public VirtualFile {
 public:
  explicit OutputFile(int stream) : stream_(stream) {}
  int stream() const { return stream_; }  // 1 or 2
  std::uint32_t readiness() const override { return POLLOUT; }
  std::string describe() const override { return stream_ == 1 ? "stdout" : "stderr"; }
  bool reaches_beyond_host() const override { return true; }
  int access_mode() const override;
  std::uint32_t mode() const override;

 private:
  int stream_;
};

}  // namespace verbatim::supervisor
