// Plots as SVG elements of a page (page.h): no script draws them, and a reader of the page's source finds
// every value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/verbatim/compare/comparison.h"

namespace verbatim::cli {

// The colour of a run or a series follows from its place: the same in all plots of a page.
struct Curve {
  std::string label;
  std::size_t place = 0;
  std::vector<std::int64_t> times;  // ps, ascending
};
// Shares of flows that took at most so long, over a logarithmic axis of times. Curves without times are left
// out.
std::string distribution_plot(const std::string& title, const std::vector<Curve>& curves);

// Groups of bars, one for each label of `series` in each.
struct BarGroup {
  std::string label;
  std::vector<std::optional<std::uint64_t>> values;
};
std::string bar_plot(const std::string& title, const std::vector<std::string>& series, const std::vector<BarGroup>& groups,
                     FigureUnit unit);

// A line for each series over values that are equally far apart, through the median of what each has there; a
// dot for each value.
struct Series {
  std::string label;
  std::size_t place = 0;
  std::vector<std::vector<std::uint64_t>> values;  // of each label of the axis; several: of several seeds
};
std::string line_plot(const std::string& title, const std::string& axis, const std::vector<std::string>& labels,
                      const std::vector<Series>& series, FigureUnit unit);

}  // namespace verbatim::cli
