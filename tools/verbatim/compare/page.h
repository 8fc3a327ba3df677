// A self-contained HTML page with tables and plots, in the style of `verbatim report`.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/compare/comparison.h"

namespace verbatim::cli {

// Escapes text for an element or an attribute's value.
std::string for_html(std::string_view text);

// The whole page; `body` is HTML, `title` is plain text.
std::string page_of(const std::string& title, const std::string& body);

// Legend with the names and the plot colours, in order.
std::string legend_html(const std::vector<std::string>& labels);

// Rows of cells as plain text, the first row a heading; columns after the first are numbers.
std::string table_html(const std::vector<std::vector<std::string>>& rows);

// Tables of all figures, and plots of flow times, with a legend of the runs.
std::string comparison_page(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures);

}  // namespace verbatim::cli
