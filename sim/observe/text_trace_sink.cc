#include "sim/observe/text_trace_sink.h"

#include <xxhash.h>

#include "sim/ib/opcode.h"
#include "sim/ib/packet_trace.h"
#include "sim/observe/microseconds.h"

namespace verbatim::observe {

namespace {

void append_hex(std::string& text, std::uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
}

void append_mac(std::string& text, std::uint64_t mac) {
  for (int shift = 40; shift >= 0; shift -= 8) {
    append_hex(text, mac >> shift & 0xff, 2);
    if (shift > 0) text += ':';
  }
}

bool is_packet(TraceEvent event) {
  return (event >= TraceEvent::kPacketTransmitted && event <= TraceEvent::kPacketDropped) || event == TraceEvent::kFault;
}

// Names the value where its number would be meaningless to a reader.
void append_value(std::string& text, TraceEvent event, int index, std::uint64_t value) {
  if (is_packet(event) && index == 0) {
    const auto opcode = static_cast<ib::Opcode>(value & 0xff);
    const ib::OpcodeInfo& info = ib::info(opcode);
    if (value <= 0xff && info.defined) {
      std::string name(info.name);
      for (char& c : name) c = c == ' ' ? '-' : c;
      text += name;
      return;
    }
  }
  if (names_of(event).values[index] == "va" || names_of(event).values[index] == "syndrome") {
    text += "0x";
    append_hex(text, value, value > 0xff ? 12 : 2);
    return;
  }
  if (names_of(event).values[index] == "result" || names_of(event).values[index] == "exit_code") {
    text += std::to_string(static_cast<std::int64_t>(value));
    return;
  }
  text += std::to_string(value);
}

}  // namespace

std::string to_text(const TraceRecord& record, std::span<const std::byte> bytes,
                    const ComponentTable& components) {
  std::string text = microseconds(record.time_ps) + " us  ";
  text += record.component < components.size() ? components.name(ComponentId{record.component})
                                               : "component-" + std::to_string(record.component);
  text += "  ";
  text += names_of(record.event).name;
  if (const std::string values = values_text(record); !values.empty()) text += "  " + values;
  if (!bytes.empty()) {
    text += " bytes=" + std::to_string(bytes.size()) + ":";
    append_hex(text, XXH3_64bits(bytes.data(), bytes.size()), 16);
  }
  return text;
}

std::string values_text(const TraceRecord& record) {
  std::string text;
  const TraceEventNames& names = names_of(record.event);
  const bool is_frame = is_packet(record.event) && record.values[0] == ib::kFrameRecord;
  if (is_frame) {
    text += "frame to=";
    append_mac(text, record.values[1]);
    text += " from=";
    append_mac(text, record.values[2]);
  }
  for (int i = is_frame ? 3 : 0; i < 4; ++i) {
    if (names.values[i] == "-") continue;
    if (!text.empty()) text += ' ';
    text += names.values[i];
    text += '=';
    append_value(text, record.event, i, record.values[i]);
  }
  return text;
}

TextTraceSink::TextTraceSink(std::FILE* file, const ComponentTable& components)
    : components_(components), order_([file](const std::string& text) { std::fwrite(text.data(), 1, text.size(), file); }) {}

void TextTraceSink::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  order_.add(record, to_text(record, bytes, components_) + "\n");
}

void TextTraceSink::add(std::int64_t time_ps, ComponentId component, std::string text) {
  order_.add_behind(time_ps, component.value, std::move(text));
}

}  // namespace verbatim::observe
