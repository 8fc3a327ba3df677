// A recording holds what was put in, and says so when it does not.
#include "sim/observe/recording.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace verbatim::observe {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kFar = 0x9e3779b97f4a7c15ull;

// What is read, as one text each.
struct Read {
  std::vector<std::string> all;
  std::string failure;
};

Read read(const std::string& path) {
  Read result;
  RecordingVisitor visitor;
  visitor.on_entry = [&](const RecordedEntry& entry, const std::vector<std::string>& strings) {
    std::string text = std::string(entry.component) + " " + std::string(entry.kind) + " " + std::to_string(entry.time_ps);
    for (const std::uint64_t value : entry.values) text += " " + std::to_string(value);
    if (!entry.bytes.empty()) text += " " + std::string(entry.bytes);
    result.all.push_back(text + " of " + std::to_string(strings.size()));
  };
  visitor.on_line = [&](RecordedLine of, std::string_view text) {
    result.all.push_back(std::to_string(static_cast<int>(of)) + ": " + std::string(text));
  };
  visitor.on_file = [&](std::string_view name, std::string_view content) {
    result.all.push_back(std::string(name) + " has " + std::to_string(content.size()));
  };
  result.failure = read_recording(path, visitor);
  return result;
}

class Recording : public ::testing::Test {
 protected:
  void SetUp() override { path_ = ::testing::TempDir() + "/recording." + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove(path_); }

  // Two slots, values that go down and by much, bytes, lines, a file, and as many entries more.
  void write(int more, bool ends = true) {
    std::FILE* const file = std::fopen(path_.c_str(), "we");
    {
      RecordingWriter writer(file);
      const std::uint32_t a = writer.slot("hca/server", "completion", 4), b = writer.slot("host/client", "program-output", 1, true);
      EXPECT_EQ(writer.slot("hca/server", "completion", 4), a);
      writer.entry(a, 1'000'000, std::array<std::uint64_t, 4>{128, 72, ~0ull, 0});
      writer.entry(a, 999'999, std::array<std::uint64_t, 4>{127, 73, 1, 1ull << 63});
      const std::string words = "hello";
      writer.entry(b, 5, std::array<std::uint64_t, 1>{2}, std::as_bytes(std::span(words)));
      writer.line(RecordedLine::kFacts, "a fact\n");
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(more); ++i)
        writer.entry(a, static_cast<std::int64_t>(i * 7919), std::array<std::uint64_t, 4>{i * i, 1, i * kFar, 3});
      writer.file("run.json", "{}");
      if (ends) {
        EXPECT_TRUE(writer.finish());
      }
    }
    std::fclose(file);
  }

  std::string path_;
};

TEST_F(Recording, gives_back_what_was_put_in) {
  write(0);
  const Read all = read(path_);
  EXPECT_EQ(all.failure, "");
  EXPECT_THAT(all.all, ::testing::ElementsAre("hca/server completion 1000000 128 72 18446744073709551615 0 of 4",
                                              "hca/server completion 999999 127 73 1 9223372036854775808 of 4",
                                              "host/client program-output 5 2 hello of 4", "2: a fact\n", "run.json has 2"));
  EXPECT_TRUE(is_recording(path_));
}

TEST_F(Recording, of_many_blocks) {
  write(100'000);
  const Read all = read(path_);
  EXPECT_EQ(all.failure, "");
  ASSERT_EQ(all.all.size(), 100'005u);
  EXPECT_EQ(all.all[100'003], "hca/server completion 791892081 9999800001 1 " + std::to_string(99'999ull * kFar) + " 3 of 4");
}

TEST_F(Recording, one_that_was_cut_off_gives_what_it_has_and_says_so) {
  write(100'000);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  const Read half = read(path_);
  EXPECT_THAT(half.failure, HasSubstr("is cut off"));
  EXPECT_GT(half.all.size(), 1000u);
  write(100'000, false);
  EXPECT_THAT(read(path_).failure, HasSubstr("is cut off"));
}

TEST_F(Recording, another_version_or_a_changed_byte_is_refused) {
  write(1000);
  std::string bytes;
  {
    std::ifstream file(path_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = bytes;
    changed[at] = byte;
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << changed;
    return read(path_).failure;
  };
  EXPECT_THAT(with(kRecordingBegin.size() - 2, '2'), HasSubstr("is not a recording of this version"));
  EXPECT_TRUE(is_recording(path_));
  EXPECT_NE(with(bytes.size() / 2, static_cast<char>(bytes[bytes.size() / 2] ^ 1)), "");
  EXPECT_NE(with(bytes.size() - 1, static_cast<char>(bytes.back() ^ 1)), "");
  EXPECT_THAT(read(path_ + ".missing").failure, HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace verbatim::observe
