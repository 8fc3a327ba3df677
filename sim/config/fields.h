// One table per kind of object in our JSON files: key, kind, range, meaning. The checker (check_object) and
// the published JSON Schemas (schema.h) are generated from the same table, and defaults are those of the C++
// structs, so the three always agree.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"
#include "sim/config/quantity.h"

namespace verbatim::config {

inline constexpr std::int64_t kSecondPs = 1'000'000'000'000;  // the usual upper limit of a duration, in ps

// Fractions are integers in units of 1 / kFractionParts, so random draws with them use no floating point.
inline constexpr std::int64_t kFractionParts = 1'000'000'000'000;

enum class Kind {
  kInteger,
  kBoolean,
  kFraction,   // a number from 0 to 1, in parts of kFractionParts
  kText,       // any string
  kName,       // letters, digits, '-', '_', '.': a name
  kAddress,    // IPv4, dotted
  kInterface,  // IPv4, dotted, optionally with "/" and the number of network bits
  kReference,  // a path or the name of a profile
  kHex,        // 32 hexadecimal digits: a digest
  kDuration,
  kFrequency,
  kSize,
  kRate,
  kLength,
  kDelayPerLength,
  kLinkRate,
  kCommand,     // a string, split as a shell splits words, or a list of words
  kTextMap,     // an object of strings
  kRangeMap,    // an object of ranges: names of arguments, and strings such as "1..1000"
  kTextList,    // a list of strings
  kObjectMap,   // an object of objects, kept as text: for values that depend on other files
  kExpectExit,  // 0 … 255 or "SIGSEGV"
  kObject,
  kObjects,  // a list of objects
  kIgnored,  // "$schema" and the like: any string
};

// Durations are in picoseconds; all other dimensions are in the base units of quantity.h.
using Value = std::variant<std::monostate, std::int64_t, bool, std::string, LinkRate,
                           std::vector<std::string>, std::map<std::string, std::string>>;

struct Object;

struct Field {
  std::string_view key;
  Kind kind;
  bool required = false;
  std::string_view doc;
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string_view> choices;  // kText: the allowed values; empty: any
  std::vector<std::int64_t> numbers;      // kInteger: the allowed values; empty: any in range

  void (*store)(void* object, const Value& value) = nullptr;
  Value (*load)(const void* object) = nullptr;  // reads the default; null: the schema shows no default
  const Object* object = nullptr;               // kObject, kObjects
  void* (*member)(void* object) = nullptr;      // kObject: the member; kObjects: a new element
};

struct Object {
  std::string_view title;
  std::string_view doc;
  bool annotated = false;  // values may be {"value": …, "source": "…"}
  void* (*make_default)() = nullptr;
  void (*destroy)(void*) = nullptr;
  std::vector<Field> fields;
  void (*note_pointer)(void* object, const std::string& pointer) = nullptr;  // stores where the object was written
  // The profile that the key `profile_key` names. Its keys are known in findings about unknown keys.
  const Object* profile = nullptr;
  std::string_view profile_key;
};

// Checks `json` against `object` and fills `target` with every valid value; all others are findings.
void check_object(const Json& json, const Object& object, void* target, const std::string& file,
                  const std::string& pointer, Diagnostics& diagnostics);

bool is_valid_name(std::string_view text);

// --- binding a row to a member

namespace detail {

template <auto Member>
struct MemberTraits;
template <class Class, class Type, Type Class::*Member>
struct MemberTraits<Member> {
  using Owner = Class;
  using Value = Type;
};

template <class T>
void assign(T& member, const Value& value) {
  if constexpr (std::is_same_v<T, bool>) {
    member = std::get<bool>(value);
  } else if constexpr (std::is_integral_v<T>) {
    member = static_cast<T>(std::get<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, Duration>) {
    member = Duration(std::get<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, ByteTime>) {
    member = std::get<LinkRate>(value).byte_time;
  } else {
    member = std::get<T>(value);
  }
}

template <class T>
Value read(const T& member) {
  if constexpr (std::is_same_v<T, bool>) {
    return member;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(member);
  } else if constexpr (std::is_same_v<T, Duration>) {
    return static_cast<std::int64_t>(member.count());
  } else {
    return member;
  }
}

}  // namespace detail

// The row stores into `Member`; its default is the value of a default-constructed struct.
template <auto Member>
Field bind(Field field) {
  using Owner = typename detail::MemberTraits<Member>::Owner;
  field.store = [](void* object, const Value& value) {
    detail::assign(static_cast<Owner*>(object)->*Member, value);
  };
  // A rate has no default.
  if constexpr (std::is_same_v<typename detail::MemberTraits<Member>::Value, ByteTime>) return field;
  else if (!field.required) {
    field.load = [](const void* object) { return detail::read(static_cast<const Owner*>(object)->*Member); };
  }
  // The member's type bounds the range, whatever the row says.
  using Type = typename detail::MemberTraits<Member>::Value;
  if constexpr (std::is_integral_v<Type> && !std::is_same_v<Type, bool> && sizeof(Type) < 8) {
    if (field.max == std::numeric_limits<std::int64_t>::max()) field.max = std::numeric_limits<Type>::max();
  }
  return field;
}

// A row whose default depends on other values, so the schema names none.
inline Field without_default(Field field) {
  field.load = nullptr;
  return field;
}

template <auto Member>
Field bind_object(Field field, const Object& object) {
  using Owner = typename detail::MemberTraits<Member>::Owner;
  field.object = &object;
  field.member = [](void* owner) -> void* { return &(static_cast<Owner*>(owner)->*Member); };
  return field;
}

template <auto Member>
Field bind_objects(Field field, const Object& object) {
  using Owner = typename detail::MemberTraits<Member>::Owner;
  field.object = &object;
  field.member = [](void* owner) -> void* { return &(static_cast<Owner*>(owner)->*Member).emplace_back(); };
  return field;
}

template <class T>
Object make_object(std::string_view title, std::string_view doc, std::vector<Field> fields, const Object* profile = nullptr,
                   std::string_view profile_key = "") {
  Object object;
  object.title = title;
  object.doc = doc;
  object.fields = std::move(fields);
  object.profile = profile;
  object.profile_key = profile_key;
  object.make_default = []() -> void* { return new T(); };
  object.destroy = [](void* p) { delete static_cast<T*>(p); };
  if constexpr (requires(T t) { t.pointer = std::string(); }) {
    object.note_pointer = [](void* p, const std::string& pointer) { static_cast<T*>(p)->pointer = pointer; };
  }
  return object;
}

Dimension dimension_of(Kind kind);  // `kind` has units
bool has_dimension(Kind kind);

}  // namespace verbatim::config
