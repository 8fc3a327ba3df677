// Return addresses from call frame information, for this test program and for damaged files.
#include "sim/supervisor/code/call_frames.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "sim/supervisor/machine/call_stack.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/machine/memory_places.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using supervisor::StackStart;

std::span<const std::byte> own_file() {
  static const std::string content = support::text_of_file("/proc/self/exe");
  return std::as_bytes(std::span(content));
}

std::optional<std::uint64_t> own_memory(std::uint64_t address) {
  std::uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

struct Told {
  std::vector<std::uint64_t> addresses;
  std::string callers;
  std::uint64_t innermost = 0;
};

// Stores the return addresses of its caller. call_frames_inner has a frame pointer because of its
// variable-length array; this function has none.
__attribute__((noinline)) void look(Told* told) {
  const auto frame = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const StackStart start{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), frame + 16, own_memory(frame).value()};
  told->innermost = start.address;
  told->addresses = supervisor::return_addresses(::getpid(), start, own_memory);
  told->callers = supervisor::callers_text(::getpid(), start.address, start, own_memory);
}
extern "C" __attribute__((noinline)) void call_frames_inner(Told* told, int size) {
  volatile char bytes[size];  // NOLINT
  bytes[size - 1] = 1;
  look(told);
  bytes[0] = bytes[size - 1];
}
extern "C" __attribute__((noinline)) void call_frames_outer(Told* told, int size) {
  call_frames_inner(told, size);
  asm volatile("");
}
extern "C" __attribute__((noinline)) void call_frames_again(Told* told, int depth) {
  depth == 0 ? call_frames_outer(told, 99) : call_frames_again(told, depth - 1);
  asm volatile("");
}

TEST(CallFrames, all_functions_on_the_stack_are_found_and_the_first_eight_are_named) {
  Told told;
  call_frames_outer(&told, 1000);
  ASSERT_GE(told.addresses.size(), 5u) << told.callers;
  EXPECT_EQ(told.addresses[0], told.innermost);
  EXPECT_TRUE(told.callers.starts_with(" (in call_frames_inner, from call_frames_outer at ")) << told.callers;
  EXPECT_NE(told.callers.find("all_functions_on_the_stack_are_found_and_the_first_eight_are_named_Test::TestBody at "), std::string::npos)
      << told.callers;
  Told deep;
  call_frames_again(&deep, 20);
  EXPECT_GE(deep.addresses.size(), 22u);
  std::size_t told_of = 0;
  for (std::size_t at = 0; (at = deep.callers.find(", from ", at)) != std::string::npos; ++at) ++told_of;
  EXPECT_EQ(told_of, 7u) << deep.callers;
}

TEST(CallFrames, what_is_not_known_ends_the_walk) {
  EXPECT_TRUE(supervisor::return_addresses(::getpid(), {}, own_memory).empty());
  Told told;
  call_frames_outer(&told, 10);
  const auto nothing = [](std::uint64_t) -> std::optional<std::uint64_t> { return std::nullopt; };
  EXPECT_EQ(supervisor::return_addresses(::getpid(), {told.innermost, 4096, 4096}, nothing).size(), 1u);
  // Every stack word is the same return address.
  const auto same = [&](std::uint64_t) -> std::optional<std::uint64_t> { return told.innermost; };
  EXPECT_LE(supervisor::return_addresses(::getpid(), {told.innermost, 4096, 8192}, same).size(), 64u);
  EXPECT_EQ(supervisor::callers_text(::getpid(), 4096, {told.innermost, 4096, 4096}, nothing), "");
}

TEST(CallFrames, damaged_files_are_read_without_harm) {
  const auto inner = reinterpret_cast<std::uint64_t>(&call_frames_inner);
  const auto file = supervisor::mapped_file_at(supervisor::lines_of_mappings(::getpid()), inner);
  const std::uint64_t address = inner - file.value().first + code::first_address(own_file()).value();
  ASSERT_TRUE(code::frame_rule(own_file(), address).has_value());
  EXPECT_EQ(code::function_at(own_file(), address).value().name, "call_frames_inner");
  EXPECT_FALSE(code::frame_rule(own_file(), 0).has_value());
  EXPECT_FALSE(code::frame_rule({}, address).has_value());
  EXPECT_FALSE(code::function_at({}, address).has_value());
  const std::vector<std::byte> whole(own_file().begin(), own_file().end());
  std::uint64_t random = 1;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::byte> damaged = whole;
    // Damages the file's beginning, where the headers are, in every third round, and any place in the others.
    for (int i = 0; i < 4000; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::size_t range = round % 3 == 0 ? 1024 : damaged.size();
      const std::size_t at = random % range;
      if (at > 3 && (at < 4 || at > 6)) damaged[at] = static_cast<std::byte>(random >> 56);
    }
    code::frame_rule(damaged, address);
    code::function_at(damaged, address);
    damaged.resize(random % damaged.size());
    code::frame_rule(damaged, address);
  }
}

}  // namespace
}  // namespace verbatim
