#include "sim/supervisor/files/pipe.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace verbatim::supervisor {

std::shared_ptr<PipeEnd> Pipe::open(int access_mode) {
  return std::make_shared<PipeEnd>(shared_from_this(), access_mode);
}

std::size_t Pipe::size() const {
  std::size_t n = 0;
  for (const Page& page : pages_) n += page.bytes.size() - page.taken;
  return n;
}

IoResult Pipe::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (pages_.empty()) {
    if (limit == 0 || writers == 0) return 0;
    return std::nullopt;
  }
  peek(limit, bytes);
  drop(bytes.size());
  return static_cast<std::int64_t>(bytes.size());
}

void Pipe::peek(std::size_t limit, std::vector<std::byte>& bytes) const {
  for (const Page& page : pages_) {
    const std::size_t n = std::min(limit - bytes.size(), page.bytes.size() - page.taken);
    const auto from = page.bytes.begin() + static_cast<std::ptrdiff_t>(page.taken);
    bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(n));
    if (bytes.size() == limit) break;
  }
}

void Pipe::drop(std::size_t count) {
  while (count > 0) {
    Page& page = pages_.front();
    const std::size_t n = std::min(count, page.bytes.size() - page.taken);
    page.taken += n;
    count -= n;
    if (page.taken == page.bytes.size()) pages_.pop_front();
  }
  notify_ends(O_WRONLY);
}

IoResult Pipe::write(std::span<const std::byte> bytes) {
  if (readers == 0) return -EPIPE;
  if (bytes.empty()) return 0;
  const std::size_t all = bytes.size();
  // The remainder modulo the page size is appended to the last page if it fits there.
  const std::size_t rest = bytes.size() % kPage;
  const auto append = [&](std::size_t n) {
    pages_.back().bytes.insert(pages_.back().bytes.end(), bytes.begin(),
                               bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
  };
  if (rest > 0 && !pages_.empty() && pages_.back().bytes.size() + rest <= kPage) append(rest);
  while (!bytes.empty() && !full()) {
    pages_.emplace_back();
    append(std::min(bytes.size(), kPage));
  }
  if (bytes.size() == all) return std::nullopt;
  notify_ends(O_RDONLY);
  return static_cast<std::int64_t>(all - bytes.size());
}

int Pipe::resize(std::size_t bytes) {
  constexpr std::size_t kLargest = 1 << 20;  // /proc/sys/fs/pipe-max-size
  if (bytes > std::size_t{1} << 31) return -EINVAL;
  if (bytes > kLargest) return -EPERM;
  std::size_t pages = 1;
  while (pages * kPage < bytes) pages *= 2;
  if (pages < pages_.size()) return -EBUSY;
  pages_max_ = pages;
  notify_ends();
  return static_cast<int>(capacity());
}

void Pipe::notify_ends(int access_mode) {
  for (PipeEnd* end : ends_) {
    const int own = static_cast<const VirtualFile*>(end)->access_mode();
    if (access_mode == O_RDWR || own == O_RDWR || own == access_mode) end->changed();
  }
}

PipeEnd::PipeEnd(std::shared_ptr<Pipe> pipe, int access_mode)
    : pipe_(std::move(pipe)), access_mode_(access_mode) {
  pipe_->ends_.push_back(this);
  if (reads()) ++pipe_->readers, ++pipe_->readers_ever;
  if (writes()) ++pipe_->writers, ++pipe_->writers_ever;
  pipe_->notify_ends();
}

PipeEnd::~PipeEnd() { on_last_close(); }

bool PipeEnd::reads() const { return access_mode_ != O_WRONLY; }
bool PipeEnd::writes() const { return access_mode_ != O_RDONLY; }

std::uint32_t PipeEnd::mode() const { return S_IFIFO | 0600; }

std::uint32_t PipeEnd::readiness() const {
  std::uint32_t events = 0;
  if (reads() && pipe_->size() > 0) events |= POLLIN | POLLRDNORM;
  if (reads() && !writes() && pipe_->writers == 0 && pipe_->writers_ever > 0) events |= POLLHUP;
  if (writes() && !pipe_->full()) events |= POLLOUT | POLLWRNORM;
  if (writes() && pipe_->readers == 0) events |= POLLERR;
  return events;
}

void PipeEnd::on_last_close() {
  if (closed_) return;
  closed_ = true;
  std::erase(pipe_->ends_, this);
  if (reads()) --pipe_->readers;
  if (writes()) --pipe_->writers;
  pipe_->notify_ends();
}

}  // namespace verbatim::supervisor
