// A third protocol, to show what a front end has to write: a line of text in, a line out. It knows no store,
// no set of limits and no counter.
//
//   check 10/s user:42           ->  yes 9
//   reserve 500 1/s job          ->  yes 0 in 400 as R7...
//   settle R7... 3               ->  -1
//   forget user:42               ->  1
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/number.hpp"
#include "net/conversation.hpp"
#include "service/asking.hpp"
#include "service/told.hpp"

namespace weir::inline v0_1::line_protocol {

class Conversation final : public net::Conversation {
 public:
  Conversation(service::Asker& asker, std::uint64_t client, std::function<void()> resume)
      : asking_(asker, client, {}, [](service::Question& kept) { kept.keep_keys(); }, std::move(resume)) {}

  std::size_t feed(std::string_view input, std::string& out, net::Arrival when) override {
    asking_.begin({when.arrived, when.now});
    std::size_t used = 0;
    while (settle(out)) {
      const std::size_t end = input.find('\n', used);
      if (end == std::string_view::npos) break;
      if (!ask(words_of(input.substr(used, end - used)))) out += "error " + error_ + "\n";
      used = end + 1;
    }
    return used;
  }
  bool waiting() const override { return asking_.waiting(); }
  bool busy() const override { return asking_.answered(); }
  bool closing() const override { return false; }
  bool trusted() const override { return true; }
  std::size_t kept() const override { return asking_.kept(); }
  bool ends_with_peer() const override { return asking_.acquiring(); }
  bool end_wait(bool with_error) override { return asking_.end_wait(with_error); }
  void describe(net::ClientInfo&) const override {}

 private:
  using Words = std::vector<std::string_view>;
  enum Form : std::uint8_t { decision, moment, units, wait, forgotten };

  static Words words_of(std::string_view line) {
    Words words;
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) words.push_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
  }

  bool ask(const Words& words) {
    error_ = "the form is VERB ...";
    if (words.size() < 2) return false;
    const std::string_view verb = words[0];
    if (verb == "check") return decide({.verb = store::Verb::check}, words, 1, decision);
    if (verb == "look") return decide({.verb = store::Verb::look}, words, 1, decision);
    if (verb == "reserve" || verb == "acquire") {
      const auto verb_of = verb == "reserve" ? store::Verb::reserve : store::Verb::acquire;
      const std::chrono::milliseconds most{core::parse_integer(words[1]).value_or(0)};
      return decide({.verb = verb_of, .max_wait = most}, words, 2, moment);
    }
    if (verb == "cancel") return add({.verb = store::Verb::cancel, .id = words[1]}, units);
    if (verb == "forget")
      return add({.verb = store::Verb::reset, .keys = std::span(words).subspan(1)}, forgotten);
    if (verb != "settle" || words.size() != 3) return false;
    const auto actual = static_cast<std::uint64_t>(core::parse_integer(words[2]).value_or(0));
    return add({.verb = store::Verb::settle, .id = words[1], .actual = actual}, wait);
  }

  bool decide(service::Ask ask, const Words& words, std::size_t first, Form form) {
    std::vector<limits::Attribute> attributes;
    for (std::size_t i = first; i < words.size(); ++i) {
      if (const std::size_t at = words[i].find('='); at != std::string_view::npos)
        attributes.push_back({words[i].substr(0, at), words[i].substr(at + 1)});
    }
    const limits::Description as{attributes};
    if (!attributes.empty()) {
      ask.as = &as;
    } else {
      if (words.size() != first + 2) return false;
      asking_.asker().begin_rules(1);
      if (!asking_.asker().add_rule(words[first + 1], words[first], Cost{})) {
        asking_.asker().drop_rules();
        return refuse();
      }
    }
    return add(ask, form);
  }

  bool add(const service::Ask& ask, Form form) {
    return asking_.add(ask, form, false) != nullptr || refuse();
  }
  bool refuse() {
    error_ = asking_.asker().refusal().sentence;
    return false;
  }

  bool settle(std::string& out) {
    return asking_.settle([&](const service::Question& question) { tell(question, out); });
  }

  static std::string ms(std::chrono::nanoseconds time) {
    return time.count() < 0 ? "never"
                            : std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count());
  }

  void tell(const service::Question& question, std::string& out) {
    if (question.fault != Fault::none) {
      out += "error " + question.why + "\n";
      return;
    }
    if (question.form == forgotten) out += std::to_string(question.forgotten);
    if (question.form == units) out += std::to_string(question.reservation->given_back);
    if (question.form == wait) out += ms(question.reservation->wait);
    if (question.form == decision || question.form == moment) {
      const limits::Set* const set = question.by_file ? asking_.set_of(question) : nullptr;
      const service::Told told = service::told_of(question, set);
      if (question.verb != store::Verb::look) asking_.asker().count(question, set, told.allowed);
      out += told.allowed ? "yes " + std::to_string(told.remaining)
                          : "no " + std::string(told.by) + " " +
                                ms(told.retry_after.value_or(std::chrono::nanoseconds{-1}));
      if (question.form == moment)
        out += " in " + ms(told.wait) + (told.id.empty() ? "" : " as " + std::string(told.id));
    }
    out += '\n';
  }

  service::Asking asking_;
  std::string error_;
};

}  // namespace weir::line_protocol
