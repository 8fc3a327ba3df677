// Columns of numbers in the page of `verbatim report`, in blocks each of which can be read alone.
//
// A block is base64 of a raw deflate stream. That holds the columns one behind the other: how many bytes it has, then its values
// as LEB128, those with a sign in zigzag order. Values are kept as the page keeps numbers: exact below 2^53.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

class PageBlock {
 public:
  explicit PageBlock(std::size_t columns) : columns_(columns) {}

  void put(std::size_t column, std::uint64_t value);
  void put_signed(std::size_t column, std::int64_t value) {
    put(column, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  std::string text() const;

 private:
  std::vector<std::string> columns_;
};

// An element of the page that holds a block and shows nothing: "rows-3".
std::string block_element(std::string_view name, std::size_t number, const PageBlock& block);

}  // namespace verbatim::cli
