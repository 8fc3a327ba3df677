// Files searched ahead give what they give when they are searched as they are needed.
#include "sim/supervisor/code/code_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace verbatim::code {
namespace {

const std::string kLoader = "/lib64/ld-linux-x86-64.so.2";

std::vector<std::uint64_t> places(const FileCode* file) {
  std::vector<std::uint64_t> result;
  if (file == nullptr) return result;
  for (const Site& site : file->found.sites) result.push_back(site.address);
  result.insert(result.end(), file->found.memory_maps.begin(), file->found.memory_maps.end());
  return result;
}

TEST(CodeFiles, searched_ahead_are_as_when_needed) {
  CodeFiles when_needed;
  const auto expected = places(when_needed.of(kLoader));
  ASSERT_FALSE(expected.empty());
  // Needed before the searcher has begun with it, or while it searches, or after.
  for (int round = 0; round < 20; ++round) {
    CodeFiles ahead;
    ahead.search_ahead({kLoader, kLoader, "/no/such/file", "/proc", "/etc/passwd"}, round % 2);
    EXPECT_EQ(places(ahead.of(kLoader)), expected);
    EXPECT_EQ(ahead.of("/etc/passwd"), nullptr);
    EXPECT_EQ(ahead.of("/no/such/file"), nullptr);
    EXPECT_EQ(ahead.of(kLoader), ahead.of(kLoader));
  }
}

TEST(CodeFiles, are_searched_for_calls_when_that_is_worth_it) {
  CodeFiles files;
  const FileCode* const loader = files.of(kLoader);
  ASSERT_NE(loader, nullptr);
  EXPECT_EQ(files.calls_of(*loader, CodeFiles::kTrapsWorthSearch - 1), nullptr);
  const std::vector<CallSite>* const calls = files.calls_of(*loader, 1);
  ASSERT_NE(calls, nullptr);
  EXPECT_FALSE(calls->empty());
  EXPECT_EQ(files.calls_of(*loader, 0), calls);
}

TEST(CodeFiles, another_file_of_the_same_name_has_none_of_its_calls) {
  const std::string path = testing::TempDir() + "code_files_test_library";
  std::filesystem::copy_file(kLoader, path, std::filesystem::copy_options::overwrite_existing);
  CodeFiles files;
  const FileCode* const file = files.of(path);
  ASSERT_NE(file, nullptr);
  std::filesystem::remove(path);
  std::filesystem::copy_file("/proc/self/exe", path);
  const std::vector<CallSite>* const calls = files.calls_of(*file, CodeFiles::kTrapsWorthSearch);
  std::filesystem::remove(path);
  ASSERT_NE(calls, nullptr);
  EXPECT_TRUE(calls->empty());
}

TEST(CodeFiles, searched_ahead_and_never_needed) {
  CodeFiles files;
  files.search_ahead({kLoader}, 0);
}

// Compares everything that a search finds.
void expect_same(const SearchResult& a, const SearchResult& b) {
  ASSERT_EQ(a.sites.size(), b.sites.size());
  for (std::size_t i = 0; i < a.sites.size(); ++i) {
    EXPECT_EQ(a.sites[i].address, b.sites[i].address);
    EXPECT_EQ(a.sites[i].offset, b.sites[i].offset);
    EXPECT_EQ(a.sites[i].instruction.word(), b.sites[i].instruction.word());
    EXPECT_EQ(a.sites[i].length, b.sites[i].length);
    EXPECT_EQ(a.sites[i].jump_length, b.sites[i].jump_length);
    EXPECT_EQ(a.sites[i].bytes, b.sites[i].bytes);
    ASSERT_EQ(a.sites[i].relatives.size(), b.sites[i].relatives.size());
    for (std::size_t j = 0; j < a.sites[i].relatives.size(); ++j) {
      EXPECT_EQ(a.sites[i].relatives[j].at, b.sites[i].relatives[j].at);
      EXPECT_EQ(a.sites[i].relatives[j].end, b.sites[i].relatives[j].end);
    }
  }
  ASSERT_EQ(a.doubts.size(), b.doubts.size());
  for (std::size_t i = 0; i < a.doubts.size(); ++i) {
    EXPECT_EQ(a.doubts[i].address, b.doubts[i].address);
    EXPECT_EQ(a.doubts[i].offset, b.doubts[i].offset);
    EXPECT_EQ(a.doubts[i].kind, b.doubts[i].kind);
  }
  EXPECT_EQ(a.memory_maps, b.memory_maps);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CodeTable, gives_back_what_the_search_found) {
  const std::string path = testing::TempDir() + "code_table_test." + std::to_string(getpid());
  const std::string library = "/proc/self/exe";
  ASSERT_EQ(CodeTable::write(path, {kLoader, library, "/etc/passwd", "/no/such/file"}), "");
  const CodeTable table(path);
  for (const std::string& file : {kLoader, library}) {
    const std::string bytes = content_of(file);
    const auto found = table.find(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(found) << file;
    const auto image = ElfImage::read(std::as_bytes(std::span(bytes)));
    expect_same(*found, search_image(*image, std::as_bytes(std::span(bytes))));
    struct stat status;
    ASSERT_EQ(stat(file.c_str(), &status), 0);
    const auto unread = table.find(status);
    ASSERT_TRUE(unread) << file;
    expect_same(*unread, *found);
    ++status.st_ctim.tv_nsec;
    EXPECT_FALSE(table.find(status)) << "it may have been changed";
  }
  std::string changed = content_of(kLoader);
  changed[changed.size() / 2] ^= 1;
  EXPECT_FALSE(table.find(std::as_bytes(std::span(changed)))) << "it is another file";
  const std::string text = content_of("/etc/passwd");
  EXPECT_FALSE(table.find(std::as_bytes(std::span(text))));

  CodeFiles with_table, without;
  with_table.use_table(CodeTable(path));
  ASSERT_NE(with_table.of(kLoader), nullptr);
  expect_same(with_table.of(kLoader)->found, without.of(kLoader)->found);

  // The findings do not depend on whether a file was in a table.
  CodeFiles ahead;
  ahead.use_table(CodeTable(path));
  ahead.search_ahead({kLoader}, 0);
  const int fd = open(kLoader.c_str(), O_RDONLY);
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  EXPECT_EQ(ahead.of(link)->path, CodeFiles().of(link)->path);
  std::filesystem::remove(path);
  close(fd);
}

TEST(CodeTable, that_is_damaged_or_of_another_executable_has_nothing) {
  const std::string path = testing::TempDir() + "code_table_test.damaged";
  const std::string loader = content_of(kLoader);
  const auto knows_loader = [&] { return CodeTable(path).find(std::as_bytes(std::span(loader))).has_value(); };
  ASSERT_EQ(CodeTable::write(path, {kLoader}), "");
  ASSERT_TRUE(knows_loader());
  const std::string whole = content_of(path);
  const auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  const std::size_t size_of_half = whole.size() / 2 / 8 * 8;
  const std::vector<std::size_t> sizes = {0, 8, 56, size_of_half, whole.size() - 8, whole.size() - 1};
  for (const std::size_t size : sizes) {
    write(whole.substr(0, size));
    EXPECT_FALSE(knows_loader()) << size << " bytes of it";
  }
  for (const std::size_t word : {0, 1, 2, 4, 5, 13}) {
    std::string changed = whole;
    changed[word * 8] ^= 1;
    write(changed);
    EXPECT_FALSE(knows_loader()) << "word " << word;
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(CodeTable(path).empty());
}

}  // namespace
}  // namespace verbatim::code
