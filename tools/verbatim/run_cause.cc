#include "tools/verbatim/run_cause.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "sim/core/time_text.h"
#include "sim/observe/remedies.h"

namespace verbatim::cli {

namespace {

// An object that is still in use cannot be destroyed (EBUSY). Programs that end after another failure often do not
// undo everything first.
bool is_refused_destruction(const observe::Failure& failure) { return failure.subject.starts_with("EBUSY "); }

RunCause of_failure(const observe::Failure& failure) {
  const observe::FailureCause& first = failure.causes.front();
  return {join("at ", time_text(failure.time_ps), ", ", failure.what, ": ", first.evidence), first.remedy, failure.subject,
          !failure.is_finding && !is_refused_destruction(failure)};
}

bool is_of_request(const observe::Failure& failure) { return !failure.is_finding && failure.subject.starts_with("IBV_WC_"); }

bool has_hung(supervisor::Outcome outcome) {
  using enum supervisor::Outcome;
  return outcome == kDeadlock || outcome == kTimeLimit;
}

}  // namespace

RunCause cause_of(const supervisor::RunResult& result, std::span<const observe::Failure> all,
                  std::optional<std::int64_t> first_end_ps, std::uint64_t rnr_naks) {
  // A receive that was posted late but before its message has no effect.
  std::vector<observe::Failure> relevant;
  std::ranges::copy_if(all, std::back_inserter(relevant), [&](const observe::Failure& one) {
    return rnr_naks != 0 || !one.is_finding || one.subject != "late-receive";
  });
  std::span<const observe::Failure> failures = relevant;
  // In the order of time.
  if (first_end_ps) {
    const auto later = std::ranges::find_if(failures, [&](const observe::Failure& one) { return one.time_ps > *first_end_ps; });
    failures = failures.first(static_cast<std::size_t>(later - failures.begin()));
  }
  if (has_hung(result.outcome)) {
    const auto loop = std::ranges::find(failures, "credit-loop", &observe::Failure::subject);
    if (loop != failures.end()) return of_failure(*loop);
    const auto failed = std::ranges::find(failures, false, &observe::Failure::is_finding);
    const supervisor::HangCause& hang = result.hang_cause;
    if (hang.is_of_peer && failed != failures.end()) return of_failure(*failed);
    const auto failed_request = std::ranges::find_if(failures, is_of_request);
    if (hang.follows_from_failure && failed_request != failures.end()) return of_failure(*failed_request);
    // The peer has exited because of its own failure, and the other programs wait for it.
    if (hang.is_of_peer && !failures.empty()) return of_failure(failures.front());
    const bool follows_from_end = hang.is_of_peer && first_end_ps;
    if (!hang.text.empty() && !follows_from_end) return {hang.text, std::string(observe::remedy_for(hang.text)), "", true};
  }
  for (const bool is_finding : {false, true}) {
    const auto first = std::ranges::find(failures, is_finding, &observe::Failure::is_finding);
    if (first != failures.end()) return of_failure(*first);
  }
  return {};
}

nlohmann::ordered_json to_json(const RunCause& cause) {
  if (cause.text.empty()) return nullptr;
  return {{"text", cause.text}, {"what_to_do", cause.what_to_do}, {"subject", cause.subject}, {"certain", cause.is_certain}};
}

std::vector<std::string> lines_of(const RunCause& cause) {
  if (cause.text.empty()) return {};
  std::vector<std::string> lines{(cause.is_certain ? "cause: " : "possible cause: ") + cause.text};
  const std::string more = cause.subject.empty() ? "" : " (`verbatim explain " + cause.subject + "`)";
  if (!cause.what_to_do.empty()) lines.push_back("what to do: " + cause.what_to_do + more);
  return lines;
}

std::string congestion_text(const observe::Congestion& congestion) {
  const auto short_name = [](const std::string& component) { return component.substr(component.find('/') + 1); };
  std::vector<std::string> parts;
  if (congestion.pauses() != 0) {
    const observe::Congestion::Most most = congestion.longest_pausing();
    parts.push_back(join(congestion.pauses(), congestion.pauses() == 1 ? " pause, " : " pauses, ", time_text(instant_from_ps(congestion.paused_ps())),
                         " in all, longest by ", short_name(most.component)));
  }
  if (congestion.storms() != 0)
    parts.push_back(join(congestion.storms(), congestion.storms() == 1 ? " pause storm" : " pause storms", " found by watchdogs"));
  if (congestion.packets_marked() != 0) {
    parts.push_back(join(congestion.packets_marked(), congestion.packets_marked() == 1 ? " packet" : " packets", " marked, most by ",
                         short_name(congestion.most_marking().component)));
  }
  if (congestion.rate_changes() != 0) {
    const observe::Congestion::Rate lowest = congestion.lowest_rate();
    parts.push_back(join(congestion.rate_changes(), congestion.rate_changes() == 1 ? " change" : " changes", " of rate, down to ", lowest.mbps,
                         " Mb/s at QP ", lowest.qpn, " of ", short_name(lowest.adapter)));
  }
  if (congestion.route_changes() != 0)
    parts.push_back(join(congestion.route_changes(), congestion.route_changes() == 1 ? " change" : " changes", " of routes"));
  std::string text = "congestion: ";
  for (const std::string& part : parts) text += (&part == &parts.front() ? "" : "; ") + part;
  return text;
}

std::string losses_text(const observe::Losses& losses, const std::vector<std::string>& failed_links) {
  if (!losses.any()) return "";
  const auto counted = [](std::uint64_t number, const char* one, const char* many) { return join(number, " ", number == 1 ? one : many); };
  std::string text = join("losses: ", counted(losses.packets_dropped(), "packet", "packets"), " dropped, ",
                          losses.packets_discarded() == 0 ? "" : join(losses.packets_discarded(), " discarded by receivers (out of order after a NAK), "),
                          counted(losses.packets_sent_again(), "packet", "packets"), " sent again, ",
                          counted(losses.retries(), "retry", "retries"), ", ", counted(losses.rnr_naks(), "RNR NAK", "RNR NAKs"));
  const auto with_links = [&](std::string whole) {
    constexpr std::size_t kMostLinks = 4;
    for (std::size_t i = 0; i < std::min(kMostLinks, failed_links.size()); ++i) whole += "; " + failed_links[i];
    return failed_links.size() <= kMostLinks ? whole : join(whole, "; and ", failed_links.size() - kMostLinks, " more links");
  };
  const observe::Losses::Message worst = losses.worst_message();
  if (worst.retries == 0) return with_links(text);
  text += join("; most retried message: QP ", worst.qpn, " of ", worst.adapter.substr(worst.adapter.find('/') + 1), ", PSN ", worst.psn, ", ",
               counted(worst.retries, "retry", "retries"), worst.retries == 1 ? " at " : " from ", time_text(worst.first_ps));
  return with_links(worst.retries == 1 ? text : text + " to " + time_text(worst.last_ps));
}

}  // namespace verbatim::cli
