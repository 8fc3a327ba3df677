#include "tools/verbatim/advice/advice.h"

#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli {

namespace {

// Rules with the strongest proof first: different bytes of one request, then records in another order than
// without a decision, then facts of the failing run alone.
constexpr rules::Found (*kRules[])(const Evidence&) = {
    rules::sanitizer_reports,
    rules::datagram_lost,
    rules::undefined_field,
    rules::requests_outlive_their_end,
    rules::read_source_changed,
    rules::send_buffer_changed,
    rules::send_queue_full,
    rules::atomics_and_processor,
    rules::accesses_of_threads,
    rules::writes_unordered,
    rules::bytes_in_any_order,
    rules::number_used_again,
    rules::message_before_established,
    rules::late_write_of_ended_sender,
    rules::limit_not_armed_again,
    rules::reset_discards,
    rules::notice_overtakes_write,
    rules::queue_pairs_unordered,
    rules::reply_before_completion,
    rules::event_of_other_thread,
    rules::request_not_answered,
    rules::not_listening_yet,
    rules::send_of_read_bytes,
    rules::batch_of_destroyed,
    rules::use_after_destroy,
    rules::destroyed_while_handled,
    rules::posts_while_closing,
    rules::sleep_is_no_order,
    rules::completions_after_last_wqe,
    rules::closed_with_sends_outstanding,
    rules::immediate_takes_receive,
    rules::atomics_on_memory,
    rules::read_in_pieces,
    rules::event_without_completion,
    rules::message_seen_early,
};

}  // namespace

std::vector<Advice> advice_of(const Evidence& evidence) {
  std::vector<Advice> possible;
  for (const auto rule : kRules) {
    auto found = rule(evidence);
    if (!found) continue;
    if (found->is_proven) return {std::move(*found)};
    if (possible.empty()) possible.push_back(std::move(*found));
  }
  return possible;
}

}  // namespace verbatim::cli
