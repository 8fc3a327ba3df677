#include "tools/verbatim/answer.h"

#include <cstdarg>
#include <cstdio>

#include "tools/verbatim/progress.h"

namespace verbatim::cli {

namespace {

void print_values(const char* format, va_list values) {
  clear_progress();
  std::vprintf(format, values);
}

}  // namespace

void Answer::print(const char* format, ...) {
  if (!is_for_people()) return;
  va_list values;
  va_start(values, format);
  print_values(format, values);
  va_end(values);
}

void Answer::print_failure(const char* format, ...) {
  if (style_.json) return;
  va_list values;
  va_start(values, format);
  print_values(format, values);
  va_end(values);
}

int Answer::end(int exit_code) {
  if (!style_.json || document_.empty()) return exit_code;
  clear_progress();
  Json whole = {{"verb", verb_}, {"version", VERBATIM_VERSION}, {"exit_code", exit_code}};
  whole.update(document_);
  std::fputs((whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stdout);
  return exit_code;
}

}  // namespace verbatim::cli
