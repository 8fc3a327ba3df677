// Columns of numbers in the page of `verbatim report`, in blocks that can be read separately.
//
// A block is base64 of a raw deflate stream, which contains the columns one after the other: number of bytes,
// then the values as LEB128, signed ones in zigzag encoding. Like numbers of JavaScript, values are exact
// below 2^53.
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

// An invisible element of the page that holds a block: "rows-3".
std::string block_element(std::string_view name, std::size_t number, const PageBlock& block);

}  // namespace verbatim::cli
