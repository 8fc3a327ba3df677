// A headless Chromium that a test drives: it opens pages, runs scripts in them, presses keys. It talks the DevTools protocol over
// two pipes, without a network.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

namespace verbatim::support {

class Browser {
 public:
  // `profile` is a folder of its own. Where no browser runs, is_running() is false.
  explicit Browser(const std::string& profile, int width = 1400, int height = 1000);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  static bool is_installed();
  bool is_running() const { return is_running_; }

  void open(const std::string& path);  // a file, with what follows # in its address
  // The value of an expression in the page; of a promise what it becomes. An error is {"error": words}.
  nlohmann::json value_of(const std::string& expression);
  // Until the expression is true; false: it did not become so.
  bool wait_for(const std::string& expression, double seconds = 60);
  // A key by its name in a page: "ArrowDown", "n".
  void press(const std::string& key);
  // The mouse at a place of the window, in pixels. A drag from a place to the same one is a click.
  static constexpr int kControl = 2, kShift = 8;  // held meanwhile
  void wheel(double x, double y, double by, int held = 0);
  void drag(double from_x, double from_y, double to_x, double to_y, int held = 0);
  // CSS media: "screen" or "print", "light" or "dark".
  void emulate(const std::string& media, const std::string& color_scheme);
  // Errors in scripts so far, as text; empty: none.
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
