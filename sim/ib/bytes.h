// Big-endian headers (IBA 1.5): a writer that appends to a buffer, and a reader that never passes its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verbatim::ib {

class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& to) : to_(to) {}

  void put(std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) to_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void put(std::span<const std::byte> bytes) { to_.insert(to_.end(), bytes.begin(), bytes.end()); }
  void zeros(std::size_t count) { to_.insert(to_.end(), count, std::byte{0}); }
  std::size_t size() const { return to_.size(); }

 private:
  std::vector<std::byte>& to_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> from) : from_(from) {}

  std::size_t left() const { return from_.size() - at_; }
  // False after a read beyond the end; such a read returns 0.
  bool good() const { return good_; }

  std::uint64_t get(int bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : take(static_cast<std::size_t>(bytes))) {
      value = value << 8 | static_cast<std::uint8_t>(byte);
    }
    return value;
  }
  std::uint8_t get8() { return static_cast<std::uint8_t>(get(1)); }
  std::uint16_t get16() { return static_cast<std::uint16_t>(get(2)); }
  std::uint32_t get24() { return static_cast<std::uint32_t>(get(3)); }
  std::uint32_t get32() { return static_cast<std::uint32_t>(get(4)); }
  std::span<const std::byte> take(std::size_t count) {
    if (count > left()) {
      good_ = false;
      at_ = from_.size();
      return {};
    }
    at_ += count;
    return from_.subspan(at_ - count, count);
  }

 private:
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace verbatim::ib
