// The parts of the page of `verbatim report`: the files of report_page/, put into the executable when it is built.
#pragma once

#include <string_view>

namespace verbatim::cli {

extern const std::string_view kPageHtml, kPageCss, kPageJs, kViewsJs;

}  // namespace verbatim::cli
