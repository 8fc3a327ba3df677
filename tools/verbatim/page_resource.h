// Parts of the page of `verbatim report`: the files of report_page/, built into the executable.
#pragma once

#include <string_view>

namespace verbatim::cli {

extern const std::string_view kPageHtml, kPageCss;

struct PageScript {
  std::string_view name, text;  // "blocks" for blocks.js
};
extern const PageScript kPageScripts[11];

}  // namespace verbatim::cli
