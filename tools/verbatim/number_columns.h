// Named columns of integers encoded as one string of bytes: flows, operations and ports in a run's recording
// (run_overview.h).
//
// A column is: length of its name, name, number of values, number of bytes of the values, the values. Numbers
// are LEB128; a value is the difference to the previous one, modulo 2^64, in zigzag encoding. Columns follow
// each other without gaps or trailer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

class NumberColumns {
 public:
  class Column {
   public:
    // Appends a value.
    void put(std::int64_t value);

   private:
    friend class NumberColumns;
    std::uint64_t count_ = 0;
    std::int64_t last_ = 0;
    std::string bytes_;
  };
  // The column with this name, created empty at its first use.
  Column& at(const std::string& name) { return columns_[name]; }
  // Appends a value of each row to the column.
  template <class Rows, class Value>
  void put_all(const std::string& name, const Rows& rows, Value value) {
    Column& column = at(name);
    for (const auto& row : rows) column.put(static_cast<std::int64_t>(value(row)));
  }
  // Sorted by name.
  std::string bytes() const;

 private:
  std::map<std::string, Column> columns_;
};

class NumberColumnsReader {
 public:
  // Returns false, with the end of a sentence ("a column of it is cut off"), if the bytes are invalid. They
  // must outlive this object.
  bool read(std::string_view bytes, std::string* problem);

  bool has(const std::string& name) const { return columns_.contains(name); }
  // 0 if there is no such column.
  std::uint64_t count(const std::string& name) const;
  // All values; empty if there is no such column. nullopt if it has fewer values than declared.
  std::optional<std::vector<std::int64_t>> values(const std::string& name) const;

 private:
  struct Column {
    std::uint64_t count = 0;
    std::string_view bytes;
  };
  std::map<std::string, Column, std::less<>> columns_;
};

}  // namespace verbatim::cli
