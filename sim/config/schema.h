// JSON Schemas (draft 7) made from the checker's tables, for editors and other programs. They cannot express
// checks of several values (existing names, cables, reachability).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/config/fields.h"

namespace verbatim::config {

Json schema_of(const Object& object);

// File name ("topology.schema.json") and text of the schema of one table.
std::pair<std::string, std::string> published_schema(const std::string& name, const Object& table);

// Schemas of every table of sim/config.
std::vector<std::pair<std::string, std::string>> published_schemas();

}  // namespace verbatim::config
