// JSON Schemas (draft 7) from the tables of the checker, for editors and other programs. What needs more than
// one value (names that must exist, cables, reachability) is beyond a schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/config/fields.h"

namespace verbatim::config {

Json schema_of(const Object& object);

// File name ("topology.schema.json") and text of the schema of one table.
std::pair<std::string, std::string> published_schema(const std::string& name, const Object& table);

// The same for every table of sim/config.
std::vector<std::pair<std::string, std::string>> published_schemas();

}  // namespace verbatim::config
