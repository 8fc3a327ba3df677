// The output of a verb: text for people, one JSON document (--json), or the exit code and failures only
// (--quiet). Errors in files, options and the machine always go to standard error.
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
  // The document, without the members common to all verbs; empty: none is written.
  Json& document() { return document_; }

  // Prints text for people on standard output.
  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...);
  // Prints a failure for people on standard output, also with --quiet.
  [[gnu::format(printf, 2, 3)]] void say_wrong(const char* format, ...);

  // Writes the document with --json. Returns the exit code.
  int end(int exit_code);

 private:
  const char* const verb_;
  const AnswerStyle style_;
  Json document_ = Json::object();
};

}  // namespace verbatim::cli
