// Points for people, and in JSON, JUnit and Gradescope format.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/answer.h"
#include "tools/verbatim/labs/grader.h"
#include "tools/verbatim/labs/lab_folder.h"

namespace verbatim::cli {

// Prints the points and fills the document.
void say_grades(Answer& answer, const Lab& lab, const std::vector<Grade>& grades);
std::string junit_of(const Lab& lab, const std::vector<Grade>& grades);
// Gradescope's results.json.
std::string gradescope_text(const Lab& lab, const std::vector<Grade>& grades);

}  // namespace verbatim::cli
