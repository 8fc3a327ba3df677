// A page with tables and plots as one HTML file that needs nothing else, in the style of the page of
// `verbatim report`.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/compare/comparison.h"

namespace verbatim::cli {

// As text of an element or the value of an attribute.
std::string for_html(std::string_view text);

// The whole page; `body` is HTML, `title` is not.
std::string page_of(const std::string& title, const std::string& body);

// Names with the colours that plots have for them, in their order.
std::string legend_html(const std::vector<std::string>& labels);

// Rows of cells as text, the first of them a head; columns from the second on are numbers.
std::string table_html(const std::vector<std::vector<std::string>>& rows);

// Tables of all figures, and plots of the flows' times, under a legend of the runs.
std::string comparison_page(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures);

}  // namespace verbatim::cli
