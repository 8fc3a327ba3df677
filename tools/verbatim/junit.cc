#include "tools/verbatim/junit.h"

#include <algorithm>

namespace verbatim::cli {

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') out += '?';  // not allowed in XML
    else out += c;
  }
  return out;
}

}  // namespace

std::string junit_text(const std::string& suite, const std::vector<JunitCase>& cases) {
  const auto failures = std::ranges::count_if(cases, [](const JunitCase& c) { return !c.failure.empty(); });
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + escaped(suite) + "\" tests=\"" +
                     std::to_string(cases.size()) + "\" failures=\"" + std::to_string(failures) + "\">\n";
  for (const JunitCase& one : cases) {
    text += "  <testcase name=\"" + escaped(one.name) + "\"";
    // The attribute has the first line only; the element has the whole text.
    text += one.failure.empty() ? "/>\n"
                                : "><failure message=\"" + escaped(one.failure.substr(0, one.failure.find('\n'))) + "\">" +
                                      escaped(one.failure) + "</failure></testcase>\n";
  }
  return text + "</testsuite>\n";
}

}  // namespace verbatim::cli
