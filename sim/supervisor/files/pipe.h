// Pipes and named pipes: at most 16 pages of 4096 bytes by default, filled as in Linux. A write of at most
// one page is atomic (PIPE_BUF). A write without readers fails with EPIPE; a read without data and writers
// returns end of file.
#pragma once

#include <fcntl.h>

#include <deque>
#include <memory>
#include <vector>

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class PipeEnd;

class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  static constexpr std::size_t kPage = 4096;

  // An end for reading, writing, or (named pipes only) both.
  std::shared_ptr<PipeEnd> open(int access_mode);

  IoResult read(std::size_t limit, std::vector<std::byte>& bytes);
  IoResult write(std::span<const std::byte> bytes);
  // Appends the next bytes, at most `limit`, which stay.
  void peek(std::size_t limit, std::vector<std::byte>& bytes) const;
  // Removes as many of the next bytes.
  void drop(std::size_t count);
  std::size_t size() const;
  // A write of so many bytes needs no wait.
  std::size_t room() const { return pages_.size() >= pages_max_ ? 0 : (pages_max_ - pages_.size()) * kPage; }
  std::size_t capacity() const { return pages_max_ * kPage; }
  // F_SETPIPE_SZ: the new capacity in bytes, or -errno.
  int resize(std::size_t bytes);
  bool full() const { return pages_.size() >= pages_max_; }

  int readers = 0, writers = 0;
  // Ends ever opened: opening a named pipe waits for a further one of the other kind.
  std::uint64_t readers_ever = 0, writers_ever = 0;
  // Notifies the reading ends (O_RDONLY), the writing ends (O_WRONLY) or all: they may have become more
  // ready.
  void notify_ends(int access_mode = O_RDWR);

 private:
  friend class PipeEnd;
  struct Page {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
  };
  std::deque<Page> pages_;
  std::size_t pages_max_ = 16;
  std::vector<PipeEnd*> ends_;
};

class PipeEnd final : public VirtualFile {
 public:
  PipeEnd(std::shared_ptr<Pipe> pipe, int access_mode);
  ~PipeEnd() override;

  std::uint32_t readiness() const override;
  std::string describe() const override { return reads() ? "pipe" : "full pipe"; }
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override {
    return pipe_->read(limit, bytes);
  }
  IoResult write(std::span<const std::byte> bytes) override { return pipe_->write(bytes); }
  int access_mode() const override { return access_mode_; }
  std::uint32_t mode() const override;
  Pipe& pipe() { return *pipe_; }
  Pipe* as_pipe() override { return pipe_.get(); }
  std::optional<std::size_t> queued_input() const override { return pipe_->size(); }
  IoResult read_async(std::uint64_t, std::size_t limit, std::vector<std::byte>& bytes) override {
    return read(limit, bytes);
  }
  bool supports_signals() const override { return true; }
  void changed() { notify(); }

 protected:
  void on_last_close() override;

 private:
  bool reads() const;
  bool writes() const;

  std::shared_ptr<Pipe> pipe_;
  int access_mode_;
  bool closed_ = false;
};

}  // namespace verbatim::supervisor
