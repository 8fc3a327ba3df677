#include "tools/verbatim/labs/grade_text.h"

#include "tools/verbatim/junit.h"

namespace verbatim::cli {

namespace {

using Json = Answer::Json;

std::string joined(const std::vector<std::string>& lines, const std::string& between) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : between) + line;
  return text;
}

}  // namespace

void print_grades(Answer& answer, const Lab& lab, const std::vector<Grade>& grades) {
  const unsigned most = lab.points();
  const unsigned points = points_of(grades);
  answer.print("%s: %s\n", lab.name.c_str(), lab.title.c_str());
  Json criteria = Json::array();
  for (std::size_t i = 0; i < grades.size(); ++i) {
    const Criterion& criterion = lab.criteria[i];
    const Grade& one = grades[i];
    const std::string line = "  " + std::to_string(one.points) + " of " + std::to_string(criterion.points) + "  " + criterion.name + "\n" +
                             (one.why.empty() ? "" : "          " + joined(one.why, "\n          ") + "\n");
    if (one.why.empty()) answer.print("%s", line.c_str());
    else answer.print_failure("%s", line.c_str());
    criteria.push_back(
        {{"name", criterion.name}, {"points", one.points}, {"most", criterion.points}, {"why", joined(one.why, "\n")}});
  }
  if (points == most) answer.print("%u of %u points\n", points, most);
  else answer.print_failure("%u of %u points\n", points, most);
  answer.document() = {
      {"lab", lab.name}, {"title", lab.title}, {"points", points}, {"most", most}, {"criteria", std::move(criteria)}};
}

std::string junit_of(const Lab& lab, const std::vector<Grade>& grades) {
  std::vector<JunitCase> cases;
  for (std::size_t i = 0; i < grades.size(); ++i) cases.push_back({lab.criteria[i].name, joined(grades[i].why, "\n")});
  return junit_text(lab.name, cases);
}

std::string gradescope_text(const Lab& lab, const std::vector<Grade>& grades) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < grades.size(); ++i) {
    tests.push_back({{"name", lab.criteria[i].name},
                     {"score", grades[i].points},
                     {"max_score", lab.criteria[i].points},
                     {"output", grades[i].why.empty() ? "all points" : joined(grades[i].why, "\n")}});
  }
  return Json{{"tests", tests}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verbatim::cli
