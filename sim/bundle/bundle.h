// A run as one file: the files and answers of the machine that its programs have seen ("looks",
// spec/machine_look.h), and documents with which the run is repeated.
//
// Layout; numbers are little-endian:
//   "verbatim-bundle 1\n"; the number is the version
//   contents  one zstd frame for each included content, in the order of the index, without gaps
//   index     one zstd frame (bundle_index.h): manifest, contents with sizes and checksums, looks, documents
//   end       40 bytes: size of the index compressed (8) and raw (8), XXH3-128 of its frame (16), "bundled\n"
// Each content is stored once, however many paths have it. Its checksums are XXH3-128 of the frame, which
// finds damage at the speed of reading, and of the raw content.
//
// A bundle is untrusted input. Its index has at most kMostIndex bytes, all extracted contents together at
// most most_content_bytes(), and each frame expands to its declared size. Paths are checked when it is opened
// (bundle_paths.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/bundle/descriptor_io.h"
#include "sim/supervisor/spec/machine_look.h"

namespace verbatim::bundle {

inline constexpr std::string_view kBundleBegin = "verbatim-bundle 1\n";
// A bundle of any version begins with these bytes.
inline constexpr std::string_view kBundleMark = "verbatim-bundle ";

// Whether the file begins with kBundleMark.
bool is_bundle(const std::string& path);

// Limits in bytes. Programs are compressed to a third, text to a tenth. A factor of 256 is never reached by
// files of some size; the constant permits small files that compress better.
inline constexpr std::uint64_t kMostIndex = std::uint64_t{64} << 20;
// Limit of the expanded index.
constexpr std::uint64_t most_index_bytes(std::uint64_t compressed) {
  return std::min(kMostIndex, (std::uint64_t{1} << 20) + 256 * std::min(compressed, kMostIndex));
}
// Limit of the sum of all extracted contents of a bundle of `file_bytes`.
constexpr std::uint64_t most_content_bytes(std::uint64_t file_bytes) {
  return (std::uint64_t{256} << 20) + 256 * file_bytes;
}

// The file of this machine that has the content of a look.
struct ContentSource {
  ContentSource(std::string native) : path(std::move(native)) {}
  ContentSource(const char* native) : path(native) {}

  std::string path;
  bool is_included = true;  // false: the bundle has only size and checksum
};

// Writes a bundle to `descriptor`, front to back. `content_of` is called for each look with has_content, with
// its path; `documents` are further files, by name in the bundle ("run.json", "scenario/topology.json"):
// native paths. Returns a sentence if a file cannot be read, a path or limit would make the bundle
// unreadable, or writing fails, else "".
std::string write_bundle(int descriptor, std::string_view manifest, const supervisor::MachineLooks& looks,
                         const std::function<ContentSource(const std::string& path)>& content_of,
                         const std::map<std::string, std::string>& documents);

// Sizes in bytes and checksums (32 hexadecimal digits) of a content.
struct BundleContent {
  std::uint64_t bytes = 0;       // raw
  std::uint64_t compressed = 0;  // 0: not included
  std::string checksum;          // of the raw content
  std::string frame_checksum;    // of its frame; zeros: not included
  bool is_included() const { return compressed != 0; }
};

struct BundleIndex {
  std::string manifest;  // JSON; not interpreted here
  std::vector<BundleContent> contents;
  supervisor::MachineLooks looks;
  // Numbers of contents, by the paths of looks with has_content, and by the names of documents.
  std::map<std::string, std::uint32_t> looks_contents, documents;
};

class FrameReader;
struct NewFile;

class Bundle {
 public:
  // nullopt, with a sentence that begins with `path`, if the file is no bundle, has another version, or is
  // damaged outside of its contents.
  static std::optional<Bundle> open(const std::string& path, std::string* failure);

  const std::string& manifest() const { return index_.manifest; }
  const supervisor::MachineLooks& looks() const { return index_.looks; }
  const BundleIndex& index() const { return index_; }
  // The content of a look, by its path; nullptr: none. It may be not included.
  const BundleContent* content_of(const std::string& look) const;
  // The first `most` bytes of an included content; fewer if it is shorter or damaged. `content` must be an
  // element of index().contents.
  std::string beginning_of(const BundleContent& content, std::size_t most) const;
  std::uint64_t file_bytes() const { return file_bytes_; }
  // Checksum of manifest, looks, names of documents and all contents, in 32 hexadecimal digits. Does not
  // depend on the compression.
  std::string checksum() const;

  // Compares the checksum of every frame, without expanding it. Returns one sentence for each damaged frame,
  // with the names of its files. A frame with a correct checksum may still be refused when it is read: a
  // forged one.
  std::vector<std::string> damage() const;
  // The first of these sentences, with the number of the others; empty: no damage.
  std::string damage_summary() const;
  // A document's text of at most `most` bytes. nullopt, with a sentence, if it is missing, damaged or longer.
  std::optional<std::string> document(const std::string& name, std::string* failure,
                                      std::uint64_t most = std::uint64_t{64} << 20) const;

  // Writes each included content to its path below FOLDER/root and each document to FOLDER/extra/NAME.
  // `folder` exists or its parent does; neither "root" nor "extra" may exist in it. Folders have mode 0700,
  // files the recorded permissions with 0400 and the recorded time, documents 0600. Paths with equal content
  // become separate files, because programs see inode numbers. Returns "" or a sentence; then some files
  // are missing.
  std::string extract(const std::string& folder) const;
  // Writes the content of one look to `path` below FOLDER/root, by an atomic rename. Several processes may do
  // this concurrently. `path` is the look's path unless the look's folder was moved.
  std::string extract_file(const std::string& look, const std::string& folder, const std::string& path) const;

 private:
  Bundle() = default;
  // Reads a content, part by part. Returns "" or the end of a sentence: "is damaged: …".
  std::string read_content(FrameReader& reader, std::uint32_t number,
                           const std::function<bool(std::string_view part)>& take) const;
  // Writes the file as `name` into the folder `at`; `folder` is for sentences. Returns "" or a sentence.
  std::string write_file(FrameReader& reader, const NewFile& file, int at, const std::string& name,
                         const std::string& folder) const;
  // The paths and documents with this content, as text.
  std::string users_of(std::uint32_t number) const;

  std::string path_;
  OwnedDescriptor file_;
  std::uint64_t file_bytes_ = 0;
  BundleIndex index_;
  std::vector<std::uint64_t> offsets_;  // of the contents' frames in the file
};

}  // namespace verbatim::bundle
