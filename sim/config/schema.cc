#include "sim/config/schema.h"

#include <map>

#include "sim/config/tables.h"

namespace verbatim::config {

namespace {

// The default value of the C++ struct in the form of the file.
Json default_text(const Field& field, const void* object) {
  const Value value = field.load(object);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    if (has_dimension(field.kind)) return format_quantity(*number, dimension_of(field.kind));
    return *number;
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->empty()) return Json();
    if (field.kind == Kind::kExpectExit) return std::stoi(*text);
    return *text;
  }
  return Json();
}

Json bounds(const Field& field) {
  Json schema = {{"type", "integer"}};
  if (!field.numbers.empty()) {
    schema["enum"] = field.numbers;
    return schema;
  }
  schema["minimum"] = field.min;
  if (field.max != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = field.max;
  return schema;
}

Json scalar_schema(const Field& field) {
  if (has_dimension(field.kind))
    return {{"type", "string"}, {"pattern", pattern_of(dimension_of(field.kind))}};
  const Json words = {{"type", "array"}, {"items", {{"type", "string"}}}};
  switch (field.kind) {
    case Kind::kInteger:
      return bounds(field);
    case Kind::kBoolean:
      return {{"type", "boolean"}};
    case Kind::kFraction:
      return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
    case Kind::kName:
      return {{"type", "string"}, {"pattern", "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"}};
    case Kind::kAddress:
    case Kind::kInterface: {
      const std::string part = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
      const std::string bits = field.kind == Kind::kInterface ? "(/([89]|[12][0-9]|3[01]))?" : "";
      return {{"type", "string"}, {"pattern", "^(" + part + "\\.){3}" + part + bits + "$"}};
    }
    case Kind::kReference:
      return {{"type", "string"}, {"minLength", 1}};
    case Kind::kHex:
      return {{"type", "string"}, {"pattern", "^[0-9a-f]{32}$"}};
    case Kind::kLinkRate:
      return {{"type", "string"}, {"pattern", link_rate_pattern()}};
    case Kind::kCommand: {
      Json list = words;
      list["minItems"] = 1;
      return {{"anyOf", {{{"type", "string"}, {"minLength", 1}}, list}}};
    }
    case Kind::kTextMap:
      return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    case Kind::kRangeMap:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", "^[A-Za-z][A-Za-z0-9_-]{0,62}$"}}},
              {"additionalProperties", {{"type", "string"}, {"pattern", "^[0-9]+\\.\\.[0-9]+$"}}}};
    case Kind::kObjectMap:
      return {{"type", "object"}, {"additionalProperties", {{"type", "object"}}}};
    case Kind::kTextList:
      return words;
    case Kind::kExpectExit:
      return {{"anyOf",
               {{{"type", "integer"}, {"minimum", 0}, {"maximum", 255}},
                {{"type", "string"}, {"pattern", "^SIG[A-Z0-9]+$"}}}}};
    case Kind::kText:
      if (!field.choices.empty()) return {{"type", "string"}, {"enum", field.choices}};
      return {{"type", "string"}};
    default:
      return {{"type", "string"}};
  }
}

Json field_schema(const Field& field, const Object& owner) {
  Json schema;
  if (field.kind == Kind::kObject) {
    schema = schema_of(*field.object);
  } else if (field.kind == Kind::kObjects) {
    schema = {{"type", "array"}, {"items", schema_of(*field.object)}};
  } else {
    schema = scalar_schema(field);
    if (owner.annotated && field.kind != Kind::kIgnored) {
      const Json annotated = {{"type", "object"},
                              {"properties", {{"value", schema}, {"source", {{"type", "string"}}}}},
                              {"required", {"value"}},
                              {"additionalProperties", false}};
      schema = {{"anyOf", {schema, annotated}}};
    }
  }
  schema["description"] = field.doc;
  return schema;
}

}  // namespace

Json schema_of(const Object& object) {
  Json schema = {{"type", "object"}, {"description", object.doc}};
  void* defaults = object.make_default();
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : object.fields) {
    Json entry = field_schema(field, object);
    if (field.load != nullptr) {
      const Json value = default_text(field, defaults);
      if (!value.is_null()) entry["default"] = value;
    }
    properties[std::string(field.key)] = entry;
    if (field.required) required.push_back(field.key);
  }
  object.destroy(defaults);
  schema["properties"] = properties;
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
  return schema;
}

std::pair<std::string, std::string> published_schema(const std::string& name, const Object& table) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Verbatim " + name}};
  schema.update(schema_of(table));
  return {name + ".schema.json", schema.dump(2) + "\n"};
}

std::vector<std::pair<std::string, std::string>> published_schemas() {
  return {published_schema("topology", topology_table()), published_schema("scenario", scenario_table()),
          published_schema("hca_profile", hca_profile_table()), published_schema("switch_profile", switch_profile_table()),
          published_schema("cpu_profile", cpu_profile_table())};
}

}  // namespace verbatim::config
