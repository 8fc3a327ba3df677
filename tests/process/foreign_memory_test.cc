// Memory of another process by system calls, and by /proc/PID/mem where these are refused: the same results
// and errors.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/machine/file_content.h"
#include "sim/supervisor/machine/foreign_memory.h"
#include "sim/supervisor/machine/memory_places.h"

namespace verbatim::supervisor {
namespace {

enum class Way { kCalls, kQueries, kText };

class ForeignMemoryTest : public ::testing::TestWithParam<Way> {
 protected:
  ForeignMemoryTest() { go_the_way(memory_); }

  static void go_the_way(ForeignMemory& memory) {
    if (GetParam() != Way::kCalls) memory.do_without_calls();
    if (GetParam() == Way::kText) memory.do_without_queries();
  }
  // Memory of this process, used as another process's memory.
  std::uint64_t pages(std::size_t count) {
    void* const start = mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(start, MAP_FAILED);
    std::memset(start, 'a', count * kPage);
    return reinterpret_cast<std::uint64_t>(start);
  }
  static void protect(std::uint64_t page, int protection) {
    EXPECT_EQ(mprotect(reinterpret_cast<void*>(page), kPage, protection), 0);
  }
  std::size_t read(std::uint64_t from, std::size_t length) {
    const spin::MemoryRange range{from, length};
    return memory_.read(std::span(&range, 1), got_.data());
  }
  std::size_t write(std::uint64_t to, std::string_view text) { return memory_.write(to, std::as_bytes(std::span(text))); }
  std::string_view got(std::size_t length) const { return {reinterpret_cast<const char*>(got_.data()), length}; }

  static constexpr std::size_t kPage = 4096;
  ForeignMemory memory_{getpid()};
  std::array<std::byte, 4 * kPage> got_{};
};

TEST_P(ForeignMemoryTest, ranges_are_read_one_after_the_other) {
  const std::uint64_t at = pages(2);
  EXPECT_EQ(write(at + 10, "hello"), 5u);
  EXPECT_EQ(write(at + kPage - 2, "over"), 4u);
  const spin::MemoryRange ranges[] = {{at + kPage - 2, 4}, {at + 10, 5}, {at, 1}};
  EXPECT_EQ(memory_.read(ranges, got_.data()), 10u);
  EXPECT_EQ(got(10), "overhelloa");
}

TEST_P(ForeignMemoryTest, more_ranges_than_one_call_takes) {
  const std::uint64_t at = pages(1);
  std::vector<spin::MemoryRange> ranges;
  for (std::uint64_t i = 0; i < 150; ++i) ranges.push_back({at + i, 1});
  EXPECT_EQ(memory_.read(ranges, got_.data()), 150u);
  ranges[100].address = 8;
  EXPECT_EQ(memory_.read(ranges, got_.data()), 100u);
}

TEST_P(ForeignMemoryTest, reading_ends_where_nothing_may_be_read) {
  for (const int protection : {PROT_NONE, PROT_WRITE}) {
    const std::uint64_t at = pages(3);
    protect(at + kPage, protection);
    EXPECT_EQ(read(at + 100, 2 * kPage), kPage - 100) << protection;
    EXPECT_EQ(read(at + kPage, 8), 0u) << protection;
    EXPECT_EQ(read(at + 2 * kPage, 8), 8u) << protection;
  }
  EXPECT_EQ(read(16, 8), 0u);
  EXPECT_EQ(read(~0ull - 100, 50), 0u);
  EXPECT_EQ(read(~0ull - 3, 8), 0u);
}

TEST_P(ForeignMemoryTest, writing_ends_where_nothing_may_be_written) {
  const std::uint64_t at = pages(2);
  protect(at + kPage, PROT_READ);
  EXPECT_EQ(write(at + kPage - 3, "abcdef"), 3u);
  EXPECT_EQ(write(at + kPage, "abc"), 0u);
  EXPECT_EQ(read(at + kPage - 3, 6), 6u);
  EXPECT_EQ(got(6), "abcaaa");
  EXPECT_EQ(write(16, "abc"), 0u);
}

TEST_P(ForeignMemoryTest, several_places_are_written_in_their_order) {
  const std::uint64_t at = pages(3);
  const std::string text = "hello" + std::string(150, 'b') + "xy";
  std::vector<spin::MemoryRange> places = {{at + 10, 5}};
  for (std::uint64_t i = 0; i < 150; ++i) places.push_back({at + 2 * i, 1});
  places.push_back({at + 10, 2});
  EXPECT_EQ(memory_.write(places, std::as_bytes(std::span(text))), text.size());
  EXPECT_EQ(read(at + 8, 10), 10u);
  EXPECT_EQ(got(10), "baxyblbaba") << "later ones prevail";
  protect(at + kPage, PROT_READ);
  const spin::MemoryRange refused[] = {{at, 2}, {at + kPage, 1}, {at + 2 * kPage, 1}};
  EXPECT_EQ(memory_.write(refused, std::as_bytes(std::span(text).first(4))), 2u) << "up to the first that may not be written";
  EXPECT_EQ(read(at + 2 * kPage, 1), 1u);
  EXPECT_EQ(got(1), "a");
}

TEST_P(ForeignMemoryTest, an_adapter_writes_what_is_protected_and_nothing_that_is_not_there) {
  const std::uint64_t at = pages(2);
  protect(at, PROT_READ);
  const std::string_view text = "pinned";
  EXPECT_EQ(memory_.write_anyway(at + 7, std::as_bytes(std::span(text))), text.size());
  EXPECT_EQ(read(at + 7, 6), 6u);
  EXPECT_EQ(got(6), text);
  munmap(reinterpret_cast<void*>(at + kPage), kPage);
  EXPECT_EQ(memory_.write_anyway(at + kPage - 2, std::as_bytes(std::span(text))), 2u);
  EXPECT_EQ(memory_.write_anyway(at + kPage, std::as_bytes(std::span(text))), 0u);
}

TEST_P(ForeignMemoryTest, what_mappings_permit) {
  const std::uint64_t at = pages(3);
  protect(at + kPage, PROT_READ);
  EXPECT_EQ(memory_.permitted(at + 5, 3 * kPage - 5, ForeignMemory::kRead), 3 * kPage - 5);
  EXPECT_EQ(memory_.permitted(at + 5, 2 * kPage, ForeignMemory::kRead | ForeignMemory::kWrite), kPage - 5);
  EXPECT_EQ(memory_.permitted(at + kPage, 1, ForeignMemory::kWrite), 0u);
  EXPECT_EQ(memory_.permitted(at, 0, ForeignMemory::kRead), 0u);
  EXPECT_EQ(memory_.permitted(0, 1, ForeignMemory::kRead), 0u);
}

TEST_P(ForeignMemoryTest, what_is_mapped_where) {
  const std::uint64_t at = pages(2);
  const auto mine = memory_.mapping_at(at + 5);
  ASSERT_TRUE(mine);
  EXPECT_LE(mine->begin, at);
  EXPECT_GE(mine->end, at + 2 * kPage);
  EXPECT_FALSE(mine->is_shared);
  EXPECT_EQ(mine->inode, 0u);
  EXPECT_FALSE(memory_.mapping_at(16));

  // The third page of a file, and the same file mapped elsewhere.
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(ftruncate(fileno(file), 4 * kPage), 0);
  void* const shared = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 2 * kPage);
  void* const whole = mmap(nullptr, 4 * kPage, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  ASSERT_NE(shared, MAP_FAILED);
  ASSERT_NE(whole, MAP_FAILED);
  const auto third = memory_.mapping_at(reinterpret_cast<std::uint64_t>(shared) + 1);
  const auto all = memory_.mapping_at(reinterpret_cast<std::uint64_t>(whole));
  ASSERT_TRUE(third && all);
  EXPECT_EQ(third->begin, reinterpret_cast<std::uint64_t>(shared));
  EXPECT_EQ(third->end, third->begin + kPage);
  EXPECT_TRUE(third->is_shared);
  EXPECT_FALSE(all->is_shared);
  EXPECT_EQ(third->offset, 2 * kPage);
  EXPECT_EQ(all->offset, 0u);
  EXPECT_NE(third->inode, 0u);
  EXPECT_EQ(third->inode, all->inode);
  EXPECT_EQ(third->device, all->device);

  char path[4096] = {};
  ASSERT_GT(readlink(("/proc/self/fd/" + std::to_string(fileno(file))).c_str(), path, sizeof path - 1), 0);
  EXPECT_EQ(memory_.name_at(reinterpret_cast<std::uint64_t>(shared) + 1), path);
  EXPECT_EQ(memory_.name_at(at + 5), "");
  EXPECT_EQ(memory_.name_at(16), "");
  munmap(shared, kPage);
  munmap(whole, 4 * kPage);
  std::fclose(file);
}

TEST(CodePlace, is_in_the_file_that_the_list_of_all_mappings_has_there) {
  const std::vector<std::string> lines = lines_of_mappings(getpid());
  std::size_t compared = 0;
  for (const Mapping& mapping : mappings_of(getpid())) {
    const auto file = mapped_file_at(lines, mapping.begin + 5);
    if (!mapping.executable || !file || !file->path.starts_with('/')) continue;
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%lx", mapping.begin + 5 - file->first);
    EXPECT_EQ(place_in_files(getpid(), mapping.begin + 5), file->path.substr(file->path.rfind('/') + 1) + offset);
    ++compared;
  }
  EXPECT_GE(compared, 3u) << "the test, the loader, and the C library";
  EXPECT_EQ(place_in_files(getpid(), 16), "0x10");
}

TEST_P(ForeignMemoryTest, a_process_that_executes_another_program_has_other_memory) {
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const std::uint64_t at = pages(1);
  const pid_t pid = fork();
  if (pid == 0) {
    char byte;
    if (::read(go[0], &byte, 1) == 1) execl("/bin/sleep", "sleep", "100", nullptr);
    _exit(1);
  }
  ForeignMemory memory(pid);
  go_the_way(memory);
  const spin::MemoryRange before{at, 4};
  EXPECT_EQ(memory.read(std::span(&before, 1), got_.data()), 4u);
  EXPECT_EQ(memory.permitted(at, 4, ForeignMemory::kRead), 4u);
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  const std::string folder = "/proc/" + std::to_string(pid);
  std::string first;
  while (!first.ends_with("/sleep")) {
    std::ifstream maps(folder + "/maps");
    std::getline(maps, first);
  }
  const std::uint64_t image = std::stoull(first, nullptr, 16);
  const spin::MemoryRange after{image, 4};
  EXPECT_EQ(memory.permitted(image, 4, ForeignMemory::kRead), 4u);
  EXPECT_EQ(memory.read(std::span(&after, 1), got_.data()), 4u);
  EXPECT_EQ(got(4), "\177ELF");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(memory.read(std::span(&after, 1), got_.data()), 0u);
  close(go[0]);
  close(go[1]);
}

// Unmapped memory would be an EFAULT for the program.
TEST_P(ForeignMemoryTest, a_machine_without_descriptors_is_not_taken_for_unmapped_memory) {
  const std::uint64_t at = pages(1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  int error = 0;
  try {
    memory_.permitted(at, 1, ForeignMemory::kRead);
  } catch (const std::system_error& refusal) {
    error = refusal.code().value();
  }
  ForeignMemory gone(0x7fff'ffff);  // no process has this number
  int other_error = 0;
  try {
    gone.mapping_at(at);
  } catch (const std::system_error& refusal) {
    other_error = refusal.code().value();
  }
  std::string sentence;
  try {
    content_of_file("/proc/self/exe");
  } catch (const std::system_error& refusal) {
    sentence = refusal.what();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(error, EMFILE);
  EXPECT_EQ(other_error, EMFILE);
  EXPECT_EQ(sentence, "cannot read /proc/self/exe: Too many open files");
  EXPECT_EQ(memory_.permitted(at, 1, ForeignMemory::kRead), 1u);
  EXPECT_EQ(gone.mapping_at(at), std::nullopt);
  EXPECT_FALSE(content_of_file("/proc/self/exe").empty());
  EXPECT_TRUE(content_of_file("/proc/self/no_such_file").empty());
}

std::string name_of(const ::testing::TestParamInfo<Way>& test) {
  return test.param == Way::kCalls ? "calls" : test.param == Way::kQueries ? "queries" : "text";
}

INSTANTIATE_TEST_SUITE_P(Ways, ForeignMemoryTest, ::testing::Values(Way::kCalls, Way::kQueries, Way::kText), name_of);

}  // namespace
}  // namespace verbatim::supervisor
