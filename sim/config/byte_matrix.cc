#include "sim/config/byte_matrix.h"

#include <algorithm>

#include "sim/config/json_text.h"
#include "sim/config/quantity.h"
#include "sim/config/words.h"

namespace verbatim::config {

namespace {

constexpr std::uint64_t kMostPairBytes = 1ull << 40;
constexpr std::size_t kMostMatrixFindings = 20;

std::optional<std::uint64_t> pair_bytes_of(const Json& value, std::string* problem) {
  *problem = value.dump() + " is no number of bytes";
  std::optional<std::uint64_t> bytes;
  if (value.is_number_unsigned()) bytes = value.get<std::uint64_t>();
  if (value.is_string()) {
    std::string why, hint;
    if (const auto size = parse_quantity(value.get<std::string>(), Dimension::kSize, &why, &hint)) {
      if (*size >= 0) bytes = static_cast<std::uint64_t>(*size);
    }
  }
  if (bytes && *bytes > kMostPairBytes) {
    *problem = value.dump() + " is more than 1 TiB";
    return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::optional<ByteMatrix> read_byte_matrix(std::string_view text, const std::string& path,
                                           std::size_t members, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const std::optional<Json> document = parse_json(text, path, diagnostics);
  if (!document) return std::nullopt;
  const std::string count = std::to_string(members);
  const auto refuse = [&](const std::string& pointer, std::string what, std::string hint) {
    diagnostics.add(path, pointer, std::move(what), std::move(hint));
  };
  if (!document->is_array() || document->size() != members) {
    refuse("", "the matrix has not " + count + " rows",
           "write a list with a row for each of the workload's hosts");
    return std::nullopt;
  }
  ByteMatrix matrix{.members = members, .bytes = {}};
  matrix.bytes.reserve(members * members);
  bool sends = false;
  for (std::size_t from = 0; from < members; ++from) {
    const Json& row = (*document)[from];
    const std::string pointer = join_pointer("", from);
    if (diagnostics.findings().size() >= before + kMostMatrixFindings) return std::nullopt;
    if (!row.is_array() || row.size() != members) {
      refuse(pointer, "the row has not " + count + " numbers",
             "write the bytes to each of the workload's hosts, its own too");
      continue;
    }
    for (std::size_t to = 0; to < members; ++to) {
      std::string problem;
      const std::optional<std::uint64_t> bytes = pair_bytes_of(row[to], &problem);
      if (!bytes)
        refuse(join_pointer(pointer, to), std::move(problem),
               "write 0 or more bytes, such as 65536 or \"64 KiB\"");
      matrix.bytes.push_back(from == to ? 0 : bytes.value_or(0));
      sends = sends || matrix.bytes.back() != 0;
    }
  }
  if (diagnostics.findings().size() != before) return std::nullopt;
  if (!sends) {
    refuse("", "no host sends bytes", "give some pair of hosts bytes");
    return std::nullopt;
  }
  return matrix;
}

}  // namespace verbatim::config
