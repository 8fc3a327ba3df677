// A page of `verbatim report` for a run, in a browser.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.h"
#include "tests/support/browser.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {

class ReportInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!support::Browser::is_installed()) GTEST_SKIP() << "no chromium";
  }

  void make(const std::string& more, const std::string& program = "ibv_rc_pingpong ", const std::string& fault = "") {
    std::vector<std::string> words = {"--topology", support::topology("two_hosts")};
    if (!fault.empty()) words.insert(words.end(), {"--fault", fault});
    words.insert(words.end(), {"server=" + program + more, "client=" + program + more + " server"});
    make_of(std::move(words));
  }
  // Makes the page of a run with these words.
  void make_of(std::vector<std::string> words) {
    const std::string recording = folder_.path() + "/run.verbatim";
    words.insert(words.begin(), {"run", "--quiet", "--log", "off", "--record", recording});
    cli::verbatim(std::move(words));
    path_ = folder_.path() + "/report.html";
    const cli::Finished made = cli::verbatim({"report", recording, "-o", path_});
    ASSERT_EQ(made.code, 0) << made.err;
  }

  void make_with_a_loss() {
    make("-n 5", "ibv_rc_pingpong ", R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})");
  }

  // Returns false if the browser does not run on this machine.
  bool open(const std::string& fragment = "") {
    if (!browser_) browser_ = std::make_unique<support::Browser>(folder_.path() + "/profile");
    if (!browser_->is_running()) return false;
    browser_->open(path_ + fragment);
    EXPECT_TRUE(browser_->wait_for("document.documentElement.dataset.ready")) << browser_->errors();
    return true;
  }
  nlohmann::json value(const std::string& expression) { return browser_->value_of(expression); }
  bool wait(const std::string& expression) { return browser_->wait_for(expression, 8); }
  std::string chosen() { return value("(document.querySelector('.row.is-chosen') || {}).title || ''").get<std::string>(); }
  std::string details() { return value("document.getElementById('details').textContent").get<std::string>(); }
  void set(const std::string& field, const std::string& words) {
    value("(f => { f.value = '" + words + "'; f.dispatchEvent(new Event('input')); f.dispatchEvent(new Event('change')); })(document.getElementById('" +
          field + "'))");
  }
  static std::string found_is(const std::string& words) { return "document.getElementById('found').textContent === '" + words + "'"; }

  support::TemporaryFolder folder_;
  std::string path_;
  std::unique_ptr<support::Browser> browser_;
};

}  // namespace verbatim
