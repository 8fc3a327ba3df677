// Errors and warnings about the user's files. They are collected, never thrown, so one run of the checker
// reports all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbatim::config {

struct Finding {
  std::string file;  // as the user named it
  std::string
      pointer;       // JSON pointer (RFC 6901), "" for the whole file; "line 3, column 7" for a syntax error
  std::string text;  // what is wrong
  std::string hint;  // how to correct it; may be empty
  friend bool operator==(const Finding&, const Finding&) = default;
};

// `file: /json/pointer: finding; hint`; warning_text() puts `warning: ` before the finding.
std::string to_string(const Finding& finding);
std::string warning_text(const Finding& warning);

class Diagnostics {
 public:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  void add(std::string_view file, std::string_view pointer, std::string text, std::string hint = {}) {
    findings_.push_back({std::string(file), std::string(pointer), std::move(text), std::move(hint)});
  }
  bool empty() const { return findings_.empty(); }
  const std::vector<Finding>& findings() const { return findings_; }

  // Adds a warning about input that is well formed but unlike a real fabric, and that runs all the same.
  // Repeated warnings are kept once.
  void warn(Finding warning);
  const std::vector<Finding>& warnings() const { return warnings_; }

 private:
  std::vector<Finding> findings_, warnings_;
};

// The candidate that `word` was probably meant to be; "" if none is near enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// `"x"`, with control characters and quotes escaped and at most 60 characters shown.
std::string in_quotes(std::string_view text);

// pointer + "/" + token, with ~ and / of the token escaped (RFC 6901).
std::string join_pointer(std::string_view pointer, std::string_view token);
std::string join_pointer(std::string_view pointer, std::size_t index);

}  // namespace verbatim::config
