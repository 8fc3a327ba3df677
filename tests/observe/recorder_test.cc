#include "sim/observe/recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace verbatim::observe {
namespace {

class Log {
 public:
  explicit Log(const std::function<void(Recorder&)>& fill) : fd_(::memfd_create("log", MFD_CLOEXEC)) {
    Recorder recorder(fd_);
    fill(recorder);
    EXPECT_EQ(recorder.flush(), 0);
  }
  ~Log() { ::close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

void add(Recorder& recorder, std::int64_t time, std::uint64_t value, const std::string& bytes = "") {
  recorder.on_record({time, 0, TraceEvent::kProgramOutput, {value, 1, bytes.size(), 0}},
                     std::as_bytes(std::span(bytes)));
}

const ComponentTable& one_host() {
  static const ComponentTable table({"host/server"});
  return table;
}

TEST(Recorder, equal_logs_do_not_diverge) {
  const auto fill = [](Recorder& r) {
    for (int i = 0; i < 10'000; ++i) add(r, i, 7, "abc");
  };
  Log a(fill), b(fill);
  EXPECT_FALSE(compare(a.fd(), b.fd()).has_value());
}

TEST(Recorder, first_difference_is_named_with_both_sides) {
  Log a([](Recorder& r) {
    for (int i = 0; i < 10'000; ++i) add(r, i, 7);
  });
  Log b([](Recorder& r) {
    for (int i = 0; i < 10'000; ++i) add(r, i, i >= 8'191 ? 8 : 7);
  });
  const auto divergence = compare(a.fd(), b.fd());
  ASSERT_TRUE(divergence.has_value());
  EXPECT_EQ(divergence->index, 8'191u);
  EXPECT_EQ(to_text(*divergence, one_host()),
            "the runs differ first in record 8191:\n"
            "  first run:  0.008191 us  host/server  program-output  pid=7 fd=1 length=0\n"
            "  second run: 0.008191 us  host/server  program-output  pid=8 fd=1 length=0\n");
}

TEST(Recorder, differing_bytes_are_found_beyond_the_kept_head) {
  const std::string text(100, 'a');
  std::string other = text;
  other[99] = 'b';
  Log a([&](Recorder& r) { add(r, 1, 7, text); });
  Log b([&](Recorder& r) { add(r, 1, 7, other); });
  const auto divergence = compare(a.fd(), b.fd());
  ASSERT_TRUE(divergence.has_value());
  EXPECT_NE(
      to_text(*divergence, one_host()).find("the records agree; the bytes that belong to them do not"),
      std::string::npos);
}

TEST(Recorder, a_shorter_run_diverges_at_its_end) {
  Log a([](Recorder& r) { add(r, 1, 7); });
  Log b([](Recorder& r) {
    add(r, 1, 7);
    add(r, 2, 7, "x\n");
  });
  const auto divergence = compare(a.fd(), b.fd());
  ASSERT_TRUE(divergence.has_value());
  EXPECT_EQ(divergence->index, 1u);
  EXPECT_FALSE(divergence->first.has_value());
  EXPECT_NE(to_text(*divergence, one_host()).find("first run:  (this run had ended)"), std::string::npos);
  EXPECT_NE(to_text(*divergence, one_host()).find("\"x\\x0a\""), std::string::npos);
}

TEST(Recorder, a_full_disk_is_noticed) {
  const int fd = ::open("/dev/full", 1);
  ASSERT_GE(fd, 0);
  Recorder recorder(fd);
  add(recorder, 1, 7);
  EXPECT_EQ(recorder.flush(), ENOSPC);
  ::close(fd);
}

}  // namespace
}  // namespace verbatim::observe
