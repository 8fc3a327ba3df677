// The tables of --explain-latency in JSON.
#pragma once

#include <string>

#include "sim/observe/latency_explainer.h"

namespace verbatim::cli {

std::string explanation_json(const observe::LatencyExplainer& explainer, const ComponentTable& components);

}  // namespace verbatim::cli
