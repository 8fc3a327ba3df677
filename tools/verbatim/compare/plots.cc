#include "tools/verbatim/compare/plots.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "sim/core/words.h"
#include "tools/verbatim/compare/page.h"
#include "tools/verbatim/nearest_rank.h"

namespace verbatim::cli {

namespace {

constexpr int kWidth = 560, kHeight = 280, kLeft = 74, kRight = 12, kTop = 12, kBottom = 44;
constexpr int kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;

[[gnu::format(printf, 1, 2)]] std::string format(const char* form, ...) {
  char text[512];
  va_list values;
  va_start(values, form);
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  return text;
}

// Three significant digits, for an axis.
std::string axis_text(double value, FigureUnit unit) {
  struct Step {
    double factor;
    const char* name;
  };
  static const std::vector<Step> kTimes = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}};
  static const std::vector<Step> kRates = {{1e6, "Tbps"}, {1e3, "Gbps"}, {1, "Mbps"}};
  static const std::vector<Step> kBandwidths = {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
  static const std::vector<Step> kBytes = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};
  static const std::vector<Step> kCounts = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  const auto& steps = unit == FigureUnit::kTime    ? kTimes
                      : unit == FigureUnit::kRate  ? kRates
                      : unit == FigureUnit::kBandwidth ? kBandwidths
                      : unit == FigureUnit::kBytes ? kBytes
                                                   : kCounts;
  if (value <= 0) return "0";
  for (const Step& step : steps) {
    if (value < step.factor && &step != &steps.back()) continue;
    return format("%.3g %s", value / step.factor, step.name);
  }
  return "";
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + for_html(text) + "</text>";
}

std::string line_at(double x1, double y1, double x2, double y2) {
  return format("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x1, y1, x2, y2);
}

std::string figure_of(const std::string& title, const std::string& content) {
  return "<figure class=\"charts\"><figcaption>" + for_html(title) + "</figcaption>" +
         format("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", kWidth, kHeight) + for_html(title) + "\">" +
         content + "</svg></figure>\n";
}

double height_of(double value, double most) { return kTop + kPlotHeight * (1 - (most <= 0 ? 0 : value / most)); }

// Draws the value axis from 0 with grid lines. Returns its upper end, at least `most`.
double value_axis(double most, FigureUnit unit, std::string& content) {
  double step = unit == FigureUnit::kBytes ? 1024 : 1;
  if (most < step) step = 1;
  // At most five steps of 1, 2, 5, 10 … units, or of 1, 2, 4, 8 … for bytes.
  for (int i = 0; step * 5 < most; ++i) step *= i % 3 == 1 && unit != FigureUnit::kBytes ? 2.5 : 2;
  const double end = std::max(step, std::ceil(most / step) * step);
  for (double value = 0; value <= end + step / 2; value += step) {
    const double y = height_of(value, end);
    content += line_at(kLeft, y, kWidth - kRight, y) + text_at(kLeft - 6, y + 4, "end", axis_text(value, unit));
  }
  return end;
}

std::string place_class(std::size_t place) {
  return "place-" + std::to_string(place % 8) + (place >= 8 ? " is-dashed" : "");
}

// Line width of a curve. Curves drawn first are wider, so that they show below curves that cover them.
std::string width_style(std::size_t place, std::size_t count) {
  const std::size_t above = count > place ? count - 1 - place : 0;
  return format(" style=\"stroke-width:%.1f\"", 2 + 1.5 * static_cast<double>(std::min<std::size_t>(above, 4)));
}

}  // namespace

std::string distribution_plot(const std::string& title, const std::vector<Curve>& curves) {
  double least = 0, most = 0;
  for (const Curve& curve : curves) {
    if (curve.times.empty()) continue;
    const double first = std::max<double>(1, static_cast<double>(curve.times.front()));
    least = least == 0 ? first : std::min(least, first);
    most = std::max(most, static_cast<double>(curve.times.back()));
  }
  if (least == 0) return "";
  // Leaves space at both ends; an axis has at least a tenth of a decade.
  double from = std::log10(least) - 0.02, to = std::log10(std::max(most, least)) + 0.02;
  if (to - from < 0.1) {
    from -= 0.05;
    to += 0.05;
  }
  const auto x_of = [&](double time) { return kLeft + kPlotWidth * (std::log10(std::max(1.0, time)) - from) / (to - from); };
  std::string content;
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = height_of(percent, 100);
    content += line_at(kLeft, y, kWidth - kRight, y) + text_at(kLeft - 6, y + 4, "end", std::to_string(percent) + " %");
  }
  // Ticks at 1, 2 and 5 of each decade, on short axes at every tenth; ticks without enough space are omitted.
  double last = -1e9;
  for (int decade = static_cast<int>(std::floor(from)); decade <= static_cast<int>(std::ceil(to)); ++decade) {
    for (int tenth = 10; tenth < 100; ++tenth) {
      const bool is_wanted = to - from > 1.5   ? tenth == 10 || tenth == 20 || tenth == 50
                             : to - from > 0.5 ? tenth % 10 == 0
                                               : true;
      const double time = std::pow(10, decade) * tenth / 10;
      const double x = x_of(time);
      if (!is_wanted || x < kLeft || x > kWidth - kRight || x - last < 62) continue;
      last = x;
      content += line_at(x, kTop, x, kTop + kPlotHeight) +
                 text_at(x, kTop + kPlotHeight + 16, "middle", axis_text(time, FigureUnit::kTime));
    }
  }
  content += text_at(kLeft + kPlotWidth / 2.0, kHeight - 6, "middle", "completion time");
  for (const Curve& curve : curves) {
    if (curve.times.empty()) continue;
    std::string points = format("M%.1f %.1f", x_of(static_cast<double>(curve.times.front())), height_of(0, 100));
    double shown_x = -1, shown_y = -1;
    const auto n = static_cast<double>(curve.times.size());
    for (std::size_t i = 0; i < curve.times.size(); ++i) {
      const double x = x_of(static_cast<double>(curve.times[i])), y = height_of(100 * static_cast<double>(i + 1) / n, 100);
      const bool is_last = i + 1 == curve.times.size();
      // Steps smaller than a third of a pixel are joined.
      if (!is_last && std::abs(x - shown_x) < 0.3 && std::abs(y - shown_y) < 0.3) continue;
      points += format("H%.1fV%.1f", x, y);
      shown_x = x;
      shown_y = y;
    }
    content += "<path class=\"curve " + place_class(curve.place) + "\"" + width_style(curve.place, curves.size()) + " d=\"" +
               points + "\"><title>" + for_html(join(curve.label, ": ", curve.times.size(), " flows")) + "</title></path>";
  }
  return figure_of(title, content);
}

std::string bar_plot(const std::string& title, const std::vector<std::string>& series, const std::vector<BarGroup>& groups,
                     FigureUnit unit) {
  std::uint64_t most = 0;
  for (const BarGroup& group : groups)
    for (const auto& value : group.values) most = std::max(most, value.value_or(0));
  if (most == 0) return "";
  std::string content;
  const double end = value_axis(static_cast<double>(most), unit, content);
  const double room = static_cast<double>(kPlotWidth) / static_cast<double>(groups.size());
  const double width = std::min(40.0, room * 0.8 / static_cast<double>(series.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double middle = kLeft + room * (static_cast<double>(g) + 0.5);
    content += text_at(middle, kTop + kPlotHeight + 16, "middle", groups[g].label);
    for (std::size_t i = 0; i < groups[g].values.size(); ++i) {
      if (!groups[g].values[i]) continue;
      const double y = height_of(static_cast<double>(*groups[g].values[i]), end);
      const double x = middle + width * (static_cast<double>(i) - static_cast<double>(series.size()) / 2);
      content += format("<rect class=\"bar %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
                        place_class(i).c_str(), x, y, std::max(1.0, width - 1), kTop + kPlotHeight - y) +
                 for_html(join(series[i], ", ", groups[g].label, ": ", figure_text(*groups[g].values[i], unit))) +
                 "</title></rect>";
    }
  }
  return figure_of(title, content);
}

std::string line_plot(const std::string& title, const std::string& axis, const std::vector<std::string>& labels,
                      const std::vector<Series>& series, FigureUnit unit) {
  std::uint64_t most = 0;
  for (const Series& one : series)
    for (const auto& values : one.values)
      for (const std::uint64_t value : values) most = std::max(most, value);
  if (most == 0) return "";
  std::string content;
  const double end = value_axis(static_cast<double>(most), unit, content);
  const double room = static_cast<double>(kPlotWidth) / static_cast<double>(labels.size());
  const auto x_of = [&](std::size_t i) { return kLeft + room * (static_cast<double>(i) + 0.5); };
  const std::size_t each = static_cast<std::size_t>(std::ceil(48 / room));  // every each-th label has enough space
  for (std::size_t i = 0; i < labels.size(); i += each)
    content += text_at(x_of(i), kTop + kPlotHeight + 16, "middle", labels[i]);
  content += text_at(kLeft + kPlotWidth / 2.0, kHeight - 6, "middle", axis);
  for (const Series& one : series) {
    std::string path, dots;
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      if (one.values[i].empty()) continue;
      std::vector<std::int64_t> sorted(one.values[i].begin(), one.values[i].end());
      std::ranges::sort(sorted);
      path += format("%s%.1f %.1f", path.empty() ? "M" : "L", x_of(i),
                     height_of(static_cast<double>(nearest_rank(sorted, 50)), end));
      for (const std::int64_t value : sorted) {
        dots += format("<circle class=\"bar %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>", place_class(one.place).c_str(),
                       x_of(i), height_of(static_cast<double>(value), end)) +
                for_html(join(one.label.empty() ? "" : one.label + ", ", axis, " ", labels[i], ": ",
                              figure_text(static_cast<std::uint64_t>(value), unit))) +
                "</title></circle>";
      }
    }
    if (!path.empty())
      content += "<path class=\"curve " + place_class(one.place) + "\"" + width_style(one.place, series.size()) + " d=\"" +
                 path + "\"/>" + dots;
  }
  return figure_of(title, content);
}

}  // namespace verbatim::cli
