#include "tools/verbatim/number_columns.h"

namespace verbatim::cli {

namespace {

void append_number(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

// Takes a number off the beginning. nullopt if it is truncated or has more than 64 bits.
std::optional<std::uint64_t> take_number(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

void NumberColumns::Column::put(std::int64_t value) {
  ++count_;
  const auto step =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(last_));
  last_ = value;
  append_number(bytes_, static_cast<std::uint64_t>(step) << 1 ^ static_cast<std::uint64_t>(step >> 63));
}

std::string NumberColumns::bytes() const {
  std::string all;
  for (const auto& [name, column] : columns_) {
    append_number(all, name.size());
    all += name;
    append_number(all, column.count_);
    append_number(all, column.bytes_.size());
    all += column.bytes_;
  }
  return all;
}

bool NumberColumnsReader::read(std::string_view bytes, std::string* problem) {
  constexpr std::uint64_t kMostName = 64, kMostColumns = 4096;
  const auto refuse = [&](const char* why) {
    *problem = why;
    return false;
  };
  columns_.clear();
  while (!bytes.empty()) {
    const auto length = take_number(bytes);
    if (!length || *length > kMostName || *length > bytes.size()) return refuse("a column of it has no name");
    const std::string name(bytes.substr(0, *length));
    bytes.remove_prefix(*length);
    const auto count = take_number(bytes), size = take_number(bytes);
    if (!count || !size || *size > bytes.size()) return refuse("a column of it is cut off");
    // A value takes at least a byte.
    if (*count > *size) return refuse("a column of it has fewer values than it says");
    if (!columns_.emplace(name, Column{*count, bytes.substr(0, *size)}).second)
      return refuse("it has a column twice");
    if (columns_.size() > kMostColumns) return refuse("it has too many columns");
    bytes.remove_prefix(*size);
  }
  return true;
}

std::uint64_t NumberColumnsReader::count(const std::string& name) const {
  const auto found = columns_.find(name);
  return found == columns_.end() ? 0 : found->second.count;
}

std::optional<std::vector<std::int64_t>> NumberColumnsReader::values(const std::string& name) const {
  const auto found = columns_.find(name);
  if (found == columns_.end()) return std::vector<std::int64_t>();
  std::vector<std::int64_t> values;
  values.reserve(found->second.count);
  std::string_view rest = found->second.bytes;
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < found->second.count; ++i) {
    const auto step = take_number(rest);
    if (!step) return std::nullopt;
    value += *step >> 1 ^ (~(*step & 1) + 1);
    values.push_back(static_cast<std::int64_t>(value));
  }
  if (!rest.empty()) return std::nullopt;
  return values;
}

}  // namespace verbatim::cli
