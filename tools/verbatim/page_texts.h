// The texts of a page's rows without their numbers: "completion of wr_id 7 in CQ 128" and a million like it are one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace verbatim::cli {

class PageTexts {
 public:
  // The number of the text, and the numbers that stand in it: those in decimal digits, as the page writes them.
  std::uint32_t number_of(std::string_view words, std::vector<std::uint64_t>* numbers);
  // Of each text what stands around its numbers, one piece more than it has numbers.
  const std::vector<std::vector<std::string>>& pieces() const { return pieces_; }

 private:
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<std::vector<std::string>> pieces_;
};

}  // namespace verbatim::cli
