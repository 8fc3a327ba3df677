// Patches of one process, in simulated memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/code/known_calls.h"

namespace verbatim::code {
namespace {

using protocol::DecidedInstruction;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kPage = 4096;

// Mapped pages.
class Pages final : public host::ProgramMemory {
 public:
  void map(std::uint64_t at, std::uint64_t length) {
    for (std::uint64_t page = at; page < at + length; page += kPage) pages_[page].assign(kPage, std::byte{0x90});
  }
  bool read(host::ProgramAddress from, std::span<std::byte> to) override {
    for (; !to.empty();) {
      const auto it = pages_.find(from & ~(kPage - 1));
      if (it == pages_.end()) return false;
      const std::size_t n = std::min<std::size_t>(to.size(), kPage - from % kPage);
      std::memcpy(to.data(), it->second.data() + from % kPage, n);
      from += n;
      to = to.subspan(n);
    }
    return true;
  }
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override {
    for (; !from.empty();) {
      const auto it = pages_.find(to & ~(kPage - 1));
      if (it == pages_.end()) return false;
      const std::size_t n = std::min<std::size_t>(from.size(), kPage - to % kPage);
      std::memcpy(it->second.data() + to % kPage, from.data(), n);
      to += n;
      from = from.subspan(n);
    }
    return true;
  }
  bool is_mapped(host::ProgramAddress, std::uint64_t, bool) override { return true; }

  void put(std::uint64_t at, const Bytes& bytes) { write(at, std::as_bytes(std::span(bytes))); }
  Bytes get(std::uint64_t at, std::size_t length) {
    Bytes bytes(length);
    read(at, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

 private:
  std::map<std::uint64_t, std::vector<std::byte>> pages_;
};

constexpr std::uint64_t kArea = 0x5555'5500'0000, kCode = 0x5555'5555'5000;
const Bytes kCounter = {0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3};
const Bytes kShort = {0x0f, 0x31, 0xc3};

class PatchesTest : public testing::Test {
 protected:
  PatchesTest() {
    memory_.map(kArea, protocol::kPatchAreaSize);
    memory_.map(protocol::kPatchDataAddress, (sizeof(protocol::PatchData) + kPage - 1) & ~(kPage - 1));
    memory_.put(protocol::kPatchDataAddress, Bytes(sizeof(protocol::PatchData)));
    memory_.map(kCode, kPage);
  }
  // Patches a program that is a loop of two jumps, at kCode. Returns its first jump, which has a condition.
  protocol::PatchedInstruction patch_loop(CodePatches& patches) {
    memory_.put(kCode, {0x75, 0xfe, 0xeb, 0xfc});
    patches.patch_file(memory_, loop_, kCode, kPage, 0);
    return {.kind = DecidedInstruction::kLoopJump, .destination = 5, .source = protocol::kJumpsOnCondition, .length = 2};
  }
  // The table entry that the shim would find for the address.
  std::optional<protocol::PatchedInstruction> table_at(std::uint64_t address) {
    const Bytes raw = memory_.get(protocol::kPatchDataAddress, sizeof(protocol::PatchData));
    protocol::PatchData data;
    std::memcpy(static_cast<void*>(&data), raw.data(), sizeof data);
    const std::uint32_t entries = data.has_many_traps != 0 ? protocol::kTrapEntries : protocol::kFewTrapEntries;
    std::uint32_t slot = protocol::first_trap_slot(address, entries);
    for (; data.traps[slot].address != 0; slot = (slot + 1) % entries) {
      if (data.traps[slot].address == address) return protocol::PatchedInstruction::of(data.traps[slot].instruction);
    }
    return std::nullopt;
  }

  Pages memory_;
  FileCode loop_;
};

TEST_F(PatchesTest, an_instruction_with_room_becomes_a_jump_into_the_area) {
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  memory_.put(kCode, kCounter);
  patches.patch_memory(memory_, kCode, kPage);
  const Bytes now = memory_.get(kCode, 5);
  EXPECT_EQ(now[0], 0xe9);
  std::int32_t distance;
  std::memcpy(&distance, now.data() + 1, 4);
  const std::uint64_t stub = kCode + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
  EXPECT_TRUE(stub >= kArea + kPage && stub < kArea + protocol::kPatchAreaSize);
  EXPECT_EQ(patches.counts().jumps, 1u);
  EXPECT_TRUE(patches.take_unpatched().empty());
}

TEST_F(PatchesTest, one_without_room_traps_and_is_in_the_table) {
  memory_.put(kCode, kShort);
  CodePatches traps(false);
  traps.patch_memory(memory_, kCode, kPage);
  EXPECT_EQ(memory_.get(kCode, 2), (Bytes{0xf4, 0x90}));
  ASSERT_TRUE(table_at(kCode));
  EXPECT_EQ(table_at(kCode)->kind, DecidedInstruction::kRdtsc);
  EXPECT_EQ(table_at(kCode)->length, 2);
  EXPECT_EQ(traps.trap_at(kCode)->word(), table_at(kCode)->word());
}

TEST_F(PatchesTest, the_last_mapped_page_is_replaced_without_the_next_one) {
  constexpr std::uint64_t kOdd = kCode + 0x101;
  memory_.put(kOdd, kShort);
  CodePatches traps(false);
  traps.patch_memory(memory_, kCode, kPage);
  EXPECT_TRUE(table_at(kOdd));
  EXPECT_TRUE(traps.take_unpatched().empty());
}

// A jump would overwrite instructions behind the mapped part of the file.
TEST_F(PatchesTest, an_instruction_at_the_end_of_a_mapping_traps) {
  constexpr std::uint64_t kAt = kCode + kPage - 4, kOffset = 0x3000;
  FileCode file{"a file", search_memory(kAt, std::as_bytes(std::span(kCounter)))};
  ASSERT_EQ(file.found.sites.size(), 1u);
  ASSERT_GT(file.found.sites[0].jump_length, 4u);
  file.found.sites[0].offset = kOffset + kPage - 4;
  memory_.put(kAt, {kCounter.begin(), kCounter.begin() + 4});
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  patches.patch_file(memory_, file, kCode, kPage, kOffset);
  EXPECT_TRUE(table_at(kAt));
  EXPECT_EQ(patches.counts().jumps, 0u);
  EXPECT_TRUE(patches.take_unpatched().empty());
}

TEST_F(PatchesTest, few_traps_lie_in_one_page_and_many_are_found_all_the_same) {
  CodePatches traps(false);
  constexpr std::size_t kFew = protocol::kFewTrapEntries / 2, kMany = 2 * protocol::kFewTrapEntries;
  constexpr std::size_t kStep = 16;
  static_assert(kMany * kStep <= kPage);
  const auto replace = [&](std::size_t first, std::size_t end) {
    Bytes code(kPage, 0x90);
    for (std::size_t i = 0; i < end; ++i) std::ranges::copy(kShort, code.begin() + static_cast<std::ptrdiff_t>(i * kStep));
    memory_.put(kCode, code);
    traps.patch_memory(memory_, kCode, kPage);
    for (std::size_t i = first; i < end; ++i) ASSERT_TRUE(table_at(kCode + i * kStep)) << i;
  };
  replace(0, kFew);
  const Bytes behind = memory_.get(protocol::kPatchDataAddress + kPage, sizeof(protocol::PatchData) - kPage);
  EXPECT_TRUE(std::ranges::all_of(behind, [](auto byte) { return byte == 0; }));
  replace(0, kMany);
  EXPECT_TRUE(traps.take_unpatched().empty());
}

TEST_F(PatchesTest, an_area_that_nothing_needs_is_left_untouched) {
  CodePatches patches;
  patches.add_area(kArea);
  constexpr std::uint64_t kEntry = 0x1234'5678;
  constexpr std::uint64_t kCallEntry = 0x2345'6789;
  const Bytes before = memory_.get(kArea, 16);
  ASSERT_TRUE(patches.set_entries(memory_, {kEntry, kCallEntry}));
  EXPECT_EQ(memory_.get(kArea, 16), before);
  memory_.put(kCode, kCounter);
  patches.patch_memory(memory_, kCode, kPage);
  EXPECT_EQ(patches.counts().jumps, 1u);
  const Bytes raw = memory_.get(kArea, sizeof(protocol::PatchAreaHeader));
  protocol::PatchAreaHeader header;
  std::memcpy(&header, raw.data(), sizeof header);
  EXPECT_EQ(header.entry, kEntry);
  EXPECT_EQ(header.call_entry, kCallEntry);
}

// mov $39, %eax; syscall; ret
const Bytes kCall = {0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3};

class CallPatchesTest : public PatchesTest {
 protected:
  static constexpr std::uint64_t kAt = kCode + 0x100, kInstruction = kAt + 5, kFileOffset = 0x3000;
  CallPatchesTest() { memory_.put(kAt, kCall); }

  bool replace(CodePatches& patches, std::uint64_t address = kInstruction) {
    return patches.replace_call(memory_, address, patches.origin_of(address), calls_);
  }
  bool is_replaced() { return memory_.get(kAt, 1)[0] == 0xe9; }

  const FileCode file_{"a file", {}};
  std::vector<CallSite> calls_ = {{0, kFileOffset + 0x100, {kCall.begin(), kCall.begin() + 7}, CallSite::kBehindLoad}};
};

TEST_F(CallPatchesTest, all_calls_of_a_file_become_jumps_where_they_are_mapped_and_are_what_the_file_says) {
  const auto call_at = [](std::uint64_t offset) {
    return CallSite{0, kFileOffset + offset, {kCall.begin(), kCall.begin() + 7}, CallSite::kBehindLoad};
  };
  memory_.put(kCode + 0x200, kCall);
  // The third has other bytes in memory; the fourth ends behind mapped memory; the fifth is unmapped.
  const std::vector<CallSite> calls = {call_at(0x100), call_at(0x200), call_at(0x300), call_at(kPage - 6), call_at(2 * kPage)};
  const FileCode other{"another file", {}};
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  patches.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  EXPECT_EQ(patches.files(), std::vector<const FileCode*>{&file_});
  patches.replace_calls(memory_, other, calls);
  EXPECT_FALSE(is_replaced());
  patches.replace_calls(memory_, file_, calls);
  EXPECT_TRUE(is_replaced());
  EXPECT_EQ(memory_.get(kCode + 0x200, 1)[0], 0xe9);
  EXPECT_EQ(memory_.get(kCode + 0x300, 1)[0], 0x90);
  EXPECT_EQ(patches.counts().calls, 2u);
  CodePatches without(false);
  memory_.put(kAt, kCall);
  without.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  without.replace_calls(memory_, file_, calls);
  EXPECT_FALSE(is_replaced());
}

TEST_F(CallPatchesTest, a_system_call_of_a_file_becomes_a_jump_and_is_shown_as_it_was) {
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  patches.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  EXPECT_FALSE(is_replaced()) << "not before it is asked for";
  EXPECT_TRUE(replace(patches));
  const Bytes now = memory_.get(kAt, 8);
  EXPECT_EQ(now[0], 0xe9);
  EXPECT_EQ((Bytes{now.begin() + 5, now.end()}), (Bytes{0xcc, 0xcc, 0xc3}));
  EXPECT_EQ(patches.counts().calls, 1u);
  std::vector<std::byte> page(kPage);
  memory_.read(kCode, page);
  patches.show_original(kCode, page);
  EXPECT_EQ(std::memcmp(page.data() + 0x100, kCall.data(), kCall.size()), 0);
  // Reloading the file restores its content; the next request installs the stub again.
  memory_.put(kAt, kCall);
  patches.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  EXPECT_TRUE(replace(patches));
  EXPECT_EQ(memory_.get(kAt, 8), now);
  EXPECT_EQ(patches.counts().calls, 1u);
}

TEST_F(CallPatchesTest, a_call_that_was_replaced_in_one_process_is_replaced_in_others_once) {
  KnownCalls known;
  const FileCode other{"another file", {}};
  CodePatches patches, elsewhere;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  patches.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  elsewhere.patch_file(memory_, other, kCode, kPage, kFileOffset);
  std::size_t from = 0, from_elsewhere = 0;
  known.add({&file_, kFileOffset + 0x100}, calls_);  // of no call: the call is 5 bytes behind
  known.replace_in(patches, memory_, from);
  EXPECT_EQ(from, 0u);
  EXPECT_FALSE(is_replaced()) << "none is known";
  for (int time = 0; time < 2; ++time) known.add({&file_, kFileOffset + 0x105}, calls_);
  known.replace_in(elsewhere, memory_, from_elsewhere);
  EXPECT_EQ(from_elsewhere, 1u) << "the second time it was known";
  EXPECT_FALSE(is_replaced()) << "the process has another file there";
  known.replace_in(patches, memory_, from);
  EXPECT_EQ(from, 1u);
  EXPECT_TRUE(is_replaced());
  memory_.put(kAt, kCall);
  known.replace_in(patches, memory_, from);
  EXPECT_FALSE(is_replaced()) << "tried once";
}

TEST_F(CallPatchesTest, what_is_not_known_as_one_is_left_alone) {
  CodePatches patches, traps(false);
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  EXPECT_FALSE(replace(patches)) << "of no file";
  patches.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  EXPECT_FALSE(replace(patches, kInstruction + 1));
  EXPECT_FALSE(replace(patches, kAt));
  traps.patch_file(memory_, file_, kCode, kPage, kFileOffset);
  EXPECT_FALSE(replace(traps)) << "without jumps";
  memory_.put(kAt, {0xb8, 40});
  EXPECT_FALSE(replace(patches)) << "the memory is not what the file says";
  memory_.put(kAt, kCall);
  patches.forget(memory_, kCode, kPage);
  EXPECT_FALSE(replace(patches)) << "something else is mapped there";
  EXPECT_FALSE(is_replaced());
  EXPECT_TRUE(patches.take_unpatched().empty());
}

TEST_F(CallPatchesTest, a_call_whose_end_is_of_another_file_is_left_alone) {
  constexpr std::uint64_t kLast = kPage - 6;  // the call is at the end of the page, and its last byte behind it
  memory_.map(kCode + kPage, kPage);
  memory_.put(kCode + kLast, kCall);
  calls_[0].offset = kFileOffset + kLast;
  const FileCode other{"another file", {}};
  for (const FileCode* const end : {&other, &file_}) {
    CodePatches patches;
    ASSERT_TRUE(patches.open_area(memory_, kArea));
    patches.patch_file(memory_, file_, kCode, kPage, kFileOffset);
    patches.patch_file(memory_, *end, kCode + kPage, kPage, kFileOffset + kPage);
    EXPECT_EQ(replace(patches, kCode + kLast + 5), end == &file_) << end->path;
  }
}

TEST_F(CallPatchesTest, of_a_range_that_is_mapped_anew_the_rest_stays_the_files) {
  CodePatches patches;
  memory_.map(kCode + kPage, 2 * kPage);
  patches.patch_file(memory_, file_, kCode, 3 * kPage, kFileOffset);
  patches.patch_memory(memory_, kCode + kPage, kPage);
  EXPECT_EQ(patches.origin_of(kCode + 8).offset, kFileOffset + 8);
  EXPECT_EQ(patches.origin_of(kCode + kPage).file, nullptr);
  EXPECT_EQ(patches.origin_of(kCode + 2 * kPage - 1).file, nullptr);
  EXPECT_EQ(patches.origin_of(kCode + 2 * kPage).offset, kFileOffset + 2 * kPage);
  EXPECT_EQ(patches.origin_of(kCode + 3 * kPage - 1).file, &file_);
  EXPECT_EQ(patches.origin_of(kCode + 3 * kPage).file, nullptr);
  EXPECT_EQ(patches.origin_of(kCode - 1).file, nullptr);
}

TEST_F(PatchesTest, what_is_read_for_analysis_is_the_program_as_it_was) {
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  memory_.put(kCode, kCounter);
  patches.patch_memory(memory_, kCode, kPage);
  std::vector<std::byte> page(kPage);
  memory_.read(kCode, page);
  const std::vector<std::byte> as_it_is = page;
  patches.show_original(kCode, page);
  EXPECT_EQ(std::memcmp(page.data(), kCounter.data(), kCounter.size()), 0);
  for (std::size_t n = 1; n < 16; ++n) {  // the range in two parts
    std::vector<std::byte> parts = as_it_is;
    patches.show_original(kCode, std::span(parts).first(n));
    patches.show_original(kCode + n, std::span(parts).subspan(n));
    EXPECT_EQ(parts, page) << n;
  }
  // The memory has other content, which is shown unchanged.
  memory_.put(kCode, {1, 2, 3, 4, 5, 6});
  memory_.read(kCode, page);
  patches.show_original(kCode, page);
  EXPECT_EQ(std::to_integer<int>(page[0]), 1);
}

TEST_F(PatchesTest, code_that_comes_back_to_its_place_finds_its_stub) {
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  memory_.put(kCode, kCounter);
  patches.patch_memory(memory_, kCode, kPage);
  const Bytes first = memory_.get(kCode, 6);
  for (int i = 0; i < 8'000; ++i) {  // more often than the area has room
    memory_.put(kCode, kCounter);
    patches.patch_memory(memory_, kCode, kPage);
    ASSERT_EQ(memory_.get(kCode, 6), first);
  }
  EXPECT_EQ(patches.counts().jumps, 1u);
}

TEST_F(PatchesTest, traps_of_code_that_is_gone_leave_the_table) {
  CodePatches patches(false);
  for (int i = 0; i < 5'000; ++i) {  // more often than the table has room
    const std::uint64_t at = kCode + static_cast<std::uint64_t>(i % 64) * 16;
    memory_.put(at, kShort);
    patches.patch_memory(memory_, kCode, kPage);
    ASSERT_TRUE(table_at(at)) << i;
    memory_.put(at, {0x90, 0x90, 0x90});
    patches.forget(memory_, kCode, kPage);
    ASSERT_FALSE(table_at(at)) << i;
  }
  EXPECT_TRUE(patches.take_unpatched().empty());
}

TEST_F(PatchesTest, a_jump_that_traps_is_as_it_was_when_it_is_released) {
  CodePatches patches;
  FileCode file;
  const Bytes code = {0x75, 0xfe, 0xeb, 0xfc};
  memory_.put(kCode, code);
  const protocol::PatchedInstruction jump{
      .kind = DecidedInstruction::kLoopJump, .destination = 5, .source = protocol::kJumpsOnCondition, .length = 2};
  EXPECT_FALSE(patches.trap_jump(memory_, kCode, jump)) << "of no file, it may be written over unseen";
  patches.patch_file(memory_, file, kCode, kPage, 0);
  ASSERT_TRUE(patches.trap_jump(memory_, kCode, jump));
  EXPECT_EQ(memory_.get(kCode, 4), (Bytes{0xf4, 0xfe, 0xeb, 0xfc}));
  ASSERT_TRUE(table_at(kCode));
  EXPECT_EQ(table_at(kCode)->word(), jump.word());
  std::vector<std::byte> shown(code.size());
  memory_.read(kCode, shown);
  patches.show_original(kCode, shown);
  EXPECT_EQ(std::to_integer<int>(shown[0]), 0x75);
  EXPECT_FALSE(patches.trap_jump(memory_, kCode, jump)) << "twice";
  patches.release_jump(memory_, kCode);
  EXPECT_EQ(memory_.get(kCode, 4), code);
  EXPECT_FALSE(table_at(kCode));
  ASSERT_TRUE(patches.trap_jump(memory_, kCode, jump)) << "again";
  memory_.put(kCode, {0x90});
  patches.release_jump(memory_, kCode);
  EXPECT_EQ(memory_.get(kCode, 1), Bytes{0x90}) << "somebody else's by now";
}

// The process that is copied, and a copy of it, are both the memory of this test.
TEST_F(PatchesTest, a_loop_in_which_a_copy_has_waited_traps_in_later_copies) {
  CodePatches original;
  const protocol::PatchedInstruction jump = patch_loop(original);
  original.keep_waiting_jumps();
  CodePatches first = original;
  original.trap_waiting_jumps(memory_);
  EXPECT_FALSE(original.trap_at(kCode)) << "no copy has waited";
  first.note_waiting(kCode, jump);
  first.note_waiting(kCode + 2 * kPage, jump);  // code of no file
  original.trap_waiting_jumps(memory_);
  EXPECT_EQ(memory_.get(kCode, 2), (Bytes{0xf4, 0xfe}));
  CodePatches second = original;
  ASSERT_TRUE(second.trap_at(kCode));
  EXPECT_EQ(second.trap_at(kCode)->word(), jump.word());
  EXPECT_FALSE(first.trap_at(kCode)) << "made before";
  EXPECT_FALSE(second.trap_at(kCode + 2 * kPage));

  second.note_not_waiting(kCode);
  EXPECT_TRUE(second.trap_at(kCode)) << "its own traps are another's concern";
  original.trap_waiting_jumps(memory_);
  EXPECT_EQ(memory_.get(kCode, 2), (Bytes{0x75, 0xfe}));
  second.note_waiting(kCode, jump);
  original.trap_waiting_jumps(memory_);
  EXPECT_FALSE(original.trap_at(kCode)) << "it has trapped in vain before";
}

TEST_F(PatchesTest, a_loop_of_another_file_at_the_same_address_does_not_trap_in_later_copies) {
  CodePatches original;
  FileCode file, other;
  memory_.put(kCode, {0x75, 0xfe, 0xeb, 0xfc});
  original.patch_file(memory_, file, kCode, kPage, 0);
  original.keep_waiting_jumps();
  CodePatches copy = original;
  copy.patch_file(memory_, other, kCode, kPage, 0);
  copy.note_waiting(kCode, {.kind = DecidedInstruction::kLoopJump, .length = 2});
  original.trap_waiting_jumps(memory_);
  EXPECT_FALSE(original.trap_at(kCode));
  EXPECT_EQ(memory_.get(kCode, 2), (Bytes{0x75, 0xfe}));
}

TEST_F(PatchesTest, a_copy_changes_no_replacement_of_the_original) {
  CodePatches original;
  const protocol::PatchedInstruction jump = patch_loop(original);
  ASSERT_TRUE(original.trap_jump(memory_, kCode, jump));
  CodePatches copy = original;
  copy.forget(memory_, kCode, kPage);
  EXPECT_FALSE(copy.is_replaced(kCode, 1));
  EXPECT_TRUE(original.is_replaced(kCode, 1));
}

TEST_F(PatchesTest, an_instruction_that_traps_is_not_released_as_a_jump) {
  memory_.put(kCode, kShort);
  CodePatches patches(false);
  patches.patch_memory(memory_, kCode, kPage);
  patches.release_jump(memory_, kCode);
  EXPECT_EQ(memory_.get(kCode, 2), (Bytes{0xf4, 0x90}));
  EXPECT_TRUE(table_at(kCode));
}

// A program that makes its code writable for a moment, or changes bytes next to a patch.
TEST_F(PatchesTest, what_has_been_replaced_stays_so_when_its_page_is_searched_again) {
  CodePatches patches(false);
  constexpr std::uint64_t kGone = kCode + 64;
  memory_.put(kCode, kShort);
  memory_.put(kGone, kShort);
  patches.patch_memory(memory_, kCode, kPage);
  memory_.put(kGone, {0x90, 0x90, 0x90});
  patches.patch_memory(memory_, kCode, kPage);
  EXPECT_EQ(memory_.get(kCode, 2), (Bytes{0xf4, 0x90}));
  EXPECT_TRUE(table_at(kCode));
  EXPECT_TRUE(patches.trap_at(kCode));
  EXPECT_FALSE(table_at(kGone));
  EXPECT_EQ(patches.counts().traps, 2u);
  std::vector<std::byte> shown(kShort.size());
  memory_.read(kCode, shown);
  patches.show_original(kCode, shown);
  EXPECT_EQ(std::to_integer<int>(shown[0]), 0x0f);
  EXPECT_TRUE(patches.take_unpatched().empty());
}

TEST_F(PatchesTest, a_range_is_known_if_all_its_instructions_are_replaced) {
  CodePatches patches(false);
  EXPECT_TRUE(patches.is_known(memory_, kCode, kPage)) << "there is none";
  memory_.put(kCode + 32, kShort);
  EXPECT_FALSE(patches.is_known(memory_, kCode, kPage));
  patches.patch_memory(memory_, kCode, kPage);
  EXPECT_TRUE(patches.is_known(memory_, kCode, kPage));
  memory_.put(kCode + 64, kShort);
  EXPECT_FALSE(patches.is_known(memory_, kCode, kPage));
  EXPECT_TRUE(patches.is_known(memory_, kCode, 64)) << "the second one is behind it";
  EXPECT_FALSE(patches.is_known(memory_, kCode + 64 * kPage, 16)) << "it is not mapped";
}

TEST_F(PatchesTest, code_that_cannot_be_written_is_told) {
  CodePatches patches;
  ASSERT_TRUE(patches.open_area(memory_, kArea));
  constexpr std::uint64_t kShared = kCode + 0x10000;
  memory_.map(kShared, kPage);
  memory_.put(kShared, kCounter);
  class Protected final : public host::ProgramMemory {
   public:
    explicit Protected(Pages& pages) : pages_(pages) {}
    bool read(host::ProgramAddress from, std::span<std::byte> to) override { return pages_.read(from, to); }
    bool write(host::ProgramAddress to, std::span<const std::byte> from) override {
      return to >> 12 != kShared >> 12 && pages_.write(to, from);
    }
    bool is_mapped(host::ProgramAddress, std::uint64_t, bool) override { return true; }
    Pages& pages_;
  } memory(memory_);
  patches.patch_memory(memory, kShared, kPage);
  const auto left = patches.take_unpatched();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].offset, kShared);
}

TEST_F(PatchesTest, a_full_table_is_told) {
  CodePatches patches(false);
  memory_.map(kCode, 16 * kPage);
  for (std::uint64_t at = kCode; at < kCode + 16 * kPage; at += 16) memory_.put(at, kShort);
  EXPECT_FALSE(patches.patch_memory(memory_, kCode, 16 * kPage));
  EXPECT_GT(patches.counts().traps, 0u);
  EXPECT_LT(patches.counts().traps, 16 * kPage / 16);
}

}  // namespace
}  // namespace verbatim::code
