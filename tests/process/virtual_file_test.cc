// Operations of open files by kind, and the answers of files that lack an operation:
// sim/supervisor/files/virtual_file.h.
#include "sim/supervisor/files/virtual_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/files/epoll_file.h"
#include "sim/supervisor/files/pipe.h"

namespace verbatim::supervisor {
namespace {

// A file with none of the operations.
class PlainFile final : public VirtualFile {
 public:
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "plain"; }
  void change() { notify(); }
  int closes = 0;

 protected:
  void on_last_close() override { ++closes; }
};

struct CountingWaiter final : Waiter {
  void wake(bool) override { ++wakes; }
  int wakes = 0;
};

using Bytes = std::vector<std::byte>;

TEST(VirtualFile, without_an_operation_gives_the_errno_of_linux) {
  PlainFile file;
  Bytes bytes;
  EXPECT_EQ(file.read(8, bytes), IoResult(-EINVAL));
  EXPECT_EQ(file.write(bytes), IoResult(-EINVAL));
  EXPECT_EQ(file.read_async(0, 8, bytes), IoResult(-EINVAL));
  EXPECT_EQ(file.seek(0, SEEK_SET), -ESPIPE);
  EXPECT_EQ(file.read_at(0, 8, bytes), -ESPIPE);
  EXPECT_EQ(file.entries(8, bytes), -ENOTDIR);
  EXPECT_EQ(file.queued_input(), std::nullopt) << "FIONREAD: ENOTTY";
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(file.output_stream(), 0);
  EXPECT_FALSE(file.keeps_boundaries() || file.takes_commands() || file.supports_signals());
  EXPECT_EQ(file.tree_path(), "");
  EXPECT_EQ(file.link_text(), "");
  EXPECT_EQ(file.access_mode(), O_RDWR);
}

TEST(VirtualFile, is_of_at_most_one_kind) {
  const auto pipe = std::make_shared<Pipe>();
  const std::shared_ptr<VirtualFile> plain = std::make_shared<PlainFile>(), end = pipe->open(O_RDONLY),
                                     epoll = std::make_shared<EpollFile>();
  EXPECT_EQ(end->as_pipe(), pipe.get());
  EXPECT_EQ(epoll->as_epoll(), epoll.get());
  for (const auto& file : {plain, end, epoll}) {
    EXPECT_EQ(file->as_pipe() != nullptr, file == end) << file->describe();
    EXPECT_EQ(file->as_epoll() != nullptr, file == epoll) << file->describe();
    EXPECT_EQ(file->as_rdma_cm(), nullptr) << file->describe();
    EXPECT_EQ(file->as_signal_file(), nullptr) << file->describe();
    EXPECT_EQ(file->as_tcp_socket(), nullptr) << file->describe();
    EXPECT_EQ(file->as_terminal(), nullptr) << file->describe();
    EXPECT_EQ(file->as_terminal_master(), nullptr) << file->describe();
  }
}

TEST(VirtualFile, ends_with_its_last_descriptor) {
  PlainFile file;
  CountingWaiter waiter;
  file.wait_queue.add(waiter);
  file.add_descriptor();
  file.add_descriptor();
  file.drop_descriptor();
  EXPECT_EQ(file.closes, 0);
  EXPECT_EQ(waiter.wakes, 0);
  file.drop_descriptor();
  EXPECT_EQ(file.closes, 1);
  EXPECT_EQ(waiter.wakes, 1) << "the last close wakes threads that wait";
  file.wait_queue.remove(waiter);
}

TEST(VirtualFile, wakes_each_waiter_once_for_a_change) {
  PlainFile file;
  CountingWaiter waiter;
  file.wait_queue.add(waiter);
  file.wait_queue.add(waiter);
  const std::uint64_t before = file.wait_queue.generation();
  file.change();
  EXPECT_EQ(waiter.wakes, 1) << "added twice";
  EXPECT_EQ(file.wait_queue.generation(), before + 1);
  file.wait_queue.remove(waiter);
  file.change();
  EXPECT_EQ(waiter.wakes, 1);
  EXPECT_EQ(file.wait_queue.generation(), before + 2);
}

TEST(VirtualFile, of_a_pipe_reads_asynchronously_what_was_written) {
  const auto pipe = std::make_shared<Pipe>();
  const auto in = pipe->open(O_RDONLY), out = pipe->open(O_WRONLY);
  const Bytes sent(5, std::byte{7});
  EXPECT_EQ(out->write(sent), IoResult(5));
  EXPECT_EQ(in->queued_input(), std::optional<std::size_t>(5));
  EXPECT_EQ(in->access_mode(), O_RDONLY);
  EXPECT_EQ(out->access_mode(), O_WRONLY);
  EXPECT_TRUE(in->supports_signals());
  Bytes first, rest;
  EXPECT_EQ(in->read_async(99, 3, first), IoResult(3)) << "a pipe has no position";
  EXPECT_EQ(in->read(8, rest), IoResult(2));
  EXPECT_EQ(first.size() + rest.size(), sent.size());
}

TEST(VirtualFile, of_output_names_its_stream_and_cannot_be_read) {
  for (const int stream : {1, 2}) {
    OutputFile file(stream);
    Bytes bytes;
    EXPECT_EQ(file.output_stream(), stream);
    EXPECT_EQ(file.access_mode(), O_WRONLY);
    EXPECT_EQ(file.readiness(), static_cast<std::uint32_t>(POLLOUT));
    EXPECT_TRUE(file.reaches_beyond_host());
    EXPECT_TRUE(S_ISFIFO(file.mode()));
    EXPECT_EQ(file.read(1, bytes), IoResult(-EINVAL));
  }
}

TEST(VirtualFile, of_events_returns_whole_records_only) {
  CompletionChannelFile file("completion channel");
  file.push(protocol::CompletionEvent{});
  file.push(protocol::CompletionEvent{});
  Bytes bytes;
  EXPECT_EQ(file.read(2 * sizeof(protocol::CompletionEvent) - 1, bytes),
            IoResult(sizeof(protocol::CompletionEvent)));
  EXPECT_EQ(bytes.size(), sizeof(protocol::CompletionEvent));
  EXPECT_NE(file.readiness(), 0u);
  bytes.clear();
  EXPECT_EQ(file.read(64, bytes), IoResult(sizeof(protocol::CompletionEvent)));
  EXPECT_EQ(file.readiness(), 0u);
  EXPECT_EQ(file.read(64, bytes), std::nullopt) << "the caller must wait";
}

}  // namespace
}  // namespace verbatim::supervisor
