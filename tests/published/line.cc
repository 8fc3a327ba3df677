#include "tests/published/line.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace verbatim::published {

namespace {

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

double percent_off(double value, double published) { return (value - published) / published * 100; }

std::string joined(const std::string& name, const std::string& published, const std::string& simulated,
                    const std::string& error, const std::string& bound, const std::string& verdict) {
  char text[256];
  std::snprintf(text, sizeof text, "%-48s  %9s  %10s  %7s  %12s  ", name.c_str(), published.c_str(), simulated.c_str(),
                error.c_str(), bound.c_str());
  return text + verdict;
}

std::string bound_text(const Published& published) {
  switch (published.bound.kind) {
    case Bound::Kind::kPercent:
      return fixed(published.bound.percent, 0);
    case Bound::Kind::kExact:
      return "0";
    case Bound::Kind::kBand:
      if (published.value == 0) return fixed(published.bound.low, 0) + ".." + fixed(published.bound.high, 0);
      return fixed(percent_off(published.bound.low, published.value), 1) + ".." +
             fixed(percent_off(published.bound.high, published.value), 1);
    case Bound::Kind::kNone:
      break;
  }
  return "-";
}

}  // namespace

bool is_within(const Published& published, std::optional<double> simulated) {
  if (!simulated || !std::isfinite(*simulated)) return false;
  switch (published.bound.kind) {
    case Bound::Kind::kPercent:
      return std::abs(percent_off(*simulated, published.value)) <= published.bound.percent;
    case Bound::Kind::kExact:
      return fixed(*simulated, published.decimals) == published.text;
    case Bound::Kind::kBand:
      return *simulated >= published.bound.low && *simulated <= published.bound.high;
    case Bound::Kind::kNone:
      break;
  }
  return true;
}

std::string line_of(const Published& published, std::optional<double> simulated, const Columns& columns) {
  const bool exact = published.bound.kind == Bound::Kind::kExact;
  std::string value = "-", error = "-";
  if (simulated) {
    value = fixed(*simulated, published.decimals + (exact ? 0 : 1));
    if (published.value != 0) {
      error = fixed(percent_off(exact ? std::atof(value.c_str()) : *simulated, published.value), 1);
    }
  }
  std::string verdict = is_within(published, simulated) ? "ok" : "off";
  if (!published.is_bar) {
    verdict += "  (not a bar)";
  } else if (published.certainty == "memory") {
    verdict += "  (published value quoted from memory)";
  }
  if (columns.with_source) verdict += "  " + published.certainty + "  " + published.source;
  return joined(published.name + " (" + published.unit + ")", published.text, value, error, bound_text(published), verdict);
}

std::string heading(const Columns& columns) {
  const std::string source = columns.with_source ? "  certainty  source" : "";
  return joined("target", columns.published, columns.simulated, "error %", "bound %", "ok|off" + source);
}

}  // namespace verbatim::published
