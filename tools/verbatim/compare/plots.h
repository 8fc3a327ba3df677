// Plots as SVG elements of a page (page.h). They are drawn without scripts, and the page's source contains
// every value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/verbatim/compare/comparison.h"

namespace verbatim::cli {

// The index of a run or series sets its colour, the same in all plots of a page.
struct Curve {
  std::string label;
  std::size_t place = 0;
  std::vector<std::int64_t> times;  // ps, ascending
};
// Cumulative distribution of flow times, on a logarithmic axis. Curves without times are left out.
std::string distribution_plot(const std::string& title, const std::vector<Curve>& curves);

// Groups of bars; each group has one bar for each label of `series`.
struct BarGroup {
  std::string label;
  std::vector<std::optional<std::uint64_t>> values;
};
std::string bar_plot(const std::string& title, const std::vector<std::string>& series, const std::vector<BarGroup>& groups,
                     FigureUnit unit);

// A line for each series through the medians at equally spaced labels; a dot for each value.
struct Series {
  std::string label;
  std::size_t place = 0;
  std::vector<std::vector<std::uint64_t>> values;  // by label of the axis; several values for several seeds
};
std::string line_plot(const std::string& title, const std::string& axis, const std::vector<std::string>& labels,
                      const std::vector<Series>& series, FigureUnit unit);

}  // namespace verbatim::cli
