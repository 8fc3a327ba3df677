// The texts of a page's rows without their numbers, so that a million texts such as "completion of wr_id 7 in
// CQ 128" are stored once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace verbatim::cli {

class PageTexts {
 public:
  // Number of the text, and the decimal numbers that it contains.
  std::uint32_t number_of(std::string_view words, std::vector<std::uint64_t>* numbers);
  // The pieces of each text around its numbers; one more piece than numbers.
  const std::vector<std::vector<std::string>>& pieces() const { return pieces_; }

 private:
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<std::vector<std::string>> pieces_;
};

}  // namespace verbatim::cli
