// The rules, each of which recognises one kind of mistake from the records of a failure. nullopt: it does not
// apply.
#pragma once

#include <optional>

#include "tools/verbatim/advice/advice.h"
#include "tools/verbatim/advice/evidence.h"

namespace verbatim::cli::rules {

using Found = std::optional<Advice>;

// sanitizer_rule.cc
Found sanitizer_reports(const Evidence& evidence);  // a sanitizer in the program has found a mistake

// buffer_rules.cc
Found send_buffer_changed(const Evidence& evidence);  // an adapter that reads late finds other bytes
Found read_source_changed(
    const Evidence& evidence);                       // a READ brings bytes of after its request was overtaken
Found send_of_read_bytes(const Evidence& evidence);  // a send of a READ's bytes without a fence
Found requests_outlive_their_end(
    const Evidence& evidence);  // a queue pair is destroyed before its sends are complete
Found closed_with_sends_outstanding(const Evidence& evidence);  // a queue pair is closed before its sends are complete
Found late_write_of_ended_sender(const Evidence& evidence);  // a WRITE arrives after its sender has given up

// order_rules.cc
Found send_queue_full(const Evidence& evidence);     // a slot of the send queue is used before its completion
Found bytes_in_any_order(const Evidence& evidence);  // a thread takes changed memory for a complete message
Found writes_unordered(const Evidence& evidence);    // a WRITE overtakes an earlier one of its queue pair
Found reply_before_completion(const Evidence& evidence);  // a message is polled before the completion of an own send
Found message_seen_early(const Evidence& evidence);       // the same, of a hang whose decisions are not the fewest
Found queue_pairs_unordered(const Evidence& evidence);  // a message is taken as proof of one of another queue pair

// notice_rule.cc
Found notice_overtakes_write(const Evidence& evidence);  // a message over a socket is taken as proof of a WRITE

// thread_rules.cc
Found accesses_of_threads(const Evidence& evidence);    // memory changes between two accesses of a thread
Found atomics_and_processor(const Evidence& evidence);  // an adapter's atomics and the processor's stores
Found atomics_on_memory(const Evidence& evidence);         // an adapter's atomics, perhaps beside the processor's stores
Found use_after_destroy(const Evidence& evidence);      // a thread uses what another one has destroyed
Found destroyed_while_handled(const Evidence& evidence);  // a thread handles a completion while another destroys its queue pair
Found sleep_is_no_order(const Evidence& evidence);      // a thread sleeps instead of waiting for another one
Found posts_while_closing(const Evidence& evidence);    // a thread posts while another closes the queue pair

// object_rules.cc
Found number_used_again(const Evidence& evidence);           // a queue pair gets the number of another one
Found message_before_established(const Evidence& evidence);  // a message overtakes RDMA_CM_EVENT_ESTABLISHED
Found completions_after_last_wqe(const Evidence& evidence);  // completions remain after LAST_WQE_REACHED
Found immediate_takes_receive(const Evidence& evidence);     // a WRITE with immediate data uses a receive
Found limit_not_armed_again(const Evidence& evidence);       // the limit of an SRQ is armed once
Found batch_of_destroyed(
    const Evidence& evidence);                    // a queue pair ends while a batch of completions is handled
Found undefined_field(const Evidence& evidence);  // an undefined field of a failed completion decides
Found reset_discards(const Evidence& evidence);   // RESET discards requests without completions

// cm_rules.cc
Found event_of_other_thread(const Evidence& evidence);  // two threads wait for one event channel of librdmacm
Found not_listening_yet(const Evidence& evidence);      // a client connects before the server listens
Found request_not_answered(const Evidence& evidence);   // a connection request is taken for an event of another connection
// Whether it is the command of librdmacm that returns an event, which rdma_get_cm_event waits for.
bool gets_cm_event(const ThreadCall& call);

// event_rules.cc
Found event_without_completion(const Evidence& evidence);  // an earlier poll has taken the completion of an event

// loss_rules.cc
Found datagram_lost(const Evidence& evidence);   // nobody repeats a datagram
Found read_in_pieces(const Evidence& evidence);  // a READ is no snapshot

}  // namespace verbatim::cli::rules
