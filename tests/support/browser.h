// A headless Chromium for tests: it opens pages, runs scripts in them, presses keys. It uses the DevTools
// protocol over two pipes, without a network.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

namespace verbatim::support {

class Browser {
 public:
  // `profile` is a folder for this browser only. Where no browser runs, is_running() is false.
  explicit Browser(const std::string& profile, int width = 1400, int height = 1000);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  static bool is_installed();
  bool is_running() const { return is_running_; }

  void open(const std::string& path);  // a file; its address may end with # and a fragment
  // The value of an expression in the page; for a promise its result. An error is {"error": text}.
  nlohmann::json value_of(const std::string& expression);
  // Waits until the expression is true; false: not within the time.
  bool wait_for(const std::string& expression, double seconds = 60);
  // Presses a key by its DOM name: "ArrowDown", "n".
  void press(const std::string& key);
  // Mouse actions at a place of the window, in pixels. A drag from a place to the same one is a click.
  static constexpr int kControl = 2, kShift = 8;  // modifiers held during the action
  void wheel(double x, double y, double by, int held = 0);
  void drag(double from_x, double from_y, double to_x, double to_y, int held = 0);
  // CSS media: "screen" or "print", "light" or "dark".
  void emulate(const std::string& media, const std::string& color_scheme);
  // Errors of scripts so far, as text; empty: none.
  const std::string& errors() const { return errors_; }

 private:
  nlohmann::json call(const std::string& method, nlohmann::json parameters, bool of_page = true);
  bool receive(nlohmann::json* message);

  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  bool is_running_ = false;
  int last_call_ = 0;
  std::string session_, buffer_, errors_;
};

}  // namespace verbatim::support
