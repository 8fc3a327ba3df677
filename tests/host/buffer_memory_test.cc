#include "sim/host/buffer_memory.h"

#include <gtest/gtest.h>

namespace verbatim::host {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

TEST(BufferMemoryTest, reads_and_writes_cross_ranges_that_touch) {
  BufferMemory memory;
  memory.map(1000, 100);
  memory.map(1100, 100, false);
  const auto bytes = pattern(150);
  EXPECT_TRUE(memory.write(1025, bytes)) << "protection does not stop an adapter";
  std::vector<std::byte> back(150);
  EXPECT_TRUE(memory.read(1025, back));
  EXPECT_EQ(back, bytes);
  EXPECT_TRUE(memory.is_mapped(1000, 200, false));
  EXPECT_FALSE(memory.is_mapped(1000, 200, true));
  EXPECT_TRUE(memory.is_mapped(1000, 100, true));
}

TEST(BufferMemoryTest, holes_read_as_zero_and_swallow_writes) {
  BufferMemory memory;
  memory.map(1000, 10);
  memory.map(1020, 10);
  const auto bytes = pattern(40);
  EXPECT_FALSE(memory.write(995, bytes));
  std::vector<std::byte> back(40, std::byte{0xff});
  EXPECT_FALSE(memory.read(995, back));
  for (std::size_t i = 0; i < 40; ++i) {
    const bool mapped = (i >= 5 && i < 15) || (i >= 25 && i < 35);
    EXPECT_EQ(back[i], mapped ? bytes[i] : std::byte{0}) << i;
  }
  EXPECT_FALSE(memory.is_mapped(1000, 30, false));
  memory.unmap(1000);
  EXPECT_FALSE(memory.is_mapped(1000, 1, false));
  EXPECT_FALSE(memory.is_mapped(~0ull - 5, 100, false));
}

}  // namespace
}  // namespace verbatim::host
