// A recording returns its input, or reports that it is damaged.
#include "sim/observe/recording.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "sim/core/input_file.h"

namespace verbatim::observe {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kFar = 0x9e3779b97f4a7c15ull;

// Everything read, as one text each.
struct Read {
  std::vector<std::string> all;
  std::string failure;
};

std::string content_of(const std::string& path) { return InputFile(path).rest().value_or(""); }

Read read(const std::string& path) {
  Read result;
  RecordingVisitor visitor;
  visitor.on_entry = [&](const RecordedEntry& entry, const std::vector<std::string>& strings) {
    std::string text = std::string(entry.component) + " " + std::string(entry.kind) + " " + std::to_string(entry.time_ps);
    for (const std::uint64_t value : entry.values) text += " " + std::to_string(value);
    if (!entry.bytes.empty()) text += " " + std::string(entry.bytes);
    result.all.push_back(text + " of " + std::to_string(strings.size()));
    return true;
  };
  visitor.on_line = [&](RecordedLine of, std::string_view text) {
    result.all.push_back(std::to_string(static_cast<int>(of)) + ": " + std::string(text));
    return true;
  };
  visitor.on_file = [&](std::string_view name, std::string_view content) {
    result.all.push_back(std::string(name) + " has " + std::to_string(content.size()));
    return true;
  };
  result.failure = read_recording(content_of(path), visitor).sentence;
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
  EXPECT_TRUE(is_recording(content_of(path_)));
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
  EXPECT_TRUE(is_recording(content_of(path_)));
  EXPECT_NE(with(bytes.size() / 2, static_cast<char>(bytes[bytes.size() / 2] ^ 1)), "");
  EXPECT_NE(with(bytes.size() - 1, static_cast<char>(bytes.back() ^ 1)), "");
}

TEST_F(Recording, bytes_after_its_end_and_a_flipped_byte_are_damage) {
  write(1000);
  const std::string bytes = content_of(path_);
  EXPECT_EQ(read_recording(bytes + "x", {}).sentence, "is damaged: bytes follow its end");
  EXPECT_EQ(read_recording(bytes + std::string(1, '\0'), {}).sentence, "is damaged: bytes follow its end");
  const std::vector<std::string> all = read(path_).all;
  for (std::size_t at = kRecordingBegin.size(); at < bytes.size(); at += 7) {
    std::string flipped = bytes;
    flipped[at] ^= 0x10;
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << flipped;
    const Read damaged = read(path_);
    EXPECT_TRUE(!damaged.failure.empty() || damaged.all == all) << at;  // some bits of a frame have no meaning
  }
}

// One string "a", one slot of it with `values`, and what follows.
std::string entries(char values, std::string_view more) {
  return std::string("\1\1a\2\0\0", 6) + values + std::string(1, '\0') + std::string(more);
}

TEST(RecordingEntries, that_cannot_be_are_damage) {
  using namespace std::string_view_literals;
  const auto sentence = [](std::string_view bytes) { return read_entries(bytes, false, {}).sentence; };
  EXPECT_EQ(sentence(entries(1, "\10\2\2\0"sv)), "");
  EXPECT_EQ(sentence(entries(1, "\10\2\2"sv)), "is damaged: it has no end");
  EXPECT_EQ(sentence(entries(1, "\10\2\2\0\0"sv)), "is damaged: entries follow its end");
  EXPECT_EQ(sentence(entries(5, "\0"sv)), "is damaged: it has entries with too many values");
  EXPECT_EQ(sentence(entries(1, "\11\2\2\0"sv)), "is damaged: it has an entry of an unknown kind");
  EXPECT_EQ(sentence(entries(1, "\10\1\2\0"sv)), "is damaged: it has a time that is outside of virtual time");
  const std::string latest = "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1";
  EXPECT_EQ(sentence(entries(1, "\10" + latest + "\2\10" + latest + std::string("\2\0", 2))),
            "is damaged: it has a time that is outside of virtual time");
  EXPECT_EQ(sentence(entries(1, "\10\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\2\0"sv)), "is damaged: a number in it is too large");
  EXPECT_EQ(sentence("\2\0\0\1\0\0"sv), "is damaged: it uses a name before it has it");
  EXPECT_EQ(sentence("\3\7\1a\0"sv), "is damaged: it has a line of an unknown kind");
  EXPECT_EQ(sentence("\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1a"sv), "is damaged: it has no end");
  EXPECT_EQ(read_entries(entries(1, "\10\2"), true, {}).kind, RecordingResult::Kind::kCutOff);
}

// Zeros are compressed most of all.
std::string recording_of_zeros(std::size_t bytes) {
  std::string file(kRecordingBegin), frame(ZSTD_compressBound(bytes), '\0');
  const std::string zeros(bytes, '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), zeros.data(), zeros.size(), 1));
  return file + frame;
}

TEST(RecordingLimits, expansion_beyond_that_of_a_run_is_refused) {
  const std::string file = recording_of_zeros(300u << 20);
  ASSERT_LT(file.size(), 100'000u);
  const RecordingResult result = read_recording(file, {});
  EXPECT_EQ(result.kind, RecordingResult::Kind::kUnusable);
  EXPECT_THAT(result.sentence, HasSubstr(" MiB, which is too much for a recording of its size"));
}

// ib_write_lat repeats itself exactly: 2.5 million records in less than 6 kB.
TEST_F(Recording, a_run_that_repeats_itself_is_read) {
  std::FILE* const file = std::fopen(path_.c_str(), "we");
  {
    RecordingWriter writer(file);
    const std::uint32_t slot = writer.slot("hca/server", "completion", 4);
    for (std::uint64_t i = 0; i < 2'500'000; ++i)
      writer.entry(slot, static_cast<std::int64_t>(i * 1'000'000), std::array<std::uint64_t, 4>{i, 1, 2, 3});
    EXPECT_TRUE(writer.finish());
  }
  std::fclose(file);
  EXPECT_LT(std::filesystem::file_size(path_), 10'000u);
  std::size_t entries = 0;
  RecordingVisitor visitor;
  visitor.on_entry = [&](const RecordedEntry&, const std::vector<std::string>&) { return ++entries != 0; };
  EXPECT_EQ(read_recording(content_of(path_), visitor).sentence, "");
  EXPECT_EQ(entries, 2'500'000u);
}

}  // namespace
}  // namespace verbatim::observe
