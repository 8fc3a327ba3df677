// Memory writes of adapters are combined for many packets, and are visible to every access.
#include "sim/supervisor/machine/write_behind.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {
namespace {

constexpr std::size_t kPage = 4096, kPages = 64;

struct WriteBehindTest : ::testing::Test, host::PlacementClient {
  WriteBehindTest() {
    pages = static_cast<std::byte*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child = fork();
    if (child == 0) {
      munmap(pages + 32 * kPage, kPage);
      while (true) pause();
    }
    memory = std::make_unique<ProcessMemory>(child);
    memory->use(cache, read_ahead, write_behind, epoch);
    other = std::make_unique<ProcessMemory>(child);
    other->use(cache, read_ahead, write_behind, epoch);
    // Waits until the child has changed its mapping.
    std::byte byte{};
    while (memory->read(at(32), {&byte, 1})) {
      usleep(100);
      ++epoch;
    }
  }
  ~WriteBehindTest() override {
    memory.reset();
    other.reset();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    munmap(pages, kPages * kPage);
  }
  void on_placement_fault(std::uint64_t cookie, host::ProgramAddress address, std::uint32_t length) override {
    faults[cookie] = {(address - at(0)) / kPage, length};
  }

  host::ProgramAddress at(std::size_t page) const { return reinterpret_cast<host::ProgramAddress>(pages) + page * kPage; }
  void place(std::size_t page, char value, std::size_t length = kPage) {
    const std::vector<std::byte> bytes(length, static_cast<std::byte>(value));
    memory->place(at(page), bytes, {this, page});
  }
  // The present content, read without notifying caches.
  char now(std::size_t page) const { return static_cast<char>(pages[page * kPage]); }

  std::byte* pages = nullptr;
  pid_t child = -1;
  PageCache cache;
  ReadAhead read_ahead;
  WriteBehind write_behind;
  std::uint64_t epoch = 1;
  std::unique_ptr<ProcessMemory> memory, other;
  std::map<std::uint64_t, std::pair<std::size_t, std::uint32_t>> faults;
};

TEST_F(WriteBehindTest, packets_of_a_message_are_written_together) {
  for (std::size_t i = 0; i < 16; ++i) place(i, static_cast<char>('a' + i));
  EXPECT_EQ(now(0), 0) << "nothing is written yet";
  place(16, 'z');
  EXPECT_EQ(now(0), 'a') << "no more than 64 KiB are kept";
  EXPECT_EQ(now(15), 'p');
  EXPECT_EQ(now(16), 0);
  write_behind.flush();
  EXPECT_EQ(now(16), 'z');
  EXPECT_FALSE(write_behind.keeps_any());
}

TEST_F(WriteBehindTest, who_looks_finds_it) {
  place(0, 'a');
  EXPECT_EQ(memory->load<char>(at(0)), 'a');
  place(1, 'b');
  EXPECT_EQ(other->load<char>(at(1)), 'b') << "memory may be shared by programs of one host";
  place(2, 'c');
  std::uint8_t byte = 0;
  const spin::MemoryRange range{at(2), 1};
  EXPECT_TRUE(memory->copy_ranges({&range, 1}, &byte));
  EXPECT_EQ(byte, 'c');
}

TEST_F(WriteBehindTest, writes_stay_in_order) {
  place(0, 'a');
  memory->store(at(0), 'b');
  EXPECT_EQ(now(0), 'b');
  place(0, 'c');
  place(0, 'd', 8);
  write_behind.flush();
  EXPECT_EQ(now(0), 'd') << "short ones, too";
  EXPECT_EQ(static_cast<char>(pages[8]), 'c');
  place(0, 'e');
  place(0, 'f');
  write_behind.flush();
  EXPECT_EQ(now(0), 'f');
}

TEST_F(WriteBehindTest, short_ones_are_kept_wherever_they_are) {
  for (std::size_t i = 0; i < protocol::kMostPlacements; ++i) place(i % 32, static_cast<char>('a' + i % 26), 8);
  EXPECT_EQ(now(0), 0);
  place(40, 'z', 8);
  EXPECT_EQ(now(0), 'a' + 32 % 26) << "no more than so many";
  EXPECT_EQ(now(31), 'a' + 63 % 26);
  EXPECT_EQ(now(40), 0);
}

TEST_F(WriteBehindTest, programs_of_other_hosts_may_run_meanwhile) {
  std::uint64_t epochs[16] = {};
  std::vector<std::unique_ptr<ProcessMemory>> elsewhere;
  for (std::size_t i = 0; i < std::size(epochs); ++i) {
    elsewhere.push_back(std::make_unique<ProcessMemory>(child));
    elsewhere.back()->use(cache, read_ahead, write_behind, epochs[i]);
    const std::byte byte{static_cast<unsigned char>('a' + i)};
    elsewhere.back()->place(at(i), {&byte, 1}, {this, i});
  }
  EXPECT_EQ(now(0), 'a') << "there are many of them";
  EXPECT_EQ(now(15), 0);
  write_behind.flush(elsewhere[14]->epoch_of_host());
  EXPECT_EQ(now(14), 'o');
  EXPECT_EQ(now(15), 0);
  elsewhere.clear();
  EXPECT_FALSE(write_behind.keeps_any());
}

// Data placements passed to the thread with the token.
struct HandedPlacements : WriteBehindTest {
  std::string listed(std::uint32_t count) const {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto& [address, length, offset] = list->placements[i];
      text += std::to_string((address - at(0)) / kPage) + static_cast<char>(list->bytes[offset]) + std::to_string(length) + " ";
    }
    return text;
  }
  std::unique_ptr<protocol::PlacementList> list = std::make_unique<protocol::PlacementList>();
};

TEST_F(HandedPlacements, are_written_by_the_thread) {
  EXPECT_EQ(write_behind.hand_to(*memory, *list), 0u) << "there is nothing";
  place(3, 'a', 8);
  place(1, 'b', 2000);
  place(3, 'c', 4);
  EXPECT_EQ(write_behind.hand_to(*other, *list), 0u) << "it is of another process";
  EXPECT_EQ(listed(write_behind.hand_to(*memory, *list)), "3a8 1b2000 3c4 ");
  EXPECT_FALSE(write_behind.keeps_any());
  write_behind.flush();
  write_behind.drop_handed();
  write_behind.finish_handed(*memory);
  EXPECT_EQ(now(3), 0) << "the thread has done it";
}

TEST_F(HandedPlacements, are_finished_here_where_the_thread_cannot) {
  place(3, 'a', 8);
  place(32, 'b', 8);
  place(5, 'c', 8);
  EXPECT_EQ(write_behind.hand_to(*memory, *list), 3u);
  write_behind.finish_handed(*other);
  EXPECT_EQ(now(3), 0) << "it was not handed to that one";
  write_behind.finish_handed(*memory);
  EXPECT_EQ(now(3), 'a');
  EXPECT_EQ(now(5), 'c');
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[32], (std::pair<std::size_t, std::uint32_t>(32, 8)));
  place(3, 'd', 8);
  write_behind.flush();
  write_behind.finish_handed(*memory);
  EXPECT_EQ(now(3), 'd') << "once";
}

TEST_F(HandedPlacements, are_few) {
  for (std::size_t i = 0; i <= protocol::kPlacedBytes / kPage; ++i) place(i, 'a');
  EXPECT_EQ(write_behind.hand_to(*memory, *list), 0u) << "the kernel is quicker";
  EXPECT_TRUE(write_behind.keeps_any());
}

TEST_F(WriteBehindTest, pages_that_are_gone_are_told_and_the_others_are_written) {
  for (std::size_t i = 30; i < 42; ++i) place(i, static_cast<char>('A' + i - 30));
  EXPECT_TRUE(faults.empty());
  write_behind.flush();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[32], (std::pair<std::size_t, std::uint32_t>(32, kPage)));
  for (std::size_t i = 30; i < 42; ++i) EXPECT_EQ(now(i), i == 32 ? 0 : static_cast<char>('A' + i - 30)) << i;
}

TEST_F(WriteBehindTest, memory_that_goes_is_forgotten) {
  place(0, 'a');
  memory.reset();
  EXPECT_FALSE(write_behind.keeps_any());
  EXPECT_EQ(now(0), 0);
}

}  // namespace
}  // namespace verbatim::supervisor
