#include "sim/config/fields.h"

#include <algorithm>
#include <cmath>

#include "sim/config/words.h"

namespace verbatim::config {

bool has_dimension(Kind kind) { return kind >= Kind::kDuration && kind <= Kind::kDelayPerLength; }

Dimension dimension_of(Kind kind) {
  CHECK(has_dimension(kind));
  return static_cast<Dimension>(static_cast<int>(kind) - static_cast<int>(Kind::kDuration));
}
static_assert(static_cast<int>(Kind::kDelayPerLength) - static_cast<int>(Kind::kDuration) ==
              static_cast<int>(Dimension::kDelayPerLength));

bool is_valid_name(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return alphanumeric(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

namespace {

std::string shown(const Json& json) {
  if (json.is_string()) return in_quotes(json.get_ref<const std::string&>());
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "…";
}

std::string type_name(const Json& json) {
  if (json.is_string()) return "a string";
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  if (json.is_number_integer()) return "a number";
  if (json.is_number()) return "a number with decimals";
  if (json.is_boolean()) return "true or false";
  return "null";
}

class Checker {
 public:
  Checker(const std::string& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  void object(const Json& json, const Object& object, void* target, const std::string& pointer) {
    if (object.note_pointer != nullptr) object.note_pointer(target, pointer);
    if (!json.is_object()) {
      add(pointer, shown(json) + " is not an object", "write " + std::string(object.title) + " as { … }");
      return;
    }
    for (const auto& [key, value] : json.items()) {
      const auto field = std::find_if(object.fields.begin(), object.fields.end(),
                                      [&key = key](const Field& f) { return f.key == key; });
      if (field == object.fields.end()) {
        unknown_key(key, object, pointer);
        continue;
      }
      this->field(value, *field, object, target, join_pointer(pointer, key));
    }
    for (const Field& field : object.fields) {
      if (field.required && !json.contains(std::string(field.key))) {
        add(pointer, "the key \"" + std::string(field.key) + "\" is missing", std::string(field.doc));
      }
    }
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(file_, pointer, std::move(text), std::move(hint));
  }

  void unknown_key(const std::string& key, const Object& object, const std::string& pointer) {
    std::vector<std::string> keys;
    std::string list;
    for (const Field& f : object.fields) {
      keys.emplace_back(f.key);
      if (f.kind != Kind::kIgnored) list += (list.empty() ? "" : ", ") + std::string(f.key);
    }
    const bool is_of_profile =
        object.profile != nullptr && std::ranges::find(object.profile->fields, key, &Field::key) != object.profile->fields.end();
    if (is_of_profile) {
      add(join_pointer(pointer, key), "unknown key",
          "it is a key of profiles: write it to a profile's file, and name that as \"" + std::string(object.profile_key) + "\"");
      return;
    }
    const std::string near = nearest(key, keys);
    add(join_pointer(pointer, key), "unknown key",
        near.empty() ? std::string(object.title) + " has the keys " + list
                     : "did you mean \"" + near + "\"?");
  }

  // A list of objects makes one element for each entry, also for wrong ones, so that indices agree with the
  // file.
  void field(const Json& json, const Field& field, const Object& object, void* target,
             const std::string& pointer) {
    if (field.kind == Kind::kObject) {
      this->object(json, *field.object, field.member(target), pointer);
      return;
    }
    if (field.kind == Kind::kObjects) {
      if (!json.is_array()) {
        add(pointer, shown(json) + " is not a list", "write [ … ], one object for each entry");
        return;
      }
      std::size_t index = 0;
      for (const Json& element : json) {
        this->object(element, *field.object, field.member(target), join_pointer(pointer, index++));
      }
      return;
    }
    const Json* plain = &json;
    std::string plain_pointer = pointer;
    if (object.annotated && json.is_object() && field.kind != Kind::kIgnored) {
      plain = annotated(json, pointer);
      if (plain == nullptr) return;
      plain_pointer += "/value";
    }
    const Value value = scalar(*plain, field, plain_pointer);
    if (!std::holds_alternative<std::monostate>(value) && field.store != nullptr) field.store(target, value);
  }

  // {"value": …, "source": "…"}
  const Json* annotated(const Json& json, const std::string& pointer) {
    const Json* value = nullptr;
    for (const auto& [key, entry] : json.items()) {
      if (key == "value") {
        value = &entry;
      } else if (key == "source") {
        if (!entry.is_string())
          add(pointer + "/source", shown(entry) + " is not a string", "say where the value is from");
      } else {
        add(join_pointer(pointer, key), "unknown key",
            "a value with its source has the keys value and source");
      }
    }
    if (value == nullptr)
      add(pointer, "the key \"value\" is missing", "write {\"value\": …, \"source\": \"…\"}");
    return value;
  }

  Value wrong_type(const Json& json, const Field& field, const std::string& pointer, std::string_view wanted,
                   std::string_view example) {
    (void)field;
    add(pointer, shown(json) + " is " + type_name(json) + " where " + std::string(wanted) + " is expected",
        example.empty() ? "" : "write it like " + std::string(example));
    return {};
  }

  Value in_range(std::int64_t value, const Json& json, const Field& field, const std::string& pointer) {
    const auto print = [&](std::int64_t v) {
      return has_dimension(field.kind) ? format_quantity(v, dimension_of(field.kind)) : std::to_string(v);
    };
    if (!field.numbers.empty()) {
      if (std::find(field.numbers.begin(), field.numbers.end(), value) != field.numbers.end()) return value;
      std::string list;
      for (const std::int64_t n : field.numbers) list += (list.empty() ? "" : ", ") + print(n);
      add(pointer, shown(json) + " is not allowed here", "allowed: " + list);
      return {};
    }
    if (value >= field.min && value <= field.max) return value;
    add(pointer, shown(json) + " is out of range",
        "allowed: " + print(field.min) + " to " + print(field.max));
    return {};
  }

  Value scalar(const Json& json, const Field& field, const std::string& pointer) {
    if (has_dimension(field.kind)) return quantity(json, field, pointer);
    switch (field.kind) {
      case Kind::kInteger:
        if (!json.is_number_integer()) return wrong_type(json, field, pointer, "a whole number", "");
        if (json.is_number_unsigned() &&
            json.get<std::uint64_t>() >
                static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          add(pointer, shown(json) + " is out of range",
              "allowed: " + std::to_string(field.min) + " to " + std::to_string(field.max));
          return {};
        }
        return in_range(json.get<std::int64_t>(), json, field, pointer);
      case Kind::kBoolean:
        if (!json.is_boolean()) return wrong_type(json, field, pointer, "true or false", "");
        return json.get<bool>();
      case Kind::kFraction:
        return fraction(json, field, pointer);
      case Kind::kCommand:
        return command(json, field, pointer);
      case Kind::kTextMap:
      case Kind::kRangeMap:
        return text_map(json, field, pointer);
      case Kind::kObjectMap:
        return object_map(json, field, pointer);
      case Kind::kTextList:
        return text_list(json, field, pointer);
      case Kind::kExpectExit:
        return expect_exit(json, field, pointer);
      default:
        break;
    }
    if (field.kind == Kind::kLinkRate && json.is_number()) {
      add(pointer, shown(json) + " has no unit",
          "write a string with a unit, such as \"" + shown(json) + " Gbps\", or on InfiniBand speed and width, such as \"EDR 4x\"");
      return {};
    }
    if (!json.is_string()) return wrong_type(json, field, pointer, "a string", example_for(field.kind));
    return text(json.get<std::string>(), field, pointer);
  }

  Value object_map(const Json& json, const Field& field, const std::string& pointer) {
    constexpr std::string_view kExample = R"({"edr_roce": {"congestion_control": {"controller": "hpcc"}}})";
    if (!json.is_object()) return wrong_type(json, field, pointer, "an object of objects", kExample);
    for (const auto& [key, entry] : json.items()) {
      if (!entry.is_object()) return wrong_type(entry, field, join_pointer(pointer, key), "an object", kExample);
    }
    return json.dump();
  }

  Value fraction(const Json& json, const Field& field, const std::string& pointer) {
    if (!json.is_number()) return wrong_type(json, field, pointer, "a number from 0 to 1", "1e-4");
    const double number = json.get<double>();
    const auto parts = number >= 0 && number <= 1 ? std::llround(number * static_cast<double>(kFractionParts)) : -1;
    if (parts >= 0 && (parts > 0 || number == 0)) return std::int64_t{parts};
    add(pointer, shown(json) + " is out of range", "allowed: 0 to 1; the least number above 0 is 1e-12");
    return {};
  }

  static std::string_view example_for(Kind kind) {
    switch (kind) {
      case Kind::kLinkRate:
        return "\"EDR 4x\"";
      case Kind::kAddress:
        return "\"10.0.0.1\"";
      case Kind::kInterface:
        return "\"192.168.1.1/24\"";
      default:
        return "";
    }
  }

  Value quantity(const Json& json, const Field& field, const std::string& pointer) {
    const Dimension dimension = dimension_of(field.kind);
    if (!json.is_string()) {
      if (json.is_number()) {
        const std::string unit(dimension == Dimension::kSize ? "B" : usual_unit(dimension));
        add(pointer, shown(json) + " has no unit", "write a string with a unit, such as \"" + shown(json) + " " + unit + "\"");
        return {};
      }
      return wrong_type(json, field, pointer, name_of(dimension),
                        "\"" + std::string(example_of(dimension)) + "\"");
    }
    std::string problem, hint;
    const auto value = parse_quantity(json.get_ref<const std::string&>(), dimension, &problem, &hint);
    if (!value) {
      add(pointer, shown(json) + " " + problem, hint);
      return {};
    }
    return in_range(*value, json, field, pointer);
  }

  Value text(std::string text, const Field& field, const std::string& pointer) {
    if (text.find('\0') != std::string::npos) {
      add(pointer, in_quotes(text) + " contains a zero character", "remove it");
      return {};
    }
    switch (field.kind) {
      case Kind::kName:
        if (is_valid_name(text)) return text;
        add(pointer, in_quotes(text) + " is not a name",
            "a name has 1 to 63 letters, digits, '-', '_' or '.', and begins with a letter or digit");
        return {};
      case Kind::kAddress:
        if (parse_ipv4(text)) return text;
        add(pointer, in_quotes(text) + " is not an IPv4 address", "write it like \"10.0.0.1\"");
        return {};
      case Kind::kInterface:
        if (parse_ipv4_with_prefix(text, 16)) return text;
        add(pointer, in_quotes(text) + " is not the IPv4 address of an interface",
            "write it like \"192.168.1.1/24\", with a network of 8 to 31 bits");
        return {};
      case Kind::kReference:
        if (!text.empty()) return text;
        add(pointer, "the string is empty", std::string(field.doc));
        return {};
      case Kind::kHex:
        if (text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos) return text;
        add(pointer, in_quotes(text) + " is not a digest",
            "a digest has 32 digits 0-9a-f, as `verbatim run` prints it");
        return {};
      case Kind::kLinkRate: {
        std::string problem, hint;
        const auto rate = parse_link_rate(text, &problem, &hint);
        if (rate) return *rate;
        add(pointer, in_quotes(text) + " " + problem, hint);
        return {};
      }
      case Kind::kText:
        return choice(std::move(text), field, pointer);
      default:
        return text;
    }
  }

  Value choice(std::string text, const Field& field, const std::string& pointer) {
    if (field.choices.empty() ||
        std::find(field.choices.begin(), field.choices.end(), text) != field.choices.end()) {
      return text;
    }
    std::vector<std::string> choices(field.choices.begin(), field.choices.end());
    const std::string near = nearest(text, choices);
    std::string list;
    for (const std::string& c : choices) list += (list.empty() ? "\"" : ", \"") + c + "\"";
    add(pointer, in_quotes(text) + " is not allowed here",
        near.empty() ? "allowed: " + list : "did you mean \"" + near + "\"?");
    return {};
  }

  Value command(const Json& json, const Field& field, const std::string& pointer) {
    std::vector<std::string> words;
    if (json.is_array()) {
      Value list = text_list(json, field, pointer);
      if (std::holds_alternative<std::monostate>(list)) return {};
      words = std::get<std::vector<std::string>>(list);
    } else if (json.is_string()) {
      std::string problem;
      const auto split = split_words(json.get_ref<const std::string&>(), &problem);
      if (!split) {
        add(pointer, problem, "or write the command as a list of words");
        return {};
      }
      words = *split;
    } else {
      return wrong_type(json, field, pointer, "a command", "\"ibv_rc_pingpong server\"");
    }
    if (words.empty() || words.front().empty()) {
      add(pointer, "the command is empty", "write it like \"ibv_rc_pingpong server\"");
      return {};
    }
    return words;
  }

  Value text_list(const Json& json, const Field& field, const std::string& pointer) {
    if (!json.is_array()) return wrong_type(json, field, pointer, "a list of strings", "");
    std::vector<std::string> words;
    bool good = true;
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (!json[i].is_string()) {
        wrong_type(json[i], field, join_pointer(pointer, i), "a string", "");
        good = false;
      } else if (json[i].get_ref<const std::string&>().find('\0') != std::string::npos) {
        add(join_pointer(pointer, i), "the string contains a zero character", "remove it");
        good = false;
      } else {
        words.push_back(json[i].get<std::string>());
      }
    }
    return good ? Value(words) : Value();
  }

  Value text_map(const Json& json, const Field& field, const std::string& pointer) {
    if (!json.is_object())
      return wrong_type(json, field, pointer, "an object of strings",
                        field.kind == Kind::kRangeMap ? "{\"messages\": \"1..1000\"}" : "{\"NAME\": \"value\"}");
    std::map<std::string, std::string> map;
    bool good = true;
    for (const auto& [key, value] : json.items()) {
      const std::string at = join_pointer(pointer, key);
      if (!value.is_string()) {
        wrong_type(value, field, at, "a string", "");
        good = false;
      } else if (field.kind == Kind::kRangeMap) {
        map[key] = value.get<std::string>();  // checked together with the commands
      } else if (key.empty() || key.find_first_of(std::string("=\0", 2)) != std::string::npos ||
                 value.get_ref<const std::string&>().find('\0') != std::string::npos) {
        add(at,
            in_quotes(key) + (field.key == std::string("files")
                                  ? " is not a path, or what it is a copy of has a zero character"
                                  : " is not the name of an environment variable or its value has a zero character"),
            "");
        good = false;
      } else {
        map[key] = value.get<std::string>();
      }
    }
    return good ? Value(map) : Value();
  }

  Value expect_exit(const Json& json, const Field& field, const std::string& pointer) {
    if (json.is_number_integer()) {
      Field range = field;
      range.min = 0;
      range.max = 255;
      if (json.is_number_unsigned() && json.get<std::uint64_t>() > 255) {
        add(pointer, shown(json) + " is out of range", "an exit code is 0 to 255");
        return {};
      }
      const Value value = in_range(json.get<std::int64_t>(), json, range, pointer);
      if (std::holds_alternative<std::monostate>(value)) return {};
      return std::to_string(std::get<std::int64_t>(value));
    }
    if (json.is_string() && signal_number(json.get_ref<const std::string&>()) != 0)
      return json.get<std::string>();
    add(pointer, shown(json) + " is neither an exit code nor a signal",
        "write 0 to 255, or a name such as \"SIGSEGV\"");
    return {};
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_object(const Json& json, const Object& object, void* target, const std::string& file,
                  const std::string& pointer, Diagnostics& diagnostics) {
  Checker(file, diagnostics).object(json, object, target, pointer);
}

}  // namespace verbatim::config
