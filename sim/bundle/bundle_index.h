// The index of a bundle as bytes. Numbers have 8 bytes, little-endian; a text is its length and its bytes.
//
//   manifest (text)
//   contents: their number; for each its raw size, its compressed size (0: not included), the checksums of the
//     content and of its frame (16 bytes each)
//   looks: their number; for each, in ascending order of its path:
//     path (text), errno (0: exists)
//     if it exists: the fields of MachineLook::Attributes in their order, flags (1 has_content, 2 may_change,
//     4 was listed), target (text); if listed, the number of names and each one (text), ascending;
//     if it has content, the content's number
//     else: flags (2 may_change)
//   documents: their number; for each, in ascending order of its name: name (text), the content's number
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/bundle/bundle.h"
#include "sim/bundle/checksum.h"

namespace verbatim::bundle {

// Limit of the number of components of all paths with contents, so that extraction takes at most a minute.
inline constexpr std::size_t kMostComponents = 1'000'000;

std::string index_bytes(const BundleIndex& index);

// Inverse of index_bytes(). Returns "" or the end of a sentence that begins with the bundle's name: "is
// damaged: …". Checks the consistency of the index: paths, types, numbers of contents.
std::string parse_index(std::string_view bytes, BundleIndex* index);

// Bytes of all files that extract() writes; UINT64_MAX if the sum overflows.
std::uint64_t extracted_bytes(const BundleIndex& index);

// Permissions of the extracted file: those recorded, and 0400.
std::uint32_t permissions_of(const supervisor::MachineLook& look);

// The last kBundleEndBytes of a bundle, decoded.
struct BundleEnd {
  std::uint64_t compressed = 0, bytes = 0;  // of the index
  Checksum checksum;                        // of its frame
};
inline constexpr std::string_view kBundleEnd = "bundled\n";
inline constexpr std::size_t kBundleEndBytes = 40;
std::string bundle_end(std::string_view frame, std::uint64_t raw_bytes);
// nullopt: another length, or no kBundleEnd at the end.
std::optional<BundleEnd> parse_bundle_end(std::string_view bytes);

}  // namespace verbatim::bundle
