#include "tools/verbatim/exploration.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <set>
#include <span>
#include <utility>

#include "sim/config/freedom.h"
#include "sim/explore/site_texts.h"
#include "tools/verbatim/decision_json.h"
#include "tools/verbatim/failure_text.h"
#include "tools/verbatim/junit.h"
#include "tools/verbatim/output.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/shrink.h"

namespace verbatim::cli {

namespace {

// The failure rate that `runs` runs without a failure would miss in one case of twenty.
std::string bound(std::int64_t runs) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * (1 - std::pow(0.05, 1.0 / static_cast<double>(runs))));
  return text;
}

}  // namespace

int Exploration::run() {
  search();
  if (ours_ != kAsExpected) return ours_;
  summarise();
  for (std::size_t i = 0; i < kinds_.size() && !runs_.is_interrupted(); ++i) {
    print_heading(kinds_[i], i + 1);
    if (!report_failure(kinds_[i], i + 1)) return kProgramFailed;
  }
  report_untried();
  if (!write_results()) return kProgramFailed;
  report_older_files();
  if (runs_.is_interrupted()) {
    complain("interrupted");
    return kInterrupted;
  }
  if (!runs_.machine_fault().empty()) {
    complain(runs_.machine_fault());
    return kMachineFault;
  }
  return kinds_.empty() ? kAsExpected : kProgramFailed;
}

bool Exploration::is_long_over() const {
  const Clock::duration grace = std::max<Clock::duration>(time_ / 2, kGrace);
  return options_.runs == 0 && !options_.until_failure && Clock::now() - begin_ > time_ + grace;
}

bool Exploration::may_start() const {
  return !has_enough_ && !runs_.is_interrupted() && (options_.runs == 0 || started_ < options_.runs) &&
         (options_.runs != 0 || is_time_left());
}

void Exploration::search() {
  while (true) {
    while (may_start() && runs_.has_room()) {
      const auto schedule = strategy_.next();
      if (!schedule) break;
      if (!runs_.start(*schedule)) {
        complain(runs_.machine_fault());
        ours_ = kMachineFault;
        return;
      }
      ++started_;
    }
    if (runs_.is_idle()) break;
    if (is_long_over()) {
      complain(
          "some runs had not ended long after the time was up and were abandoned; --time-limit ends such "
          "runs");
      runs_.abandon();
      return;
    }
    runs_.await(progress_.is_shown() ? progress_.wait_ms() : 1000);
    while (auto done = runs_.next_done()) {
      take(*done);
      if (has_enough_ || ours_ != kAsExpected) {
        runs_.abandon();
        return;
      }
    }
    show_progress();
  }
}

void Exploration::take(const ScheduleRuns::Done& done) {
  const RunReport& report = done.report;
  if (report.outcome.empty() || report.code == kInternalError || report.code == kUsage ||
      report.code == kMachineFault) {
    // A bug of ours, or a fault of the machine, must not be attributed to the program.
    ours_ = report.code;
    complain("run " + std::to_string(counted_ + 1) + " (" + done.schedule.name + "): " + report.summary());
    return;
  }
  ++counted_;
  TraceRecord place{};
  place.number = static_cast<std::uint64_t>(counted_);
  digest_.on_record(place, std::as_bytes(std::span(report.digest)));
  different_.insert(report.digest);
  strategy_.learn(done.schedule, report.questions);
  for (const explore::Questions::Stream& stream : report.questions.streams) {
    asked_[stream.site] += stream.asked;
    if (stream.decided != 0) decided_[stream.site] += stream.decided;
  }
  for (std::size_t i = 0; i < report.windows.size() && i < windows_.size(); ++i)
    windows_[i] += report.windows[i];
  findings_.add(report.findings, counted_);
  if (!report.has_failed()) return;
  ++failed_;
  const std::string signature = report.signature();
  auto kind = std::ranges::find(kinds_, signature, &Kind::signature);
  if (kind == kinds_.end()) {
    kinds_.push_back({signature, counted_, 0, done.schedule.name, report, report.summary()});
    kind = kinds_.end() - 1;
    answer_.print_failure("run %lld (%s): %s\n", static_cast<long long>(counted_), done.schedule.name.c_str(),
                          report.summary().c_str());
    flush_standard_output();
  }
  ++kind->failures;
  has_enough_ = !options_.keeps_going;
}

void Exploration::show_progress() {
  if (!progress_.is_due()) return;
  char line[160];
  std::snprintf(line, sizeof line, "%lld runs, %.1f a second, %lld failed", static_cast<long long>(counted_),
                static_cast<double>(counted_) / std::max(progress_.seconds(), 0.001),
                static_cast<long long>(failed_));
  if (options_.runs != 0) {
    progress_.show(line + progress_.left(static_cast<double>(counted_) / static_cast<double>(options_.runs)));
  } else if (options_.until_failure) {
    progress_.show(line);
  } else {
    progress_.show(line + time_left(std::max(
                              0.0, std::chrono::duration<double>(begin_ + time_ - Clock::now()).count())));
  }
}

void Exploration::report_quirks() {
  const hca::Quirks quirks = config::quirks_of(plan_.scenario.freedom);
  if (quirks != 0)
    answer_.print(
        "a failure found here but not with freedom spec can occur only on hardware that violates the "
        "specification as follows:\n");
  for (std::size_t i = 0; i < std::size(hca::kQuirks); ++i) {
    if ((quirks & hca::bit_of(static_cast<hca::Quirk>(i))) == 0) continue;
    answer_.print("  %s: %s\n", std::string(hca::kQuirks[i].name).c_str(),
                  std::string(hca::kQuirks[i].what).c_str());
  }
}

void Exploration::summarise() {
  clear_progress();
  const double seconds = progress_.seconds();
  if (answer_.is_for_people() && !unit_digest_)
    std::fprintf(stderr, "verbatim: %lld runs in %.1f s, %.1f a second, %zu at a time\n",
                 static_cast<long long>(counted_), seconds,
                 static_cast<double>(counted_) / std::max(seconds, 0.001), jobs());
  answer_.print("explored %lld %s, %zu different, with freedom %s, strategy %s: %lld failed, of %zu kind%s\n",
                static_cast<long long>(counted_), counted_ == 1 ? "schedule" : "schedules", different(),
                plan_.scenario.freedom.c_str(), options_.focus.empty() ? options_.strategy.c_str() : "near",
                static_cast<long long>(failed_), kinds_.size(), kinds_.size() == 1 ? "" : "s");
  report_quirks();
  if (failed_ == 0 && counted_ != 0) {
    answer_.print("0 of %lld runs failed: with 95 %% confidence, less than %s of such schedules fail\n",
                  static_cast<long long>(counted_), bound(counted_).c_str());
  }
  if (strategy_.is_exhausted() && !strategy_.covered().empty())
    answer_.print("complete: %s\n", strategy_.covered().c_str());
}

std::vector<std::string> Exploration::untried_sites() const {
  std::vector<std::string> untried;
  for (const explore::SiteText& text : explore::site_texts()) {
    const std::string site(text.site);
    const bool is_left_out = site.starts_with("quirk-") && !asked_.contains(site);
    if (!is_left_out && !decided_.contains(site)) untried.push_back(site);
  }
  return untried;
}

void Exploration::report_older_files() {
  if (!answer_.is_for_people()) return;
  std::set<std::string> own;
  for (const Json& entry : entries_) {
    for (const char* const name : {"replay", "bundle", "recording"}) {
      if (!entry.contains(name) || !entry[name].is_string()) continue;
      own.insert(std::filesystem::path(entry[name].get<std::string>()).filename());
    }
  }
  static const std::regex kNames("failure-[0-9]+\\.(replay|vbundle|rec)");
  std::set<std::string> older;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(options_.out, error)) {
    const std::string name = file.path().filename();
    if (std::regex_match(name, kNames) && !own.contains(name)) older.insert(name);
  }
  for (const std::string& name : older) complain("note: " + options_.out + "/" + name + " is of an earlier search");
}

void Exploration::report_untried() {
  if (!kinds_.empty()) answer_.print("\n");
  answer_.print("%s", findings_.text(counted_).c_str());
  // After a failure the failure is what matters.
  const std::size_t untried = untried_sites().size();
  if (kinds_.empty() && untried != 0)
    answer_.print("%zu freedoms were used by no run; explore.json names them (unused)\n", untried);
  std::string missed;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (windows_[i] != 0) continue;
    missed +=
        (missed.empty() ? "" : "; ") + std::string(observe::text_of(static_cast<observe::RaceWindow>(i)));
  }
  if (!missed.empty()) answer_.print("typical race conditions that occurred in no run: %s\n", missed.c_str());
}

std::size_t Exploration::jobs() const {
  return options_.run.jobs > 0
             ? static_cast<std::size_t>(options_.run.jobs)
             : std::max<std::size_t>(1, static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

void Exploration::print_heading(const Kind& kind, std::size_t number) {
  answer_.print_failure("\nfailure %zu: %lld of %lld runs, first in run %lld (%s)\n", number,
                        static_cast<long long>(kind.failures), static_cast<long long>(counted_),
                        static_cast<long long>(kind.first_run), kind.strategy.c_str());
}

bool Exploration::report_failure(const Kind& kind, std::size_t number) {
  for (const std::string& sentence : kind.report.sentences)
    answer_.print_failure("  in run %lld: %s\n", static_cast<long long>(kind.first_run), sentence.c_str());
  const Shrunk small = shrink(runs_, kind.report.decisions, kind.signature, shrink_time_, progress_);
  // The times below are those of the small run.
  if (small.is_reproducible && small.report.sentences != kind.report.sentences) {
    for (const std::string& sentence : small.report.sentences) answer_.print_failure("  made small: %s\n", sentence.c_str());
  }
  answer_.print_failure("%s", failure_text(runs_, small, kind.report).c_str());
  const RunReport& report = small.is_reproducible ? small.report : kind.report;
  RunOptions small_run = options_.run;
  small_run.sets = words_of(small.arguments);
  ReplayFile file = replay_of(plan_, small_run, files_, report);
  file.arguments = small.arguments;
  file.decisions = small.decisions;
  file.signature = kind.signature;
  std::error_code error;
  const std::string path = options_.out + "/failure-" + std::to_string(number) + ".replay";
  std::filesystem::create_directories(options_.out, error);
  if (const std::string failure = write_replay(path, file); !failure.empty()) {
    complain(failure);
    return false;
  }
  answer_.print_failure("  repeat: verbatim replay %s\n", path.c_str());
  const std::string packed = options_.out + "/failure-" + std::to_string(number) + ".vbundle";
  const bool is_packed = options_.bundles && pack_failure(path, packed);
  if (is_packed) answer_.print_failure("  on any machine: verbatim replay %s\n", packed.c_str());
  const std::string recording = options_.records ? record(file, number) : "";
  if (!recording.empty()) answer_.print_failure("  recording: %s\n", recording.c_str());
  flush_standard_output();
  entries_.push_back({{"signature", kind.signature},
                      {"summary", file.summary},
                      {"bundle", is_packed ? Json(packed) : Json()},
                      {"runs", kind.failures},
                      {"first_run", kind.first_run},
                      {"strategy", kind.strategy},
                      {"arguments", arguments_json(plan_, small)},
                      {"decisions_found", kind.report.decisions.size()},
                      {"decisions", to_json(small.decisions)},
                      {"shrink_runs", small.runs},
                      {"replay", path}});
  if (!recording.empty()) entries_.back()["recording"] = recording;
  return true;
}

std::string Exploration::record(const ReplayFile& failure, std::size_t number) {
  const std::string path = options_.out + "/failure-" + std::to_string(number) + ".rec";
  const auto report = runs_.run(schedule_of(failure.decisions), {.trace = "", .record = path});
  if (report && report->signature() == failure.signature) return path;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (report)
    complain("warning: failure " + std::to_string(number) + " did not occur again, so it has no recording");
  return "";
}

bool Exploration::write_results() {
  std::error_code error;
  std::filesystem::create_directories(options_.out, error);
  Json sites = Json::object();
  Json windows = Json::object();
  for (std::size_t i = 0; i < windows_.size(); ++i)
    windows[std::string(observe::text_of(static_cast<observe::RaceWindow>(i)))] = windows_[i];
  for (const auto& [site, count] : asked_) {
    const auto decided = decided_.find(site);
    sites[site] = {{"asked", count}, {"not_default", decided == decided_.end() ? 0 : decided->second}};
  }
  Json json = {{"version", VERBATIM_VERSION},
                     {"freedom", plan_.scenario.freedom},
                     {"strategy", options_.focus.empty() ? options_.strategy : "near"},
                     {"runs", counted_},
                     {"different", different()},
                     {"digest", unit_digest_.value_or(digest_.hex())},
                     {"failed", failed_},
                     {"interrupted", runs_.is_interrupted()},
                     {"complete", strategy_.is_exhausted()},
                     {"failures", entries_},
                     {"findings", findings_.json()},
                     {"sites", sites},
                     {"unused", untried_sites()},
                     {"windows", windows}};
  if (unit_digest_) json["missing_units"] = units_missing_;
  answer_.document() = json;
  std::vector<JunitCase> cases;
  if (units_missing_ != 0) cases.push_back({"all units have results", std::to_string(units_missing_) + " units have no result"});
  if (kinds_.empty() && units_missing_ == 0) cases.push_back({"explore", ""});
  for (const Kind& kind : kinds_) cases.push_back({kind.signature, kind.summary});
  const std::string junit = junit_text("verbatim explore", cases);
  std::vector<std::pair<std::string, std::string>> documents = {
      {options_.out + "/explore.json", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"},
      {options_.out + "/junit.xml", junit}};
  if (!options_.junit.empty()) documents.emplace_back(options_.junit, junit);
  for (const auto& [path, text] : documents) {
    const std::string failure = write_document(path, text);
    if (failure.empty()) continue;
    complain(failure);
    return false;
  }
  return true;
}

}  // namespace verbatim::cli
