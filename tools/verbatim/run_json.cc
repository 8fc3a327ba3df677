#include "tools/verbatim/run_json.h"

#include <cstdint>
#include <utility>

#include "sim/config/json_text.h"
#include "sim/core/time.h"
#include "tools/verbatim/kept_digest.h"

namespace verbatim::cli {

namespace {


enum class Kind {
  kText,
  kCount,      // a whole number from 0
  kTime,       // within virtual time, ps
  kFileName,   // of a file in the run's folder
  kList,
  kTable
};

// A key that commands read. Elements of a list with such keys must be objects.
struct Use {
  std::string_view list;  // list whose elements have the key; empty: the document itself
  std::string_view key;
  Kind kind;
};
constexpr Use kUses[] = {
    {"", "outcome", Kind::kText},
    {"", "digest", Kind::kText},
    {"", kDigestVersionKey, Kind::kCount},
    {"", "virtual_time_ps", Kind::kTime},
    {"", "packets", Kind::kCount},
    {"", "arguments", Kind::kTable},
    {"", "programs", Kind::kList},
    {"", "findings", Kind::kList},
    {"", "diagnoses", Kind::kList},
    {"", "checks", Kind::kList},
    {"", "failures", Kind::kList},
    {"", "queues", Kind::kList},
    {"", "flows", Kind::kList},
    {"", "flow_times", Kind::kList},
    {"arguments", "range", Kind::kText},
    {"programs", "host", Kind::kText},
    {"programs", "stdout", Kind::kFileName},
    {"programs", "stderr", Kind::kFileName},
    {"diagnoses", "time_ps", Kind::kTime},
    {"checks", "time_ps", Kind::kTime},
    {"checks", "check", Kind::kText},
    {"checks", "level", Kind::kText},
    {"checks", "place", Kind::kText},
    {"checks", "text", Kind::kText},
    {"failures", "time_ps", Kind::kTime},
    {"queues", "rnr_naks", Kind::kCount},
    {"flows", "start_ps", Kind::kTime},
    {"flows", "bytes", Kind::kCount},
};

bool is_of_kind(const nlohmann::json& value, Kind kind) {
  switch (kind) {
    case Kind::kText: return value.is_string();
    case Kind::kCount: return value.is_number_unsigned();
    // A run that reaches the end of virtual time ends 1 ps later.
    case Kind::kTime: return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{to_ps(kEndOfTime)} + 1;
    case Kind::kFileName: return value.is_string() && value.get_ref<const std::string&>().find('/') == std::string::npos;
    case Kind::kList: return value.is_array();
    case Kind::kTable: return value.is_object();
  }
  return false;
}

const char* text_of(Kind kind) {
  switch (kind) {
    case Kind::kText: return "a text";
    case Kind::kCount: return "a whole number";
    case Kind::kTime: return "a virtual time in picoseconds";
    case Kind::kFileName: return "the name of a file in the folder";
    case Kind::kList: return "a list";
    case Kind::kTable: return "an object";
  }
  return "";
}

// A JSON pointer and the expected kind; empty if the object is valid.
std::string wrong_use(const nlohmann::json& object, const Use& use, const std::string& pointer) {
  if (!object.is_object()) return pointer + " is not an object";
  const auto found = object.find(use.key);
  if (found == object.end() || is_of_kind(*found, use.kind)) return "";
  return config::join_pointer(pointer, use.key) + " is not " + text_of(use.kind);
}

std::string wrong_value(const nlohmann::json& report) {
  for (const Use& use : kUses) {
    if (use.list.empty()) {
      if (std::string wrong = wrong_use(report, use, ""); !wrong.empty()) return wrong;
      continue;
    }
    const auto list = report.find(use.list);  // checked above
    if (list == report.end()) continue;
    const std::string pointer = config::join_pointer("", use.list);
    std::size_t index = 0;
    for (const auto& [name, element] : list->items()) {
      const std::string of_element =
          list->is_array() ? config::join_pointer(pointer, index++) : config::join_pointer(pointer, name);
      if (std::string wrong = wrong_use(element, use, of_element); !wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace

std::optional<nlohmann::json> parse_run_json(std::string_view text, const std::string& name, std::string* failure) {
  config::Diagnostics diagnostics;
  if (!config::check_json(text, name, diagnostics)) {
    *failure = config::to_string(diagnostics.findings().front());
    return std::nullopt;
  }
  nlohmann::json report = nlohmann::json::parse(text.begin(), text.end());
  std::string wrong = report.is_object() ? wrong_value(report) : "it is not an object";
  if (wrong.empty()) return report;
  *failure = name + " is not what a run writes: " + std::move(wrong);
  return std::nullopt;
}

std::optional<nlohmann::json> read_run_json(const std::string& path, std::string* failure) {
  config::Diagnostics diagnostics;
  if (const auto text = config::read_file(path, diagnostics)) return parse_run_json(*text, path, failure);
  *failure = config::to_string(diagnostics.findings().front());
  return std::nullopt;
}

}  // namespace verbatim::cli
