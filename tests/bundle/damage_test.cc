// A damaged or hostile bundle is refused with a sentence, and nothing is written outside of the folder.
#include "sim/bundle/checksum.h"
#include "sim/bundle/frames.h"
#include "tests/bundle/sample.h"

namespace verbatim::bundle {
namespace {

namespace fs = std::filesystem;

// The sentence about a file with these bytes, after its name; "": it is a bundle without damage.
std::string finding_of(const SampleFolder& folder, const std::string& bytes) {
  const std::string path = folder.at("damaged"), out = folder.at("out");
  write_file(path, bytes);
  std::string failure;
  const auto bundle = Bundle::open(path, &failure);
  EXPECT_EQ(bundle.has_value(), failure.empty());
  if (bundle) {
    // Damage is found without expanding, and also by expanding, which is tried for some inputs because it takes longer.
    // Contents that deceive are found when they are expanded.
    const auto damage = bundle->damage();
    static int inputs = 0;
    if (!damage.empty() && ++inputs % 16 != 1) return damage[0].substr(path.size());
    failure = bundle->extract(out);
    fs::remove_all(out);
    if (!damage.empty()) {
      EXPECT_NE(failure, "");
      return damage[0].substr(path.size());
    }
  }
  if (failure.empty()) return "";
  EXPECT_TRUE(failure.starts_with(path)) << failure;
  return failure.substr(path.size());
}

std::string sample_bytes(const SampleFolder& folder) {
  write_sample(folder, folder.at("sample"));
  return text_of(folder.at("sample"));
}

TEST(DamagedBundle, every_cut_is_found) {
  const SampleFolder folder;
  const std::string whole = sample_bytes(folder);
  EXPECT_EQ(finding_of(folder, whole), "");
  for (std::size_t size = 0; size < whole.size(); size += size < 100 || whole.size() - size < 700 ? 1 : 497) {
    const std::string finding = finding_of(folder, whole.substr(0, size));
    EXPECT_EQ(finding, size < kBundleMark.size() ? " is not a bundle; `verbatim pack` makes them"
                                                 : " is cut off or damaged: its end is missing");
  }
  EXPECT_EQ(finding_of(folder, whole + "x"), " is cut off or damaged: its end is missing");
}

TEST(DamagedBundle, every_flipped_bit_is_found) {
  const SampleFolder folder;
  const std::string whole = sample_bytes(folder);
  std::size_t tried = 0;
  for (std::size_t at = 0; at < whole.size(); at += whole.size() - at < 700 || at < 100 ? 1 : 97) {
    for (const int bit : {0, 3, 7}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
      ++tried;
      EXPECT_NE(finding_of(folder, bytes), "") << at << " " << bit;
    }
  }
  EXPECT_GT(tried, 1000u);
}

TEST(DamagedBundle, a_damaged_content_is_named) {
  const SampleFolder folder;
  std::string bytes = sample_bytes(folder);
  std::string failure;
  const auto bundle = Bundle::open(folder.at("sample"), &failure);
  std::size_t offset = kBundleBegin.size();
  for (std::uint32_t number = 0; &bundle->index().contents[number] != bundle->content_of("/usr/lib/ld.so");
       ++number)
    offset += bundle->index().contents[number].compressed;
  bytes[offset + bundle->content_of("/usr/lib/ld.so")->compressed / 2] ^= 0x55;
  const std::string finding = finding_of(folder, bytes);
  EXPECT_EQ(finding, ": /usr/lib/copy.so, /usr/lib/ld.so is damaged: it does not have its checksum");
}

TEST(DamagedBundle, a_summary_counts_damaged_contents) {
  const SampleFolder folder;
  std::string bytes = sample_bytes(folder);
  std::string failure;
  EXPECT_EQ(Bundle::open(folder.at("sample"), &failure)->damage_summary(), "");
  const auto damaged = [&](std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_file(folder.at("damaged"), bytes);
    return Bundle::open(folder.at("damaged"), &failure)->damage_summary().substr(folder.at("damaged").size());
  };
  const std::size_t first = kBundleBegin.size();
  EXPECT_EQ(damaged(first), ": /etc/hosts is damaged: it does not have its checksum");
  EXPECT_EQ(damaged(first + Bundle::open(folder.at("sample"), &failure)->index().contents[0].compressed),
            ": /etc/hosts is damaged: it does not have its checksum, and so are 1 other contents; `verbatim unpack --list` "
            "names all");
}

TEST(DamagedBundle, other_files_are_refused) {
  const SampleFolder folder;
  EXPECT_EQ(finding_of(folder, "verbatim-recording 1\nx"), " is not a bundle; `verbatim pack` makes them");
  EXPECT_EQ(finding_of(folder, "verbatim-bundle 2\n" + std::string(100, 'x')),
            " is a bundle of another version; this one reads version 1");
  std::string failure;
  EXPECT_FALSE(Bundle::open(folder.at("missing"), &failure));
  EXPECT_EQ(failure, folder.at("missing") + " cannot be read: No such file or directory");
  EXPECT_FALSE(Bundle::open("/dev/zero", &failure));
  EXPECT_EQ(failure, "/dev/zero is not a bundle: it is not a regular file");
  fs::create_directory(folder.at("folder"));
  EXPECT_FALSE(Bundle::open(folder.at("folder"), &failure));
  EXPECT_EQ(failure, folder.at("folder") + " is not a bundle: it is not a regular file");
}

// A file with a valid checksum around any index.
std::string bundle_around(const std::string& contents, const std::string& index) {
  const std::string frame = compressed_frame(index);
  return std::string(kBundleBegin) + contents + frame + bundle_end(frame, index.size());
}

BundleIndex index_with(const std::string& contents, std::uint64_t bytes) {
  BundleIndex index;
  index.contents.push_back(
      {bytes, contents.size(), checksum_text(checksum_of("text")), checksum_text(checksum_of(contents))});
  index.looks["/file"] = look_of_file(0644, 4);
  index.looks_contents["/file"] = 0;
  return index;
}

TEST(HostileBundle, contents_have_their_declared_size) {
  const SampleFolder folder;
  const std::string frame = compressed_frame("text");
  const auto finding = [&](const std::string& contents, std::uint64_t bytes) {
    return finding_of(folder, bundle_around(contents, index_bytes(index_with(contents, bytes))));
  };
  EXPECT_EQ(finding(frame, 4), "");
  EXPECT_EQ(finding(frame, 3), ": /file is damaged: it has more bytes than the index says");
  EXPECT_EQ(finding(frame, 5), ": /file is damaged: it has fewer bytes than the index says");
  EXPECT_EQ(finding(frame + "x", 4), ": /file is damaged: bytes follow its end");
  EXPECT_EQ(finding(frame + frame, 4), ": /file is damaged: bytes follow its end");
  EXPECT_EQ(finding(frame.substr(0, frame.size() - 1), 4), ": /file is damaged: it has no end");
  EXPECT_EQ(finding(compressed_frame("tent"), 4),
            ": /file is damaged: its content does not have its checksum");
}

TEST(HostileBundle, sizes_that_do_not_fit_are_refused) {
  const SampleFolder folder;
  const std::string frame = compressed_frame("text");
  BundleIndex index = index_with(frame, 4);
  for (const std::uint64_t size : {frame.size() - 1, frame.size() + 1, ~std::uint64_t{0}}) {
    index.contents[0].compressed = size;
    EXPECT_EQ(finding_of(folder, bundle_around(frame, index_bytes(index))),
              " is damaged: its contents have other sizes than its index says");
  }
  index.contents[0] = index_with(frame, std::uint64_t{1} << 40).contents[0];
  EXPECT_EQ(finding_of(folder, bundle_around(frame, index_bytes(index))),
            " expands to more than 256 MiB, which is too much for a bundle of its size");
  // Two files whose sum overflows.
  index.contents[0].bytes = ~std::uint64_t{0};
  index.documents["document"] = 0;
  EXPECT_NE(
      finding_of(folder, bundle_around(frame, index_bytes(index))).find(" expands to more than 256 MiB"),
      std::string::npos);
}

// Each path is a file of its own.
TEST(HostileBundle, copies_count_as_expanded) {
  const SampleFolder folder;
  const std::string frame = compressed_frame("text");
  BundleIndex index = index_with(frame, std::uint64_t{100} << 20);
  index.looks["/file2"] = look_of_file(0644, 4);
  index.looks_contents["/file2"] = 0;
  EXPECT_EQ(finding_of(folder, bundle_around(frame, index_bytes(index))),
            ": /file, /file2 is damaged: it has fewer bytes than the index says");
  index.documents["file3"] = 0;
  EXPECT_NE(
      finding_of(folder, bundle_around(frame, index_bytes(index))).find(" expands to more than 256 MiB"),
      std::string::npos);
}

TEST(HostileBundle, index_sizes_are_limited) {
  const SampleFolder folder;
  const std::string index(std::size_t{4} << 20, '\0');
  EXPECT_EQ(finding_of(folder, bundle_around("", index)), " is damaged: its index has an impossible size");
  const std::string small(1000, '\0');
  const std::string frame = compressed_frame(small);
  for (const std::uint64_t size : {0, 999, 1001}) {
    EXPECT_EQ(finding_of(folder, std::string(kBundleBegin) + frame + bundle_end(frame, size)),
              " is damaged: its index does not have its checksum");
  }
  EXPECT_EQ(finding_of(folder, std::string(kBundleBegin) + frame + bundle_end(frame + frame, 1000)),
            " is damaged: its index has an impossible size");
}

}  // namespace
}  // namespace verbatim::bundle
