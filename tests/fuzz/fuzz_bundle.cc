// Bundles: an input that begins like one is read as a file, any other as an index, which is also put into a
// file with valid checksums. Accepted indices are written again, and no path of them leaves the folder of
// `extract`.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/bundle/bundle.h"
#include "sim/bundle/bundle_index.h"
#include "sim/bundle/bundle_paths.h"
#include "sim/bundle/frames.h"
#include "sim/core/check.h"

namespace {

using namespace verbatim;
namespace fs = std::filesystem;

// Every input of these bytes is the same file in memory, so that nothing is written to disks.
std::string memory_file(std::string_view bytes) {
  static const int file = ::memfd_create("bundle", MFD_CLOEXEC);
  CHECK(::ftruncate(file, 0) == 0 &&
        ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return "/proc/self/fd/" + std::to_string(file);
}

// An independent check: normalised, the path is the same, and stays below the folder.
void expect_inside(const std::string& path) {
  CHECK(path.find('\0') == path.npos && path.size() <= 4096);
  const fs::path whole = "/folder/" + path;
  CHECK(whole.lexically_normal() == whole && whole.string().starts_with("/folder/"));
}

void expect_consistent(const bundle::BundleIndex& index) {
  for (const auto& [path, look] : index.looks) {
    if (!path.empty()) expect_inside(path.substr(1));
    CHECK(look.has_content == index.looks_contents.contains(path));
  }
  for (const auto& [path, number] : index.looks_contents) {
    CHECK(number < index.contents.size());
    for (fs::path above = fs::path(path).parent_path(); above != "/" && !above.empty();
         above = above.parent_path())
      CHECK(!index.looks_contents.contains(above.string()));
  }
  for (const auto& [name, number] : index.documents) {
    expect_inside(name);
    CHECK(index.contents.at(number).is_included());
  }
  (void)bundle::suspicious_paths(index.looks);
}

void extract(const bundle::Bundle& bundle) {
  static const fs::path folder = [] {
    std::string pattern = fs::exists("/dev/shm") ? "/dev/shm/fuzz_bundle_XXXXXX" : "/tmp/fuzz_bundle_XXXXXX";
    return fs::path(::mkdtemp(pattern.data()));
  }();
  const std::string failure = bundle.extract(folder / "out");
  if (failure.empty()) CHECK(bundle.damage().empty());
  for (const auto& entry : fs::directory_iterator(folder)) CHECK(entry.path() == folder / "out");
  fs::remove_all(folder);
  fs::create_directory(folder);
}

// Files beyond this size are not written, so that inputs take milliseconds.
constexpr std::uint64_t kMostExtracted = std::uint64_t{1} << 20;

void read_file(std::string_view bytes, bool extracts) {
  std::string failure;
  const auto bundle = bundle::Bundle::open(memory_file(bytes), &failure);
  CHECK(bundle.has_value() == failure.empty());
  if (!bundle) {
    CHECK(failure.starts_with("/proc/self/fd/"));
    return;
  }
  expect_consistent(bundle->index());
  CHECK(bundle->checksum().size() == 32);
  CHECK(bundle::extracted_bytes(bundle->index()) <= bundle::most_content_bytes(bytes.size()));
  if (bundle::extracted_bytes(bundle->index()) > kMostExtracted) return;
  if (extracts)
    extract(*bundle);
  else
    (void)bundle->damage();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with(bundle::kBundleMark)) {
    read_file(bytes, size % 128 == 0);
    return 0;
  }
  bundle::BundleIndex index;
  const std::string finding = bundle::parse_index(bytes, &index);
  if (finding.empty()) {
    expect_consistent(index);
    CHECK(bundle::index_bytes(index) == bytes);
  } else {
    CHECK(finding.starts_with("is damaged: "));
  }
  // Compressing takes longer than reading, so only some inputs become files. The input's end is the only
  // content.
  if (size % 32 == 0) {
    const std::string frame = bundle::compressed_frame(bytes);
    const std::uint64_t contents = index.contents.size() == 1 ? index.contents[0].compressed % 4096 : 0;
    read_file(std::string(bundle::kBundleBegin) + std::string(contents, 'x') + frame +
                  bundle::bundle_end(frame, size),
              size % 128 == 0);
  }
  return 0;
}
