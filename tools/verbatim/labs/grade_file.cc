#include "tools/verbatim/labs/grade_file.h"

#include <algorithm>
#include <set>

#include "sim/config/schema.h"

namespace verbatim::cli {

namespace {

using config::bind;
using config::Field;
using config::Kind;
using config::without_default;  // a limit of 0 sets no condition

Field most_pauses_row() {
  Field field{.key = "most_pauses", .kind = Kind::kInteger, .doc = "ports pause those that send to them, by priority flow control, at most this often"};
  field.store = [](void* object, const config::Value& value) {
    static_cast<Criterion*>(object)->most_pauses = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
  };
  return field;
}

const config::Object& criterion_table() {
  using C = Criterion;
  static const config::Object table = config::make_object<C>(
      "a criterion", "a condition, and the points for it",
      {bind<&C::name>({.key = "name", .kind = Kind::kText, .required = true, .doc = "the condition in words, as students see it"}),
       bind<&C::points>({.key = "points", .kind = Kind::kInteger, .required = true, .doc = "points if it holds", .min = 1, .max = 1000}),
       bind<&C::scenario>({.key = "scenario", .kind = Kind::kReference, .doc = "the scenario that is run: a file of the lab"}),
       bind<&C::builds>({.key = "builds", .kind = Kind::kBoolean, .doc = "the program compiles without a warning; nothing is run"}),
       without_default(bind<&C::schedules>(
           {.key = "schedules",
            .kind = Kind::kInteger,
            .doc = "run with freedom spec, once for each seed from 1 to this number (or those of --seeds-file); each run that is "
                   "right gives its share of the points",
            .min = 1,
            .max = 10'000})),
       without_default(bind<&C::losses>(
           {.key = "losses",
            .kind = Kind::kInteger,
            .doc = "run once for each of the first packets, up to this number, of hosts client and server; that packet is lost; each "
                   "run that is right gives its share of the points",
            .min = 1,
            .max = 1'000})),
       bind<&C::has_no_findings>({.key = "no_findings", .kind = Kind::kBoolean, .doc = "no check finds a mistake in the run"}),
       bind<&C::polls_after_arming>(
           {.key = "polls_after_arming",
            .kind = Kind::kBoolean,
            .doc = "the program sleeps for completion events, in one of the runs at least, and before each sleep it arms the CQ and "
                   "then polls it until it is empty, in this order"}),
       bind<&C::has_no_rnr_naks>(
           {.key = "no_rnr_naks", .kind = Kind::kBoolean, .doc = "every message finds a receive posted: no RNR NAK is sent"}),
       without_default(bind<&C::most_packets>(
           {.key = "most_packets", .kind = Kind::kInteger, .doc = "the run sends at most this many packets", .min = 1})),
       most_pauses_row(),
       without_default(bind<&C::most_time>(
           {.key = "most_time",
            .kind = Kind::kDuration,
            .doc = "virtual time from the start of the last program to the end of the run, at most",
            .min = 1,
            .max = 1'000 * config::kSecondPs})),
       bind<&C::hint>({.key = "hint",
                       .kind = Kind::kText,
                       .doc = "shown instead of the reason when points are lost, where the reason would give the answer away"})});
  return table;
}

void check_together(const GradeFile& grade, const std::string& path, config::Diagnostics& diagnostics) {
  if (grade.criteria.empty()) diagnostics.add(path, "/criteria", "has no criterion", "write at least one, with points");
  std::set<std::string> names;
  for (const Criterion& one : grade.criteria) {
    if (!names.insert(one.name).second) {
      diagnostics.add(path, one.pointer + "/name", config::in_quotes(one.name) + " is the name of two criteria", "choose another");
    }
    if (one.builds + (one.schedules > 0) + (one.losses > 0) > 1) {
      diagnostics.add(path, one.pointer, "has more than one of builds, schedules and losses", "make it two criteria");
    }
    const bool has_condition = one.has_no_findings || one.has_no_rnr_naks || one.polls_after_arming || one.most_packets != 0 ||
                               one.most_pauses || one.most_time.count() != 0;
    if (one.builds && has_condition) {
      diagnostics.add(path, one.pointer, "has a condition for a run, but with builds nothing is run", "make it two criteria");
    }
  }
}

}  // namespace

const config::Object& grade_table() {
  using G = GradeFile;
  static const config::Object table = config::make_object<G>(
      "a lab", "Name and topology of a lab, and the criteria for points",
      {Field{.key = "$schema", .kind = Kind::kIgnored, .doc = "the JSON Schema, for editors"},
       bind<&G::title>({.key = "title", .kind = Kind::kText, .required = true, .doc = "title of the lab"}),
       bind<&G::topology>({.key = "topology",
                           .kind = Kind::kReference,
                           .required = true,
                           .doc = "a topology file of the lab, or the name of a topology of the installation, such as \"two_hosts\""}),
       config::bind_objects<&G::criteria>(
           {.key = "criteria", .kind = Kind::kObjects, .required = true, .doc = "criteria, in the order in which they are shown"},
           criterion_table())});
  return table;
}

std::optional<GradeFile> read_grade_file(const std::string& path, config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const auto json = config::read_json(path, diagnostics);
  if (!json) return std::nullopt;
  GradeFile grade;
  config::check_object(*json, grade_table(), &grade, path, "", diagnostics);
  if (diagnostics.findings().size() == before) check_together(grade, path, diagnostics);
  return diagnostics.findings().size() == before ? std::optional(std::move(grade)) : std::nullopt;
}

std::pair<std::string, std::string> grade_schema() { return config::published_schema("grade", grade_table()); }

}  // namespace verbatim::cli
