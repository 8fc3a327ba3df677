// Every choice site of the model has a text.
#include "sim/explore/site_texts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace verbatim::explore {
namespace {

TEST(SiteTexts, there_is_one_for_every_site_and_none_besides) {
  std::set<std::string> sites;
  const std::regex site("(?:DelaySite k\\w+\\{|string_view k\\w+ = )\"([a-z/-]+)\"");
  for (const char* file : {"sim/hca/freedom.h", "sim/cm/freedom.h", "sim/supervisor/tasks/thread_delays.h",
                           "sim/supervisor/kernel/freedom.h", "sim/faults/drawn_faults.h", "sim/faults/drawn_failures.h",
                           "sim/faults/drawn_disturbances.h", "sim/workload/freedom.h"}) {
    std::ifstream in(std::string(VERBATIM_SOURCE_DIR) + "/" + file);
    ASSERT_TRUE(in) << file;
    std::stringstream text;
    text << in.rdbuf();
    const std::string all = text.str();
    for (std::sregex_iterator it(all.begin(), all.end(), site), end; it != end; ++it) sites.insert((*it)[1]);
  }
  EXPECT_GE(sites.size(), 15u);
  for (const std::string& name : sites) EXPECT_NE(text_of(name), nullptr) << name;
  for (const SiteText& text : site_texts()) {
    EXPECT_TRUE(sites.contains(std::string(text.site))) << text.site << " is no site of the model";
    for (const std::string_view part : {text.effect, text.rule, text.hidden})
      EXPECT_FALSE(part.empty()) << text.site;
  }
}

// A choice of time or order allows many mistakes, so no advice fits all of them.
TEST(SiteTexts, choices_of_time_and_order_have_no_advice_of_their_own) {
  for (const SiteText& text : site_texts()) {
    const bool is_of_time = text.site.starts_with("thread-before-call") || text.site.starts_with("thread-after") ||
                            text.site.starts_with("gather-delay") || text.site.starts_with("placement") || text.site.starts_with("completion-delay") ||
                            text.site.starts_with("ack-") || text.site.starts_with("packet-fault");
    EXPECT_TRUE(!is_of_time || text.remedy.empty()) << text.site;
  }
}

}  // namespace
}  // namespace verbatim::explore
