// POSIX message queues (mq_overview(7)) of one host, with the default limits of Linux (trees/kernel_tree.cc
// shows them).
//
// A message for a queue with a waiting receiver is handed to it, and a receiver that makes room stores the
// message of a waiting sender. Threads are therefore served in the order in which they began to wait.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/net/netlink_socket.h"
#include "sim/supervisor/spec/credentials.h"

namespace verbatim::supervisor {

class QueueFile;
class Thread;

struct QueuedMessage {
  std::uint32_t priority = 0;
  std::vector<std::byte> bytes;
};

// A blocked mq_timedsend or mq_timedreceive, which its thread's call owns. The thread waits for this file.
class QueueWait final : public VirtualFile {
 public:
  QueueWait(const Thread& its_thread, std::string queue, QueuedMessage its_message = {})
      : thread(its_thread), message(std::move(its_message)), queue_(std::move(queue)) {}

  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return queue_; }

  const Thread& thread;
  QueuedMessage message;  // to send, or received
  bool is_done() const { return is_done_; }
  void finish() {
    is_done_ = true;
    notify();
  }

 private:
  const std::string queue_;
  bool is_done_ = false;
};

class PosixQueue {
 public:
  static constexpr std::size_t kMostQueues = 256;  // fs.mqueue.queues_max
  static constexpr std::int64_t kMostMessages = 10,
                                kLargestMessage = 8192;  // msg_max, msgsize_max; also the defaults
  static constexpr std::int64_t kHardMessages = 65'536, kHardMessage = 16 << 20;  // with CAP_SYS_RESOURCE
  static constexpr std::uint32_t kPriorities = 32'768;                            // MQ_PRIO_MAX

  // Queues that exist, also without a name, and the bytes that those of each user count for RLIMIT_MSGQUEUE.
  struct Account {
    std::size_t queues = 0;
    std::map<UserId, std::uint64_t> bytes;
  };

  // Bytes that a queue counts for RLIMIT_MSGQUEUE.
  static std::uint64_t counted_bytes(std::int64_t messages, std::int64_t largest);

  PosixQueue(std::string name, std::uint32_t mode, const Credentials& maker, std::int64_t messages,
             std::int64_t largest, std::shared_ptr<Account> account);
  ~PosixQueue();
  PosixQueue(const PosixQueue&) = delete;
  PosixQueue& operator=(const PosixQueue&) = delete;

  const std::string name;            // without the slash
  const std::uint32_t mode;          // nine bits, and set-id bits
  const UserId owner, group, payer;  // payer: real user of the maker
  const std::int64_t most, largest;

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return bytes_; }
  bool is_full() const { return static_cast<std::int64_t>(size_) == most; }
  std::string describe() const { return "message queue /" + name; }

  // The queue is not full. Returns true if the message was stored in a queue that was empty.
  bool put(QueuedMessage message);
  // The oldest of the messages with the highest priority; the queue is not empty.
  QueuedMessage take();
  // The thread's call waits until finish().
  void await_message(const std::shared_ptr<QueueWait>& wait) { receivers_.push_back(wait); }
  void await_room(const std::shared_ptr<QueueWait>& wait) { senders_.push_back(wait); }

  // The process that mq_notify(3) has registered.
  struct Registration {
    std::uint32_t pid;
    int kind;  // SIGEV_SIGNAL, SIGEV_NONE or SIGEV_THREAD
    int signal = 0;
    std::uint64_t value = 0;
    std::shared_ptr<NetlinkSocket>
        socket{};  // SIGEV_THREAD: receives `cookie`, whose last byte is the reason
    std::vector<std::byte> cookie{};
  };
  static constexpr std::size_t kCookieBytes = 32;  // NOTIFY_COOKIE_LEN
  const std::optional<Registration>& registration() const { return registration_; }
  void register_process(Registration registration) { registration_ = std::move(registration); }
  // A message has arrived: ends the registration and returns it. SIGEV_THREAD is already notified.
  std::optional<Registration> take_registration() { return end_registration(kWokenUp); }
  // The process closes a descriptor of the queue, or cancels the registration.
  void unregister(std::uint32_t pid);

 private:
  friend class QueueFile;
  enum Reason : std::uint8_t { kWokenUp = 1, kRemoved = 2 };  // NOTIFY_WOKENUP, NOTIFY_REMOVED

  std::optional<Registration> end_registration(Reason reason);
  void store(QueuedMessage message);
  void report_change();

  std::map<std::uint32_t, std::deque<std::vector<std::byte>>, std::greater<>> messages_;  // by priority
  std::size_t size_ = 0, bytes_ = 0;
  std::deque<std::weak_ptr<QueueWait>> senders_, receivers_;
  std::vector<QueueFile*> files_;  // in the order of their openings
  std::optional<Registration> registration_;
  std::shared_ptr<Account> account_;
};

// An open file description of a queue.
class QueueFile final : public VirtualFile {
 public:
  QueueFile(std::shared_ptr<PosixQueue> queue, int access_mode);
  ~QueueFile() override;

  PosixQueue& queue() const { return *queue_; }

  std::uint32_t readiness() const override;
  std::string describe() const override { return queue_->describe(); }
  // The state of the queue as text.
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  std::int64_t seek(std::int64_t offset, int whence) override;
  void on_close_by(std::uint32_t pid) override { queue_->unregister(pid); }
  std::string link_text() const override { return "/" + queue_->name; }
  int access_mode() const override { return access_mode_; }
  std::uint32_t mode() const override { return S_IFREG | queue_->mode; }
  void changed() { notify(); }

 private:
  static constexpr std::int64_t kStatedSize = 80;  // FILENT_SIZE

  const std::shared_ptr<PosixQueue> queue_;
  const int access_mode_;
  std::size_t position_ = 0;
};

// The queues of a host that have a name.
struct PosixQueues {
  std::map<std::string, std::shared_ptr<PosixQueue>> by_name;
  std::shared_ptr<PosixQueue::Account> account = std::make_shared<PosixQueue::Account>();
};

}  // namespace verbatim::supervisor
