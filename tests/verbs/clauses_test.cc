// Fundamental clauses of the man pages, each a test named after it: `clauses.c` checks them from within a
// program, in both modes. Those of work queues are in frames_test.cc; those of the state machine and of XRC
// between programs are tests of the adapter (tests/hca: qp_state_test.cc, xrc_test.cc).
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

void expect_right(const std::string& program, const std::string& clause) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(program) + " " + clause};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  const std::string& output = runs.slices.output("server");
  EXPECT_EQ(output.substr(output.rfind('\n', output.size() - 2) + 1), "right\n") << runs.slices.story();
}

#define CLAUSE(verb, clause) \
  TEST(verb, clause) { expect_right(CLAUSES_PROGRAM, #clause); }
#define TAG_CLAUSE(verb, clause) \
  TEST(verb, clause) { expect_right(TAG_CLAUSES_PROGRAM, #clause); }

CLAUSE(IbvCreateQp, caps_come_back_at_least_as_requested)
CLAUSE(IbvCreateQp, what_comes_back_can_be_used)
CLAUSE(IbvCreateQp, beyond_a_limit_is_null_and_EINVAL)
CLAUSE(IbvCreateQp, an_srq_is_for_RC_and_UD_alone)
CLAUSE(IbvCreateQp, receive_caps_are_ignored_with_an_srq)
CLAUSE(IbvCreateQp, sq_sig_all_makes_each_request_complete)
CLAUSE(IbvCreateQp, there_are_five_types_on_infiniband)
CLAUSE(IbvCreateQp, numbers_are_unique_and_not_given_again_at_once)
CLAUSE(IbvDestroyQp, destroy_is_EBUSY_while_attached_to_a_group)
CLAUSE(IbvDestroyQp, events_of_what_is_destroyed_are_gone)
CLAUSE(IbvModifyQp, a_send_queue_error_stops_sending_and_RTS_mends_it)
CLAUSE(IbvModifyQp, ERR_flushes_both_queues_in_order)
CLAUSE(IbvModifyQp, RESET_drops_what_is_posted_in_silence)
CLAUSE(IbvModifyQp, rates_are_not_limited_and_that_is_said)
CLAUSE(IbvOpenXrcd, minus_one_makes_a_domain_of_its_own)
CLAUSE(IbvOpenXrcd, a_file_names_a_domain_by_its_inode)
CLAUSE(IbvOpenXrcd, processes_of_a_host_share_the_domain_of_a_file)
CLAUSE(IbvOpenXrcd, the_inode_stays_open_while_the_domain_lives)
CLAUSE(IbvOpenXrcd, comp_mask_names_FD_and_OFLAGS)
CLAUSE(IbvOpenXrcd, a_bad_descriptor_is_EBADF)
CLAUSE(IbvCloseXrcd, closing_is_EBUSY_while_queues_use_the_domain)
CLAUSE(IbvCloseXrcd, the_last_reference_ends_a_domain_also_by_death)
CLAUSE(IbvGetSrqNum, an_xrc_srq_has_a_number_and_another_none)

TAG_CLAUSE(TagMatchingSrq, the_device_tells_its_limits)
TAG_CLAUSE(TagMatchingSrq, it_needs_a_cq_and_its_sizes)
TAG_CLAUSE(TagMatchingSrq, its_cq_is_EBUSY_while_it_lives)
TAG_CLAUSE(IbvPostSrqOps, a_full_list_is_ENOMEM_until_something_leaves_it)
TAG_CLAUSE(IbvPostSrqOps, more_than_max_ops_at_once_are_ENOMEM_from_there_on)
TAG_CLAUSE(IbvPostSrqOps, a_wrong_operation_stops_the_call_and_those_before_it_are_done)
TAG_CLAUSE(IbvPostSrqOps, an_operation_that_is_not_signaled_completes_in_silence)
TAG_CLAUSE(IbvPostSrqOps, an_srq_of_another_type_has_no_list)

}  // namespace
}  // namespace verbatim
