#include "logs/wrapper.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "core/digits.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20;  // of a line that comes in pieces

// What a wrapper says of a line; views of the line, or of the unwrapper.
struct Unwrapped {
  std::string_view inside;
  bool piece = false;  // the rest of the line comes later
  std::string_view time;
  std::string_view first;   // docker.stream, cri.stream, syslog.host
  std::string_view second;  // syslog.tag
};

// The characters that follow a backslash, and what they stand for.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> all{};
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  for (std::size_t i = 0; i < kFrom.size(); ++i) all[static_cast<unsigned char>(kFrom[i])] = kTo[i];
  return all;
}();

// The text of a string that simdjson has found, with kSlack more bytes; nothing when an escape is not one of
// the above. A line of JSON within a string has dozens of them, which simdjson takes at the price of a short
// string each. kSlack bytes after `inside` must be readable.
std::optional<std::string_view> unescaped(std::string_view inside, std::string& out) {
  if (out.size() < inside.size() + kSlack) out.resize(inside.size() + kSlack);
  const char* in = inside.data();
  const char* const end = in + inside.size();
  char* to = out.data();
  while (in < end) {
    char c = *in++;
    if (c == '\\') {
      c = kEscapes[static_cast<unsigned char>(*in++)];
      if (c == 0) return std::nullopt;
    }
    *to++ = c;
  }
  return std::string_view(out.data(), static_cast<std::size_t>(to - out.data()));
}

// An unwrapper returns what is wrong, empty for nothing.
class Docker {
 public:
  static constexpr std::array<std::string_view, 3> kNames = {"docker.time", "docker.stream", ""};
  static constexpr std::string_view kFault = "the line is not one of Docker's";

  std::string_view unwrap(std::string_view line, Unwrapped& found) {
    using simdjson::SUCCESS;
    const simdjson::padded_string_view padded(line.data(), line.size(),
                                              line.size() + simdjson::SIMDJSON_PADDING);
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    if (!line.starts_with('{') || parser_.iterate(padded).get(document) != SUCCESS ||
        document.get_object().get(object) != SUCCESS)
      return kFault;
    for (auto member : object) {
      std::string_view name;
      simdjson::ondemand::value value;
      if (member.unescaped_key().get(name) != SUCCESS || member.value().get(value) != SUCCESS) return kFault;
      std::string_view* const to = name == "time" ? &found.time : name == "stream" ? &found.first : nullptr;
      if (name == "log" ? !take_log(value, found.inside)
                        : to != nullptr && value.get_string().get(*to) != SUCCESS)
        return kFault;
    }
    if (found.inside.data() == nullptr || found.time.data() == nullptr || found.first.data() == nullptr)
      return kFault;
    found.piece = !found.inside.ends_with('\n');
    if (!found.piece) found.inside.remove_suffix(1);
    return "";
  }

 private:
  // What is inside may be read a little beyond its end.
  bool take_log(simdjson::ondemand::value& value, std::string_view& inside) {
    std::string_view token = value.raw_json_token();
    token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
    if (token.size() < 2 || token.front() != '"') return false;
    if (const auto text = unescaped(token.substr(1, token.size() - 2), text_)) {
      inside = *text;
      return true;
    }
    if (value.get_string().get(inside) != simdjson::SUCCESS) return false;
    const std::size_t size = inside.size();
    text_.assign(inside).append(kSlack, '\0');
    inside = std::string_view(text_).substr(0, size);
    return true;
  }

  simdjson::ondemand::parser parser_;
  std::string text_;
};

// "2026-11-21T05:49:47.123456789Z stdout F LINE".
class Cri {
 public:
  static constexpr std::array<std::string_view, 3> kNames = {"cri.time", "cri.stream", ""};
  static constexpr std::string_view kFault = "the line is not one of a container";

  static std::string_view unwrap(std::string_view line, Unwrapped& found) {
    const std::size_t time = line.find(' ');
    if (time == kNone || time < 20 || !core::is_digit(line[0]) || line[4] != '-' || line[10] != 'T')
      return kFault;
    const std::size_t stream = line.find(' ', time + 1);
    if (stream == kNone) return kFault;
    found.first = line.substr(time + 1, stream - time - 1);
    if (found.first != "stdout" && found.first != "stderr") return kFault;
    const std::string_view tail = line.substr(stream + 1);
    if (tail.size() < 2 || (tail[0] != 'F' && tail[0] != 'P') || tail[1] != ' ') return kFault;
    found.time = line.substr(0, time);
    found.piece = tail[0] == 'P';
    found.inside = tail.substr(2);
    return "";
  }
};

// RFC 3164 ("<190>Nov 21 05:49:47 host tag[12]: LINE", as files have it without the number, or with an ISO
// time), RFC 5424 ("<190>1 2026-11-21T05:49:47Z host tag 12 ID [data] LINE"), and a number alone.
class Syslog {
 public:
  static constexpr std::array<std::string_view, 3> kNames = {"syslog.time", "syslog.host", "syslog.tag"};
  static constexpr std::string_view kFault = "the line is not one of syslog";

  static std::string_view unwrap(std::string_view line, Unwrapped& found) {
    bool priority = false;
    if (line.starts_with('<')) {
      const std::size_t end = line.find('>');
      if (end == kNone || end < 2 || end > 4 ||
          !std::all_of(line.begin() + 1, line.begin() + end, core::is_digit))
        return kFault;
      line.remove_prefix(end + 1);
      priority = true;
    }
    if (priority && line.starts_with("1 ")) return structured(line.substr(2), found);
    if (is_month(line)) {
      line.remove_prefix(16);
    } else if (line.size() > 20 && core::is_digit(line[0]) && line[4] == '-' && line[10] == 'T') {
      found.time = word(line);
    } else if (priority) {
      found.inside = line;  // HAProxy's `format short`
      return "";
    } else {
      return kFault;
    }
    found.first = word(line);
    // A tag ends with a colon; nginx and HAProxy may leave the host out.
    if (found.first.ends_with(':')) {
      found.second = found.first.substr(0, found.first.size() - 1);
      found.first = {};
    } else {
      found.second = word(line);
      if (!found.second.ends_with(':')) return kFault;
      found.second.remove_suffix(1);
    }
    found.inside = line;
    return "";
  }

 private:
  // "Nov 21 05:49:47 ".
  static bool is_month(std::string_view line) {
    constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::size_t month = kMonths.find(line.substr(0, 3));
    return line.size() > 16 && month != kNone && month % 3 == 0 && line[3] == ' ' &&
           core::is_digit(line[5]) && line[6] == ' ' && line[9] == ':' && line[12] == ':' && line[15] == ' ';
  }

  static std::string_view word(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view found = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return found;
  }

  static std::string_view structured(std::string_view line, Unwrapped& found) {
    found.time = word(line);
    found.first = word(line);
    found.second = word(line);
    word(line);  // the process
    word(line);  // the message's kind
    if (line.starts_with("- ")) {
      line.remove_prefix(2);
    } else {
      // [id name="value"][id ...], where a bracket in a value is escaped.
      if (!line.starts_with('[')) return kFault;
      std::size_t end = 1;
      for (; end < line.size(); ++end) {
        if (line[end] == '\\')
          ++end;
        else if (line[end] == ']' && (end + 1 == line.size() || line[end + 1] != '['))
          break;
      }
      if (end + 2 > line.size()) return kFault;
      line.remove_prefix(end + 2);
    }
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    found.inside = line;
    return "";
  }
};

template <class Unwrapper>
class Wrapped final : public Splitter {
 public:
  Wrapped(std::unique_ptr<Splitter> inner, const std::vector<Slot>& slots) : inner_(std::move(inner)) {
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      for (std::size_t name = 0; name < Unwrapper::kNames.size(); ++name) {
        const auto& names = slots[slot].names;
        if (std::find(names.begin(), names.end(), Unwrapper::kNames[name]) != names.end())
          own_.emplace_back(slot, name);
      }
    }
  }

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    Unwrapped found;
    if (const std::string_view fault = whole(line, found); !fault.empty()) return fault;
    line_ = line;
    last_ = found;
    if (const std::string_view fault = inner_->split(found.inside, values); !fault.empty()) return fault;
    const std::array own = {found.time, found.first, found.second};
    for (const auto& [slot, name] : own_) {
      if (values[slot].data() == nullptr) values[slot] = own[name];
    }
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    // The last piece of a line was joined with the others by split().
    Unwrapped found;
    std::vector<LineField> fields;
    if (line.data() == line_.data() && line.size() == line_.size()) {
      found = last_;
    } else if (!unwrapper_.unwrap(line, found).empty()) {
      return fields;
    }
    fields = inner_->fields(found.inside);
    const std::array own = {found.time, found.first, found.second};
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].data() != nullptr)
        fields.push_back({std::string(Unwrapper::kNames[i]), std::string(own[i])});
    }
    return fields;
  }

 private:
  // Long lines come in pieces, the last of which says so; those of stdout and stderr may alternate.
  std::string_view whole(std::string_view line, Unwrapped& found) {
    if (const std::string_view fault = unwrapper_.unwrap(line, found); !fault.empty()) return fault;
    std::string& begun = begun_[found.first == "stderr" ? 1 : 0];
    if (begun.empty() && !found.piece) return "";
    if (begun.size() + found.inside.size() > kLongest) {
      begun.clear();
      return "the line is longer than 1 MiB";
    }
    begun += found.inside;
    if (found.piece) return kHeader;
    joined_ = std::move(begun);
    begun.clear();
    const std::size_t size = joined_.size();
    joined_.append(kSlack, '\0');
    found.inside = std::string_view(joined_).substr(0, size);
    return "";
  }

  std::unique_ptr<Splitter> inner_;
  Unwrapper unwrapper_;
  std::vector<std::pair<std::size_t, std::size_t>> own_;  // slots that the wrapper has too, and which
  std::string_view line_;                                 // that split() took last, and what was inside
  Unwrapped last_;
  std::array<std::string, 2> begun_;
  std::string joined_;
};

template <class Unwrapper>
std::optional<Inside> inside(std::string_view line) {
  Unwrapper unwrapper;
  Unwrapped found;
  if (!unwrapper.unwrap(line, found).empty()) return std::nullopt;
  return Inside{std::string(found.inside), found.piece, found.first == "stderr"};
}

template <class Unwrapper>
std::unique_ptr<Splitter> make(std::unique_ptr<Splitter> inner, const std::vector<Slot>& slots) {
  return std::make_unique<Wrapped<Unwrapper>>(std::move(inner), slots);
}

constexpr std::array kWrappers = {Wrapper{"docker", inside<Docker>, make<Docker>},
                                  Wrapper{"cri", inside<Cri>, make<Cri>},
                                  Wrapper{"syslog", inside<Syslog>, make<Syslog>}};

}  // namespace

const Wrapper* wrapper_of(std::string_view line) {
  const auto found = std::find_if(kWrappers.begin(), kWrappers.end(),
                                  [line](const Wrapper& each) { return each.inside(line).has_value(); });
  return found == kWrappers.end() ? nullptr : &*found;
}

const Wrapper* find_wrapper(std::string_view name) {
  const auto found = std::find_if(kWrappers.begin(), kWrappers.end(),
                                  [name](const Wrapper& each) { return each.name == name; });
  return found == kWrappers.end() ? nullptr : &*found;
}

std::vector<std::string_view> wrapper_names() {
  std::vector<std::string_view> names;
  for (const Wrapper& each : kWrappers) names.push_back(each.name);
  return names;
}

std::vector<Slot> inner_slots(const Wrapper& wrapper, const std::vector<Slot>& slots) {
  std::vector<Slot> inner = slots;
  for (Slot& slot : inner) {
    const bool own = std::any_of(slot.names.begin(), slot.names.end(), [&wrapper](const std::string& name) {
      return name.starts_with(wrapper.name) && name.substr(wrapper.name.size()).starts_with(".");
    });
    slot.required = slot.required && !own;
  }
  return inner;
}

}  // namespace weir::logs
