// A table with columns two blanks apart and an indentation of two. Cells must be ASCII.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace verbatim::cli {

class TextTable {
 public:
  // Columns from this one on are right-aligned.
  explicit TextTable(std::size_t first_right = static_cast<std::size_t>(-1)) : first_right_(first_right) {}

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Whole lines.
  std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string all;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string blanks(widths[i] - row[i].size(), ' ');
        if (i >= first_right_)
          all += "  " + blanks + row[i];
        else
          all += "  " + row[i] + (i + 1 < row.size() ? blanks : "");
      }
      all += "\n";
    }
    return all;
  }

 private:
  const std::size_t first_right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace verbatim::cli
