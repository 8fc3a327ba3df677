// The index accepts nothing that could leave the folder, appear twice, or contradict itself.
#include "sim/bundle/checksum.h"
#include "tests/bundle/sample.h"

namespace verbatim::bundle {
namespace {

// The finding about an index, without "is damaged: ".
std::string finding_of(const BundleIndex& index) {
  BundleIndex read;
  const std::string finding = parse_index(index_bytes(index), &read);
  constexpr std::string_view kDamaged = "is damaged: ";
  if (finding.empty()) {
    EXPECT_EQ(read.looks, index.looks);
    EXPECT_EQ(read.documents, index.documents);
    for (std::size_t i = 0; i < index.contents.size(); ++i) {
      EXPECT_EQ(read.contents[i].checksum, index.contents[i].checksum);
      EXPECT_EQ(read.contents[i].frame_checksum, index.contents[i].frame_checksum);
    }
    return "";
  }
  EXPECT_TRUE(finding.starts_with(kDamaged));
  return finding.substr(kDamaged.size());
}

BundleIndex index_of(const supervisor::MachineLooks& looks) {
  BundleIndex index;
  index.manifest = "{}";
  index.contents.push_back({4, 9, checksum_text({1, 2}), checksum_text({3, 4})});
  index.looks = looks;
  for (const auto& [path, look] : looks) {
    if (look.has_content) index.looks_contents[path] = 0;
  }
  return index;
}

std::string finding_of(const std::string& path, const supervisor::MachineLook& look) {
  return finding_of(index_of({{path, look}}));
}

TEST(BundleIndex, accepts_every_kind_of_look) {
  EXPECT_EQ(finding_of(index_of(sample_looks())), "");
  EXPECT_EQ(finding_of("", look_of_folder({})), "");
  EXPECT_EQ(finding_of("/" + std::string(255, 'x'), look_of_file(07777, -1)), "");
  EXPECT_EQ(finding_of("/a\n\x01\xff", look_of_link("/../..")),
            "");  // targets are answers of readlink(2), not followed
}

TEST(BundleIndex, refuses_paths_that_leave_the_folder) {
  for (const char* path :
       {"a", "/", "//a", "/a/", "/a//b", "/.", "/..", "/a/../b", "/a/./b", "../a", "/a/.."}) {
    EXPECT_EQ(finding_of(path, look_of_nothing()), std::string("path ") + path + " is not allowed");
    EXPECT_NE(finding_of(path, look_of_folder({})), "");
  }
  EXPECT_EQ(finding_of(std::string("/a\0b", 4), look_of_nothing()), "path /a\\x00b is not allowed");
  EXPECT_NE(finding_of("/" + std::string(256, 'x'), look_of_nothing()), "");
  std::string deep;
  for (int i = 0; i < 2048; ++i) deep += "/a";
  EXPECT_NE(finding_of(deep, look_of_nothing()), "");
  EXPECT_EQ(finding_of(deep.substr(2), look_of_nothing()), "");
}

TEST(BundleIndex, refuses_documents_that_leave_the_folder) {
  for (const char* name : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "../a"}) {
    BundleIndex index = index_of({});
    index.documents[name] = 0;
    EXPECT_EQ(finding_of(index), std::string("the name ") + name + " of a document is not allowed");
  }
  BundleIndex index = index_of({});
  index.documents = {{"a", 0}, {"a/b", 0}};
  EXPECT_EQ(finding_of(index), "path a/b is below a file or link");
  index.documents = {{"a", 0}, {"a-b", 0}, {"ab/c", 0}};
  EXPECT_EQ(finding_of(index), "");
}

TEST(BundleIndex, refuses_paths_below_files_and_links) {
  for (const auto& above : {look_of_link("x"), look_of_file(0644, 4)}) {
    for (const auto& below : {look_of_link("x"), look_of_file(0644, 4), look_of_folder({})}) {
      EXPECT_EQ(finding_of(index_of({{"/a", above}, {"/a-", above}, {"/a/b", below}})),
                "path /a/b is below a file or link");
      EXPECT_EQ(finding_of(index_of({{"/a", above}, {"/a/b/c", below}})),
                "path /a/b/c is below a file or link");
      EXPECT_EQ(finding_of(index_of({{"", above}, {"/a", below}})), "path /a is below a file or link");
      EXPECT_EQ(finding_of(index_of({{"/a", above}, {"/ab", below}, {"/b", above}})), "");
    }
    EXPECT_EQ(finding_of(index_of({{"/a", above}, {"/a/b", look_of_nothing(ENOTDIR)}})), "");
  }
}

TEST(BundleIndex, refuses_looks_that_contradict_themselves) {
  supervisor::MachineLook look = look_of_file(0644, 4);
  look.attributes.mode = S_IFCHR | 0666;
  EXPECT_EQ(finding_of("/a", look), "/a is no file and has a content");
  look.has_content = false;
  EXPECT_EQ(finding_of("/a", look), "");
  look.target = "b";
  EXPECT_EQ(finding_of("/a", look), "/a is no link and has a target");
  look = look_of_link("b");
  look.names.emplace();
  EXPECT_EQ(finding_of("/a", look), "/a is no folder and has names");
  EXPECT_EQ(finding_of("/a", look_of_link(std::string("a\0", 2))), "the link /a has no valid target");
  EXPECT_EQ(finding_of("/a", look_of_link(std::string(4096, 'x'))), "the link /a has no valid target");
  look = look_of_file(0644, 4);
  look.attributes.mode = 01000000;
  EXPECT_EQ(finding_of("/a", look), "/a has an unknown mode");
  EXPECT_EQ(finding_of("/a", look_of_nothing(4096)), "/a has an unknown errno");
}

TEST(BundleIndex, refuses_listings_with_invalid_names) {
  for (const char* name : {"", ".", "..", "a/b"})
    EXPECT_EQ(finding_of("/a", look_of_folder({name, "z"})), "a name in folder /a is none");
  for (const std::vector<std::string>& names : {std::vector<std::string>{"b", "a"}, {"a", "a"}})
    EXPECT_EQ(finding_of("/a", look_of_folder(names)), "the names in folder /a are not sorted");
}

TEST(BundleIndex, refuses_contents_that_do_not_exist) {
  BundleIndex index = index_of({{"/a", look_of_file(0644, 4)}});
  index.looks_contents["/a"] = 1;
  EXPECT_EQ(finding_of(index), "/a has a content that does not exist");
  index = index_of({});
  index.documents["d"] = 1;
  EXPECT_EQ(finding_of(index), "d has a content that does not exist");
  index.documents["d"] = 0;
  index.contents[0].compressed = 0;
  EXPECT_EQ(finding_of(index), "document d has no content");
}

// Repetitive paths are compressed to nothing, and each would be thousands of folders.
TEST(BundleIndex, refuses_too_many_folders) {
  supervisor::MachineLooks looks;
  const auto add = [&](int number) {
    std::string path = "/" + std::to_string(1000 + number);
    for (int i = 0; i < 1999; ++i) path += "/a";
    looks[path] = look_of_file(0644, 4);
  };
  for (int number = 0; number < 500; ++number) add(number);
  EXPECT_EQ(finding_of(index_of(looks)), "");
  add(500);
  EXPECT_EQ(finding_of(index_of(looks)), "its files are in too many folders");
}

// The writer cannot make these, so bytes of a valid index are swapped.
TEST(BundleIndex, refuses_duplicates_and_disorder) {
  std::string bytes = index_bytes(index_of({{"/a", look_of_nothing()}, {"/b", look_of_nothing()}}));
  BundleIndex read;
  ASSERT_EQ(parse_index(bytes, &read), "");
  const auto with = [&](char a, char b) {
    std::string changed = bytes;
    changed[bytes.find("/a") + 1] = a;
    changed[bytes.find("/b") + 1] = b;
    BundleIndex again;
    return parse_index(changed, &again);
  };
  EXPECT_EQ(with('a', 'a'), "is damaged: path /a is not in its place, or there twice");
  EXPECT_EQ(with('b', 'a'), "is damaged: path /a is not in its place, or there twice");
  EXPECT_EQ(with('a', 'b'), "");
}

TEST(BundleIndex, refuses_every_cut_and_bytes_after_the_end) {
  BundleIndex index = index_of(sample_looks());
  index.documents["d"] = 0;
  const std::string bytes = index_bytes(index);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    BundleIndex read;
    EXPECT_NE(parse_index(bytes.substr(0, size), &read), "") << size;
  }
  BundleIndex read;
  EXPECT_EQ(parse_index(bytes + '\0', &read), "is damaged: bytes follow its index");
  // A number of entries that no file could hold takes no memory.
  std::string many(16, '\0');
  many.replace(8, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_EQ(parse_index(many, &read), "is damaged: it ends within a number or text");
}

}  // namespace
}  // namespace verbatim::bundle
