#include "sim/supervisor/kernel/posix_queue.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

namespace {

// The first wait whose call has not ended, removed from the list; nullptr: none.
std::shared_ptr<QueueWait> first_of(std::deque<std::weak_ptr<QueueWait>>& waits) {
  while (!waits.empty()) {
    std::shared_ptr<QueueWait> first = waits.front().lock();
    waits.pop_front();
    if (first != nullptr && first->thread.state() != Thread::State::kDead) return first;
  }
  return nullptr;
}

}  // namespace

std::uint64_t PosixQueue::counted_bytes(std::int64_t messages, std::int64_t largest) {
  constexpr std::uint64_t kMessage = 48, kNode = 48;  // struct msg_msg, struct posix_msg_tree_node
  const auto most = static_cast<std::uint64_t>(messages);
  return most * (kMessage + static_cast<std::uint64_t>(largest)) +
         std::min<std::uint64_t>(most, kPriorities) * kNode;
}

PosixQueue::PosixQueue(std::string its_name, std::uint32_t its_mode, const Credentials& maker,
                       std::int64_t messages, std::int64_t its_largest, std::shared_ptr<Account> account)
    : name(std::move(its_name)),
      mode(its_mode & 07777),
      owner(maker.users().file_system),
      group(maker.groups().file_system),
      payer(maker.users().real),
      most(messages),
      largest(its_largest),
      account_(std::move(account)) {
  ++account_->queues;
  account_->bytes[payer] += counted_bytes(most, largest);
}

PosixQueue::~PosixQueue() {
  --account_->queues;
  account_->bytes[payer] -= counted_bytes(most, largest);
}

void PosixQueue::store(QueuedMessage message) {
  ++size_;
  bytes_ += message.bytes.size();
  messages_[message.priority].push_back(std::move(message.bytes));
}

bool PosixQueue::put(QueuedMessage message) {
  if (const auto receiver = first_of(receivers_)) {
    receiver->message = std::move(message);
    receiver->finish();
    return false;
  }
  store(std::move(message));
  report_change();
  return size_ == 1;
}

QueuedMessage PosixQueue::take() {
  const auto first = messages_.begin();
  QueuedMessage message{first->first, std::move(first->second.front())};
  first->second.pop_front();
  if (first->second.empty()) messages_.erase(first);
  --size_;
  bytes_ -= message.bytes.size();
  if (const auto sender = first_of(senders_)) {
    store(std::move(sender->message));
    sender->finish();
  } else {
    report_change();
  }
  return message;
}

void PosixQueue::report_change() {
  for (QueueFile* const file : files_) file->changed();
}

void PosixQueue::unregister(std::uint32_t pid) {
  if (registration_ && registration_->pid == pid) end_registration(kRemoved);
}

std::optional<PosixQueue::Registration> PosixQueue::end_registration(Reason reason) {
  auto ended = std::exchange(registration_, std::nullopt);
  if (ended && ended->kind == SIGEV_THREAD) {
    ended->cookie.back() = std::byte{reason};
    ended->socket->deliver(ended->cookie);
  }
  return ended;
}

QueueFile::QueueFile(std::shared_ptr<PosixQueue> queue, int access_mode)
    : queue_(std::move(queue)), access_mode_(access_mode) {
  queue_->files_.push_back(this);
}

QueueFile::~QueueFile() { std::erase(queue_->files_, this); }

std::uint32_t QueueFile::readiness() const {
  return (queue_->size() > 0 ? POLLIN | POLLRDNORM : 0u) | (queue_->is_full() ? 0u : POLLOUT | POLLWRNORM);
}

IoResult QueueFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  const auto& registered = queue_->registration();
  const std::string text =
      fmt::format("QSIZE:{:<10} NOTIFY:{:<5} SIGNO:{:<5} NOTIFY_PID:{:<6}\n", queue_->bytes(),
                  registered ? registered->kind : 0,
                  registered && registered->kind == SIGEV_SIGNAL ? registered->signal : 0,
                  registered ? registered->pid : 0);
  const std::size_t begin = std::min(position_, text.size()), length = std::min(limit, text.size() - begin);
  const auto all = std::as_bytes(std::span(text)).subspan(begin, length);
  bytes.insert(bytes.end(), all.begin(), all.end());
  position_ = begin + length;
  return static_cast<std::int64_t>(length);
}

std::int64_t QueueFile::seek(std::int64_t offset, int whence) {
  if (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) return -EINVAL;
  const std::int64_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_END ? kStatedSize
                                                 : static_cast<std::int64_t>(position_);
  if (offset < -base || offset > INT64_MAX - base) return -EINVAL;
  position_ = static_cast<std::size_t>(base + offset);
  return base + offset;
}

}  // namespace verbatim::supervisor
