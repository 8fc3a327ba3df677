// Data read from a program's memory is cached until a program of its host runs or the memory is written.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/machine/process_memory.h"
#include "sim/supervisor/tasks/brought_lines.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {
namespace {

constexpr std::size_t kPage = PageCache::kPageSize;

// Pages of this process, used as a program's.
class Pages {
 public:
  explicit Pages(std::size_t count, std::uint64_t at = 0)
      : bytes_(count * kPage),
        start_(static_cast<std::uint8_t*>(mmap(reinterpret_cast<void*>(at), bytes_, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | (at != 0 ? MAP_FIXED_NOREPLACE : 0), -1, 0))) {}
  ~Pages() { munmap(start_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  bool are_there() const { return start_ != MAP_FAILED; }
  std::uint8_t& operator[](std::size_t at) { return start_[at]; }
  std::uint64_t address(std::size_t at) const { return reinterpret_cast<std::uint64_t>(start_ + at); }
  void unmap(std::size_t page) { munmap(start_ + page * kPage, kPage); }

 private:
  std::size_t bytes_;
  std::uint8_t* start_;
};

class PageCacheTest : public ::testing::Test {
 protected:
  PageCacheTest() { memory_.use(cache_, read_ahead_, write_behind_, epoch_); }

  std::optional<std::uint8_t> read(std::uint64_t address) {
    const spin::MemoryRange range{address, 1};
    std::uint8_t value = 0;
    return memory_.read_ranges({&range, 1}, &value) ? std::optional(value) : std::nullopt;
  }

  PageCache cache_;
  ReadAhead read_ahead_;
  WriteBehind write_behind_;
  std::uint64_t epoch_ = 0;
  ProcessMemory memory_{getpid()};
};

TEST_F(PageCacheTest, shows_what_was_there_until_it_forgets) {
  Pages pages(1);
  pages[10] = 1;
  EXPECT_EQ(read(pages.address(10)), 1);
  pages[10] = pages[11] = 2;
  EXPECT_EQ(read(pages.address(10)), 1);
  EXPECT_EQ(read(pages.address(11)), 0);
  ++epoch_;  // a program has run
  EXPECT_EQ(read(pages.address(10)), 2);
  EXPECT_EQ(read(pages.address(11)), 2);
}

TEST_F(PageCacheTest, forgets_whatever_is_written) {
  Pages pages(2);
  const std::array<std::byte, 1> three{std::byte{3}}, four{std::byte{4}}, five{std::byte{5}};
  EXPECT_EQ(read(pages.address(0)), 0);
  memory_.write(pages.address(0), three);
  EXPECT_EQ(read(pages.address(0)), 3);
  memory_.put(pages.address(0), four);
  EXPECT_EQ(read(pages.address(0)), 4);
  memory_.write_code(pages.address(0), five);
  EXPECT_EQ(read(pages.address(0)), 5);
  // Another process may have the same memory.
  ProcessMemory other(getpid());
  other.use(cache_, read_ahead_, write_behind_, epoch_);
  other.write(pages.address(0), three);
  EXPECT_EQ(read(pages.address(0)), 3);
}

TEST_F(PageCacheTest, keeps_programs_apart) {
  Pages pages(1);
  ProcessMemory other(getpid());
  other.use(cache_, read_ahead_, write_behind_, epoch_);
  EXPECT_EQ(read(pages.address(0)), 0);
  pages[0] = 1;
  std::uint8_t value = 0;
  const spin::MemoryRange range{pages.address(0), 1};
  EXPECT_TRUE(other.read_ranges({&range, 1}, &value));
  EXPECT_EQ(value, 1);
}

TEST_F(PageCacheTest, reads_ranges_across_pages) {
  Pages pages(3);
  for (std::size_t i = 0; i < 3 * kPage; ++i) pages[i] = static_cast<std::uint8_t>(i * 31 >> 3);
  const spin::MemoryRange ranges[] = {{pages.address(kPage - 3), kPage + 6}, {pages.address(5), 0}, {pages.address(7), 2}};
  std::vector<std::uint8_t> bytes(kPage + 8);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(memory_.copy_ranges(ranges, bytes.data()));
    EXPECT_EQ(std::memcmp(bytes.data(), &pages[kPage - 3], kPage + 6), 0);
    EXPECT_EQ(std::memcmp(bytes.data() + kPage + 6, &pages[7], 2), 0);
  }
}

TEST_F(PageCacheTest, tells_what_is_not_mapped) {
  Pages pages(3);
  pages.unmap(1);
  const spin::MemoryRange across{pages.address(kPage - 1), 2};
  std::uint8_t bytes[2];
  EXPECT_FALSE(memory_.read_ranges({&across, 1}, bytes));
  EXPECT_EQ(read(pages.address(0)), 0);
  EXPECT_EQ(read(pages.address(kPage)), std::nullopt);
  EXPECT_EQ(read(pages.address(2 * kPage)), 0);
}

TEST_F(PageCacheTest, refuses_what_goes_round_the_address_space) {
  Pages pages(1);
  pages[0] = 7;
  const spin::MemoryRange ranges[] = {{~7ull, 32}, {pages.address(0), 1}};
  std::uint8_t bytes[33];
  EXPECT_FALSE(memory_.read_ranges(ranges, bytes));
  EXPECT_FALSE(memory_.copy_ranges(ranges, bytes));
}

// Pages that were read before are read ahead the next time; an unmapped one does no harm.
TEST_F(PageCacheTest, does_not_need_what_it_reads_ahead) {
  Pages pages(3);
  for (std::size_t page = 0; page < 3; ++page) EXPECT_EQ(read(pages.address(page * kPage)), 0);
  ++epoch_;  // a program has run
  pages.unmap(1);
  EXPECT_EQ(read(pages.address(0)), 0);
  EXPECT_EQ(read(pages.address(2 * kPage)), 0);
  EXPECT_EQ(read(pages.address(kPage)), std::nullopt);
}

// A thread that delivers lines of its memory with its requests, in its slot and its mailbox.
class Bringing : public PageCacheTest {
 protected:
  // Acts like the runtime; `says` is the content of the mailbox.
  void bring(std::uint8_t says) {
    mailbox_.assign(protocol::kMailboxSize, std::byte{says});
    slot_->brought = slot_->list_to_bring;
    ++epoch_;
    lines_.note(*slot_, memory_);
  }
  void look(std::uint64_t address, std::optional<std::uint8_t> finds) {
    lines_.use(mailbox_, memory_);
    EXPECT_EQ(read(address), finds);
    lines_.ask_for(memory_, *slot_);
  }

  std::unique_ptr<protocol::ThreadSlot> slot_ = std::make_unique<protocol::ThreadSlot>();
  std::vector<std::byte> mailbox_;
  BroughtLines lines_;
};

TEST_F(Bringing, lines_that_were_looked_at) {
  Pages pages(2);
  bring(1);
  EXPECT_EQ(slot_->brought, 0u) << "nothing was looked at yet";
  look(pages.address(kPage + 70), 0);
  ASSERT_EQ(slot_->pages_to_bring, 1u);
  EXPECT_EQ(slot_->to_bring[0], (protocol::PageLines{pages.address(kPage) / kPage, 2}));
  bring(7);
  look(pages.address(kPage + 70), 7);
  bring(8);
  look(pages.address(kPage + 63), 0);  // of another line
}

TEST_F(Bringing, pages_in_the_order_of_their_addresses) {
  Pages pages(3);
  bring(0);
  EXPECT_EQ(read(pages.address(2 * kPage)), 0);
  look(pages.address(0), 0);
  bring(7);
  look(pages.address(kPage), 0);
  ASSERT_EQ(slot_->pages_to_bring, 3u);
  for (std::uint64_t page = 0; page < 3; ++page)
    EXPECT_EQ(slot_->to_bring[page], (protocol::PageLines{pages.address(page * kPage) / kPage, 1})) << page;
}

TEST_F(Bringing, no_lines_if_the_mailbox_has_no_room_for_all) {
  constexpr std::size_t kLines = kPage / PageCache::kLineSize, kFull = protocol::kMostLinesToBring / kLines;
  Pages pages(kFull + 1);
  std::vector<std::uint8_t> bytes(kFull * kPage + 1);
  const auto ask_after = [&](std::size_t length) {
    bring(0);
    BroughtLines().use(mailbox_, memory_);
    const spin::MemoryRange range{pages.address(0), length};
    EXPECT_TRUE(memory_.read_ranges({&range, 1}, bytes.data()));
    lines_ = BroughtLines();
    lines_.ask_for(memory_, *slot_);
    return slot_->pages_to_bring;
  };
  EXPECT_EQ(ask_after(kFull * kPage), kFull);
  EXPECT_NE(slot_->list_to_bring, 0u);
  EXPECT_EQ(ask_after(kFull * kPage + 1), 0u);
  EXPECT_EQ(slot_->list_to_bring, 0u);
}

TEST_F(Bringing, holds_until_a_program_runs_or_memory_is_written) {
  Pages pages(1);
  bring(0);
  look(pages.address(0), 0);
  bring(7);
  ++epoch_;
  look(pages.address(0), 0);
  bring(7);
  slot_->brought = slot_->list_to_bring - 1;  // an older list or none
  lines_.note(*slot_, memory_);
  look(pages.address(0), 0);
}

TEST_F(Bringing, lines_of_the_time_before_the_last_too) {
  Pages pages(2);
  bring(0);
  look(pages.address(0), 0);
  bring(0);
  look(pages.address(kPage), 0);
  EXPECT_EQ(slot_->pages_to_bring, 2u);
  const std::uint32_t list = slot_->list_to_bring;
  bring(3);
  look(pages.address(0), 3);
  EXPECT_EQ(slot_->list_to_bring, list);
  bring(3);
  look(pages.address(kPage), 3);
}

TEST_F(Bringing, nothing_when_it_would_be_too_much) {
  Pages pages(protocol::kMostPagesToBring + 1);
  for (std::size_t page = 0; page < protocol::kMostPagesToBring; ++page) EXPECT_EQ(read(pages.address(page * kPage)), 0);
  lines_.ask_for(memory_, *slot_);
  EXPECT_EQ(slot_->pages_to_bring, protocol::kMostPagesToBring);
  EXPECT_EQ(read(pages.address(protocol::kMostPagesToBring * kPage)), 0);
  lines_.ask_for(memory_, *slot_);
  EXPECT_EQ(slot_->list_to_bring, 0u);
}

TEST_F(PageCacheTest, reads_more_than_it_can_keep) {
  constexpr std::size_t kMany = 300;
  Pages pages(kMany);
  std::vector<spin::MemoryRange> ranges;
  for (std::size_t page = 0; page < kMany; ++page) {
    pages[page * kPage] = static_cast<std::uint8_t>(page);
    ranges.push_back({pages.address(page * kPage), 1});
  }
  std::vector<std::uint8_t> bytes(kMany);
  ASSERT_TRUE(memory_.read_ranges(ranges, bytes.data()));
  for (std::size_t page = 0; page < kMany; ++page) EXPECT_EQ(bytes[page], static_cast<std::uint8_t>(page));
  for (std::size_t page = 0; page < kMany; ++page) EXPECT_EQ(read(pages.address(page * kPage)), static_cast<std::uint8_t>(page));
}

TEST_F(PageCacheTest, never_keeps_what_is_shared_with_the_simulator) {
  Pages region(1, protocol::kRegionAddress);
  if (!region.are_there()) GTEST_SKIP() << "something else lies there";
  EXPECT_EQ(read(region.address(0)), 0);
  region[0] = 1;
  EXPECT_EQ(read(region.address(0)), 1);
}

class ReadAheadTest : public PageCacheTest {
 protected:
  static constexpr std::size_t kPacket = 4096;

  // Reads like an adapter, packet by packet. Returns the number of bytes that differ from `pages`.
  std::size_t wrong_bytes(Pages& pages, std::size_t from, std::size_t bytes) {
    std::vector<std::byte> packet(kPacket);
    std::size_t wrong = 0;
    for (std::size_t at = from; at < from + bytes; at += kPacket) {
      EXPECT_TRUE(memory_.read(pages.address(at), packet));
      for (std::size_t i = 0; i < kPacket; ++i) wrong += std::to_integer<std::uint8_t>(packet[i]) != pages[at + i];
    }
    return wrong;
  }
  void fill(Pages& pages, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i) pages[i] = static_cast<std::uint8_t>((i * 2654435761u >> 7) + seed);
  }
};

TEST_F(ReadAheadTest, shows_a_message_as_it_was_when_a_program_last_ran) {
  Pages pages(256);
  fill(pages, 256 * kPage, 1);
  EXPECT_EQ(wrong_bytes(pages, 0, 128 * kPage), 0u);
  fill(pages, 256 * kPage, 2);
  EXPECT_GT(wrong_bytes(pages, 128 * kPage, kPage), 0u) << "it was not read ahead";
  ++epoch_;
  EXPECT_EQ(wrong_bytes(pages, 129 * kPage, 100 * kPage), 0u);
}

TEST_F(ReadAheadTest, reads_a_message_of_known_length_at_once) {
  Pages pages(16);
  fill(pages, 16 * kPage, 1);
  const auto shows = [&](std::size_t page, std::size_t follow) {
    std::vector<std::byte> packet(kPacket);
    EXPECT_TRUE(read_ahead_.copy(memory_, pages.address(page * kPage), packet, follow * kPage));
    return std::memcmp(packet.data(), &pages[page * kPage], kPacket) == 0;
  };
  EXPECT_TRUE(shows(2, 5));
  fill(pages, 16 * kPage, 2);
  for (std::size_t page = 3; page < 8; ++page) EXPECT_FALSE(shows(page, 7 - page)) << page << " was not read with the first";
  std::vector<std::byte> packet(kPacket);
  EXPECT_TRUE(read_ahead_.copy(memory_, pages.address(8 * kPage), packet));
  EXPECT_EQ(std::memcmp(packet.data(), &pages[8 * kPage], kPacket), 0) << "no more than the message";
}

TEST_F(ReadAheadTest, keeps_what_is_not_overwritten) {
  Pages pages(16);
  fill(pages, 16 * kPage, 1);
  std::vector<std::byte> packet(kPacket);
  const std::array<std::byte, 1> byte{std::byte{99}};
  const auto shows = [&](std::size_t page, std::size_t length, std::size_t follow) {
    EXPECT_TRUE(read_ahead_.copy(memory_, pages.address(page * kPage), std::span(packet).first(length), follow));
    return std::memcmp(packet.data(), &pages[page * kPage], length) == 0;
  };
  EXPECT_TRUE(shows(2, kPacket, 4 * kPage));
  EXPECT_TRUE(shows(10, 64, 0));
  fill(pages, 16 * kPage, 2);  // without invalidation
  memory_.place(pages.address(7 * kPage), byte, {});
  memory_.place(pages.address(2 * kPage - 1), byte, {});
  EXPECT_FALSE(shows(3, kPacket, 3 * kPage)) << "what is written lies before and behind it";
  EXPECT_FALSE(shows(10, 64, 0));
  memory_.place(pages.address(7 * kPage - 1), byte, {});
  EXPECT_TRUE(shows(4, kPacket, 2 * kPage));
  EXPECT_FALSE(shows(10, 64, 0));
  memory_.place(pages.address(10 * kPage + 4000), byte, {});
  EXPECT_TRUE(shows(10, 64, 0));
  fill(pages, 16 * kPage, 3);
  memory_.write(pages.address(0), byte);
  EXPECT_TRUE(shows(10, 64, 0)) << "a system call has written";
  fill(pages, 16 * kPage, 4);
  ++epoch_;
  memory_.place(pages.address(0), byte, {});
  EXPECT_TRUE(shows(5, kPacket, kPage)) << "a program has run";
  EXPECT_TRUE(shows(10, 64, 0));
}

TEST_F(ReadAheadTest, keeps_nothing_that_may_be_seen_elsewhere) {
  Pages pages(8);
  void* const shared = mmap(reinterpret_cast<void*>(pages.address(0)), 8 * kPage, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  fill(pages, 8 * kPage, 1);
  std::vector<std::byte> packet(kPacket);
  EXPECT_TRUE(read_ahead_.copy(memory_, pages.address(0), packet, 4 * kPage));
  fill(pages, 8 * kPage, 2);
  const std::array<std::byte, 1> byte{};
  memory_.place(pages.address(7 * kPage), byte, {});
  EXPECT_TRUE(memory_.read(pages.address(kPage), packet));
  EXPECT_EQ(std::memcmp(packet.data(), &pages[kPage], kPacket), 0);
}

TEST_F(ReadAheadTest, notices_what_is_written_meanwhile) {
  Pages pages(128);
  fill(pages, 128 * kPage, 1);
  for (std::size_t page = 0; page < 128; ++page) {
    EXPECT_EQ(wrong_bytes(pages, page * kPage, kPage), 0u) << page;
    const std::array<std::byte, 1> byte{static_cast<std::byte>(page)};
    if (page % 7 == 3 && page < 127) memory_.write(pages.address((page + 1) * kPage), byte);
  }
}

TEST_F(ReadAheadTest, follows_several_messages_and_programs_at_once) {
  Pages pages(20 * 32);
  fill(pages, 20 * 32 * kPage, 3);
  ProcessMemory other(getpid());
  other.use(cache_, read_ahead_, write_behind_, epoch_);
  std::vector<std::byte> packet(kPacket);
  for (std::size_t page = 0; page < 32; ++page) {
    for (std::size_t message = 0; message < 20; ++message) {
      EXPECT_EQ(wrong_bytes(pages, (message * 32 + page) * kPage, kPage), 0u);
      ASSERT_TRUE(other.read(pages.address((message * 32 + page) * kPage), packet));
      EXPECT_EQ(std::memcmp(packet.data(), &pages[(message * 32 + page) * kPage], kPacket), 0);
    }
  }
}

TEST_F(ReadAheadTest, shows_short_messages_as_they_were_when_a_program_last_ran) {
  Pages pages(8);
  fill(pages, 8 * kPage, 5);
  std::vector<std::byte> message(64);
  const auto shows = [&](std::size_t at) {
    EXPECT_TRUE(memory_.read(pages.address(at), message));
    return std::memcmp(message.data(), &pages[at], message.size()) == 0;
  };
  EXPECT_TRUE(shows(100));
  fill(pages, 8 * kPage, 6);
  EXPECT_FALSE(shows(2000)) << "the page was not kept";
  EXPECT_TRUE(shows(kPage - 10)) << "it lies in two pages";
  ++epoch_;
  for (std::size_t page = 0; page < 7; ++page) EXPECT_TRUE(shows(page * kPage + 500)) << page;
  const std::array<std::byte, 1> byte{};
  memory_.write(pages.address(2010), byte);
  EXPECT_TRUE(shows(2000));
  pages.unmap(7);
  ++epoch_;
  EXPECT_FALSE(memory_.read(pages.address(7 * kPage + 8), message));
}

TEST_F(ReadAheadTest, ends_where_memory_ends) {
  Pages pages(12);
  fill(pages, 12 * kPage, 4);
  pages.unmap(11);
  EXPECT_EQ(wrong_bytes(pages, 0, 11 * kPage), 0u);
  std::vector<std::byte> packet(kPacket);
  EXPECT_FALSE(memory_.read(pages.address(11 * kPage), packet));
  EXPECT_FALSE(memory_.read(pages.address(11 * kPage - 2048), packet));
}

}  // namespace
}  // namespace verbatim::supervisor
