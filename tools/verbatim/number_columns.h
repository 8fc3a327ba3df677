// Named columns of whole numbers as one string of bytes: the form of the flows, operations and ports of a run
// in its recording (run_overview.h).
//
// A column is: length of its name, name, how many values it has, how many bytes they take, the values.
// Numbers are LEB128; a value is the difference to the one before, modulo 2^64, in zigzag order. Columns
// follow each other; nothing is between or behind them.
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
    // The value is the next of the column.
    void put(std::int64_t value);

   private:
    friend class NumberColumns;
    std::uint64_t count_ = 0;
    std::int64_t last_ = 0;
    std::string bytes_;
  };
  // Made when it is asked for first, without values.
  Column& at(const std::string& name) { return columns_[name]; }
  // A value of each row behind those of the column.
  template <class Rows, class Value>
  void put_all(const std::string& name, const Rows& rows, Value value) {
    Column& column = at(name);
    for (const auto& row : rows) column.put(static_cast<std::int64_t>(value(row)));
  }
  // Ordered by name.
  std::string bytes() const;

 private:
  std::map<std::string, Column> columns_;
};

class NumberColumnsReader {
 public:
  // False, and the end of a sentence ("a column of it is cut off"): the bytes are no columns. They outlive
  // this.
  bool read(std::string_view bytes, std::string* problem);

  bool has(const std::string& name) const { return columns_.contains(name); }
  // 0: there is no such column.
  std::uint64_t count(const std::string& name) const;
  // All values; empty where there is no such column. nullopt: it does not have so many as it says.
  std::optional<std::vector<std::int64_t>> values(const std::string& name) const;

 private:
  struct Column {
    std::uint64_t count = 0;
    std::string_view bytes;
  };
  std::map<std::string, Column, std::less<>> columns_;
};

}  // namespace verbatim::cli
