// How a verb tells what it has found: to people in words, to programs as one JSON document (--json), or by its exit code and
// what went wrong alone (--quiet). What is wrong with files, options and the machine goes to standard error in every case.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/verbatim/cli.h"

namespace verbatim::cli {

class Answer {
 public:
  using Json = nlohmann::ordered_json;

  // `verb` is the first entry of the document.
  Answer(const char* verb, AnswerStyle style) : verb_(verb), style_(style) {}

  bool is_for_people() const { return style_.is_for_people(); }
  // The document but for what every one has; empty: there is none to write.
  Json& document() { return document_; }

  // To people, on standard output.
  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...);
  // Likewise, what went wrong: with --quiet, too.
  [[gnu::format(printf, 2, 3)]] void say_wrong(const char* format, ...);

  // Writes the document with --json. Returns the exit code.
  int end(int exit_code);

 private:
  const char* const verb_;
  const AnswerStyle style_;
  Json document_ = Json::object();
};

}  // namespace verbatim::cli
