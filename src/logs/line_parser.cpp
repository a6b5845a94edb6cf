#include "logs/line_parser.hpp"

#include <algorithm>

#include "core/number.hpp"
#include "core/path.hpp"
#include "core/pattern.hpp"
#include "logs/known_names.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kTimeSlot = 0;
constexpr int kMostExplained = 8;  // more than are ever shown

constexpr std::string_view kBadCost = "the cost is not a whole number below 2^63";

// Empty when the text is a cost.
std::string_view read_cost(std::string_view text, std::uint64_t& cost) {
  if (text == "-") {
    cost = 0;
    return "";
  }
  const auto value = core::number_in<std::int64_t>(text);
  if (!value || *value < 0) return kBadCost;
  cost = static_cast<std::uint64_t>(*value);
  return "";
}

bool lacks(std::string_view value) { return value.empty() || value == "-"; }

}  // namespace

LineParser::LineParser(const Layout& layout, const Wanted& wanted, std::string_view line)
    : times_(wanted.zone, wanted.time_format), may_lack_(wanted.may_lack) {
  add_times(wanted.time);
  if (wanted.key.empty()) key_.push_back(add({"ip", true, wanted.prefixes, {}, false}, !may_lack_, slots_));
  for (const Wanted::Part& part : wanted.key) key_.push_back(add(part, !may_lack_ && !part.may_lack, slots_));
  for (const Wanted::Part& part : wanted.also) also_parts_.push_back(add(part, false, slots_));
  if (!wanted.cost.empty()) {
    cost_ = slots_.size();
    slots_.push_back({wanted.cost, names_of(wanted.cost), "--cost"});
  }
  find_span(layout, wanted, line);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].required) required_.push_back(i);
  }
  values_.resize(slots_.size());
  also_.resize(also_parts_.size());
  also_text_.resize(also_parts_.size());
  splitter_ = make_splitter(layout, slots_, line);
}

// What the first line has tells which program wrote it. A comment, in place of fields, has its first word,
// and its fields are named later.
void LineParser::find_span(const Layout& layout, const Wanted& wanted, std::string_view line) {
  if (!wanted.span) return;
  const bool comment = line.starts_with('#');
  const std::vector<LineField> there = make_splitter(layout, {}, line)->fields(line);
  const auto has = [&](std::string_view name) {
    if (comment) return !name.starts_with('#') || line.starts_with(name);
    return std::any_of(there.begin(), there.end(), [&](const LineField& each) { return each.name == name; });
  };
  span_ = span_of(layout.format->name, *wanted.span, !wanted.time.empty(), has);
  took_ = slots_.size();
  slots_.push_back({span_->field, names_of(span_->field), "--duration"});
}

std::string_view LineParser::read_span(LogRecord& record) const {
  if (!span_) return {};
  const auto took = read_duration(values_[took_], span_->unit_ns);
  if (!took) return "the duration is not a number";
  const bool at_end = span_->stamp == SpanEnd::end;
  if (at_end && *took > record.ns) return "the request began before 1970";
  record.ns -= at_end ? *took : 0;
  record.cost = static_cast<std::uint64_t>(record.ns + *took);
  return "";
}

// The slot of the time is the first. Of "date,clock" that is the clock's.
void LineParser::add_times(const std::string& time) {
  const std::size_t comma = time.rfind(',');
  const std::string last = time.empty() ? "time" : time.substr(comma == std::string::npos ? 0 : comma + 1);
  slots_.push_back({last, time.empty() ? names_of(last) : std::vector<std::string>{last}, "--time"});
  date_is_asked_for_ = comma != std::string::npos;
  if (!time.empty() && !date_is_asked_for_) return;
  const std::string date = time.empty() ? "date" : time.substr(0, comma);
  date_ = slots_.size();
  slots_.push_back({date, {date}, "--time", date_is_asked_for_});
}

TimeFault LineParser::read_time(std::int64_t& ns) {
  if (!date_is_asked_for_) {
    const TimeFault fault = times_.read(values_[kTimeSlot], ns);
    const bool half = fault == kNoDate || (fault != nullptr && times_.has_format());
    if (!half || date_ == 0 || values_[date_].data() == nullptr) return fault;
  }
  time_text_.assign(values_[date_]).append(" ").append(values_[kTimeSlot]);
  return times_.read(time_text_, ns);
}

LineParser::Part LineParser::add(const Wanted::Part& wanted, bool required, std::vector<Slot>& slots) {
  Slot slot{wanted.field == "ip" ? "client" : wanted.field, {wanted.field}, "--key", required};
  slot.names.insert(slot.names.end(), wanted.other_names.begin(), wanted.other_names.end());
  std::vector<std::string> more = names_of(wanted.field);
  if (wanted.field == "ip") {
    slot.names = std::move(more);
  } else {
    slot.names.insert(slot.names.end(), more.begin() + 1, more.end());
  }
  slots.push_back(std::move(slot));
  return {slots.size() - 1, wanted.address, wanted.prefixes, wanted.path, wanted.patterns, wanted.may_lack};
}

// With the names of the fields that are there, for as many lines as are shown; a log may lack it in all.
std::string_view LineParser::missing(std::size_t slot, std::string_view line) {
  std::vector<std::string> names;
  if (explained_ < kMostExplained) {
    ++explained_;
    names = fields(line);
  }
  missing_ = no_such_field(slots_[slot], names);
  return missing_;
}

std::string_view LineParser::parse(std::string_view line, LogRecord& record, std::string& key) {
  timed_ = false;
  if (const std::string_view fault = splitter_->split(line, values_); !fault.empty()) return fault;
  if (values_[kTimeSlot].data() == nullptr) return missing(kTimeSlot, line);
  if (date_is_asked_for_ && values_[date_].data() == nullptr) return missing(date_, line);
  if (const TimeFault fault = read_time(record.ns)) return fault;
  timed_ = true;
  collect_also();
  for (const std::size_t slot : required_) {
    if (values_[slot].data() == nullptr) return missing(slot, line);
  }
  record.cost = 1;
  if (cost_ != 0) {
    if (const std::string_view fault = read_cost(values_[cost_], record.cost); !fault.empty()) return fault;
  }
  if (span_) {
    if (const std::string_view fault = read_span(record); !fault.empty()) return fault;
  }
  append_key(key);
  return "";
}

std::vector<std::string> LineParser::fields(std::string_view line) {
  std::vector<std::string> names;
  for (const LineField& field : splitter_->fields(line)) names.push_back(field.name);
  return names;
}

// As a key has it.
void LineParser::append_value(const Part& part, std::string& to) const {
  const std::string_view value = values_[part.slot];
  if (part.address) {
    core::append_address(without_port(value), part.prefixes, to);
  } else if (part.path) {
    const std::size_t begin = to.size();
    core::append_path(value, core::OddPath::keep, to);
    const std::string_view path = std::string_view(to).substr(begin);
    const auto found = std::find_if(part.patterns.begin(), part.patterns.end(), [&](const std::string& each) {
      return core::matches_pattern(each, path);
    });
    if (found != part.patterns.end()) to.replace(begin, std::string::npos, *found);
  } else {
    to += value;
  }
}

void LineParser::append_key(std::string& key) const {
  const bool several = key_.size() > 1 || may_lack_;
  for (const Part& part : key_) {
    if (!several) {
      append_value(part, key);
    } else if ((may_lack_ || part.may_lack) && lacks(values_[part.slot])) {
      append_lacking(key);
    } else {
      const std::size_t begin = begin_value(key);
      append_value(part, key);
      end_value(begin, key);
    }
  }
}

// A value that differs from what the line has is kept until the next line.
void LineParser::collect_also() {
  for (std::size_t i = 0; i < also_parts_.size(); ++i) {
    const Part& part = also_parts_[i];
    also_[i] = values_[part.slot];
    if (lacks(also_[i])) {
      also_[i] = {};
    } else if (part.address || part.path) {
      also_text_[i].clear();
      append_value(part, also_text_[i]);
      also_[i] = also_text_[i];
    }
  }
}

}  // namespace weir::logs
