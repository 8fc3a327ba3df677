#include "tests/perftest/variants.h"

namespace verbatim::perftest {

std::vector<Variant> variants_of(const Program& program) {
  std::vector<Variant> all = {
      {.name = "defaults"},
      {.name = "all_sizes", .arguments = "-a -n 20", .all_sizes = true, .iterations = 20},
      {.name = "one_byte", .arguments = "-s 1", .bytes = 1},
      {.name = "one_byte_more_than_a_packet", .arguments = "-s 4097", .bytes = 4097},
      {.name = "large", .arguments = "-s 65536 -n 200", .bytes = 65536, .iterations = 200},
      {.name = "without_frequency_check", .arguments = "-F -n 100", .iterations = 100},
      {.name = "server_by_address", .arguments = "-n 100", .iterations = 100, .server = "10.0.0.1"},
      {.name = "old_post_api", .arguments = "--use_old_post_send -n 100", .iterations = 100},
  };
  if (program.name == "ib_send_bw" || program.name == "ib_send_lat") {
    all.push_back({.name = "events", .arguments = "-e -n 200", .iterations = 200});
  }
  if (program.bandwidth) {
    all.push_back(
        {.name = "gigabits", .arguments = "--report_gbits -n 200", .iterations = 200, .gigabits = true});
    all.push_back({.name = "both_ways", .arguments = "-b -n 300", .iterations = 300, .both_ways = true});
    all.push_back(
        {.name = "four_queue_pairs", .arguments = "-q 4 -n 200", .iterations = 200, .queue_pairs = 4});
    all.push_back({.name = "four_queue_pairs_both_ways",
                   .arguments = "-q 4 -b -n 100 -s 4097",
                   .bytes = 4097,
                   .iterations = 100,
                   .queue_pairs = 4,
                   .both_ways = true});
    all.push_back(
        {.name = "lists_of_sixteen", .arguments = "-l 16 -s 64 -n 320", .bytes = 64, .iterations = 320});
  }
  return all;
}

Variant for_a_second() { return {.name = "for_a_second", .arguments = "-D 1", .for_a_second = true}; }

}  // namespace verbatim::perftest
