#include "sim/page_html.hpp"

#include <fmt/format.h>

#include "core/printable.hpp"
#include "core/utc_text.hpp"
#include "sim/log_report.hpp"
#include "sim/number_text.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::sim {

// src/sim/page.css and page.js, made into C++ strings by the build.
extern const char* const kPageStyle;
extern const char* const kPageScript;

namespace {

// No text in it ends the element that it is in.
std::string inert(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string facts_of(const Page& page) {
  std::string out = "<dl class=\"facts\">";
  for (const auto& [name, value] : page.facts)
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), value);
  return out + "</dl>\n";
}

std::string notes_of(const Page& page) {
  if (page.warnings.empty() && page.notes.empty()) return "";
  std::string out = "<ul class=\"notes\">";
  for (const std::string& each : page.warnings)
    out += fmt::format("<li class=\"warning\"><b>Beware:</b> {}.</li>", escaped(each));
  for (const std::string& each : page.notes) out += fmt::format("<li>{}.</li>", escaped(each));
  return out + "</ul>\n";
}

// What is between backticks, as code.
std::string with_code(const std::string& html) {
  std::string out;
  for (std::size_t at = 0; at < html.size();) {
    const std::size_t begin = html.find('`', at);
    const std::size_t end = begin == std::string::npos ? begin : html.find('`', begin + 1);
    out += html.substr(at, end == std::string::npos ? end : begin - at);
    if (end == std::string::npos) break;
    out += "<code>" + html.substr(begin + 1, end - begin - 1) + "</code>";
    at = end + 1;
  }
  return out;
}

// No line breaks within "1.4 %" and "1 of 153", nor before the number of "client 7".
std::string glued(std::string_view text) {
  const auto digit = [&text](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  const auto follows = [&text](std::size_t at, std::string_view word) {
    return text.substr(at).starts_with(word);
  };
  const auto preceded = [&text](std::size_t at, std::string_view word) {
    return text.substr(0, at).ends_with(word);
  };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool glue = follows(at, " %") ||
                      (at > 0 && digit(at - 1) && follows(at, " of ") && digit(at + 4)) ||
                      (follows(at, " ") && digit(at + 1) && (preceded(at, " of") || preceded(at, "client")));
    out += glue ? "\u00a0" : std::string(1, text[at]);
  }
  return out;
}

// Marks that change the direction of text, or take no room, would let one name look like another.
bool misleading(std::uint32_t point) {
  return point == 0x061C || (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0xFEFF;
}

}  // namespace

std::string escaped(std::string_view text) {
  const std::string safe = core::printable(text);
  std::string out;
  for (std::size_t at = 0; at < safe.size();) {
    const core::Character c = core::character_at(std::string_view(safe).substr(at));
    const std::size_t size = c.size == 0 ? 1 : c.size;
    if (safe[at] == '&') {
      out += "&amp;";
    } else if (safe[at] == '<') {
      out += "&lt;";
    } else if (safe[at] == '>') {
      out += "&gt;";
    } else if (safe[at] == '"') {
      out += "&quot;";
    } else if (c.size > 1 && misleading(c.point)) {
      out += fmt::format("\\u{:04x}", c.point);
    } else {
      out.append(safe, at, size);
    }
    at += size;
  }
  return out;
}

std::string named(std::string_view name, std::size_t columns) {
  const std::string safe = core::printable(name);
  return fmt::format("<span class=\"name\" title=\"{}\">{}</span>", escaped(safe),
                     safe.empty() ? "(empty)" : escaped(cut_middle(safe, columns)));
}

std::string share(std::uint64_t part, std::uint64_t whole) { return glued(percent(part, whole)); }

std::string number_cell(double value, const std::string& text, std::string_view unit,
                        std::string_view more_class) {
  if (text == "1" && unit.ends_with('s')) unit.remove_suffix(1);
  return fmt::format("<td class=\"number{}{}\" data-v=\"{}\">{} <span class=\"unit\">{}</span></td>",
                     more_class.empty() ? "" : " ", more_class, value, text, unit);
}

std::string bar_cell(double value, double most, const std::string& text) {
  return fmt::format(
      "<td class=\"share\" data-v=\"{}\"><span class=\"bar\"><i style=\"width:{:.2f}%\"></i></span>"
      "<span class=\"percent\">{}</span></td>",
      value, most == 0 ? 0 : 100 * value / most, text);
}

std::string code(std::string_view text) { return "<code>" + escaped(text) + "</code>"; }

std::string stamp(std::int64_t ns) {
  std::string text = core::utc_text(ns);
  text[10] = ' ';
  text.pop_back();
  return text;
}

void describe(Page& page, const LogReport& log) {
  const logs::LogStats& stats = log.stats;
  page.facts.emplace_back("requests", grouped(stats.requests));
  if (log.cost != "1") page.facts.emplace_back("units of " + log.cost, grouped(log.units));
  page.facts.emplace_back(log.key.empty() ? "clients" : "clients, by " + log.key, grouped(log.clients));
  if (stats.requests > 0) {
    page.facts.emplace_back("span", about(log.last_ns - log.first_ns));
    page.facts.emplace_back("from", "<time>" + stamp(log.first_ns) + "</time>");
    page.facts.emplace_back("to (UTC)", "<time>" + stamp(log.last_ns) + "</time>");
  }
  std::string files;
  for (std::size_t i = 0; i < log.files.size() && i < 2; ++i) files += (i == 0 ? "" : ", ") + log.files[i];
  if (log.files.size() > 2) files += fmt::format(" and {} more", log.files.size() - 2);
  page.facts.emplace_back(log.files.size() == 1 ? "file" : "files", named(files, 48));
  page.title = fmt::format("weir {}: {}", page.kind, cut_middle(core::printable(files), 80));

  page.warnings.insert(page.warnings.end(), log.warnings.begin(), log.warnings.end());
  if (log.interrupted)
    page.warnings.emplace_back("interrupted before the log's end: this is what was found so far");
  for (const std::string& each : stats.broken)
    page.warnings.push_back(each + ": what was read before is counted");
  if (stats.left_out > 0) page.notes.push_back(left_out_in_words(log));
  if (stats.clamped > 0 && log.spans) {
    page.notes.push_back(cut_in_words(log));
  } else if (stats.clamped > 0) {
    page.notes.push_back(
        fmt::format("{} too late to be sorted, and counted at the greatest time read before (clamped); "
                    "--reorder all sorts the whole log",
                    counted(stats.clamped, "line")));
  }
  if (stats.unreadable > 0) {
    std::string text = fmt::format("{} of {} could not be read and are not counted",
                                   grouped(stats.unreadable), counted(stats.read, "line"));
    for (std::size_t i = 0; i < stats.examples.size(); ++i) {
      const logs::Unreadable& each = stats.examples[i];
      text += fmt::format("{}{}:{} {}", i == 0 ? ": " : "; ", each.file, each.line, each.why);
    }
    page.notes.push_back(text);
  }
  if (stats.reordered > 0 && !log.spans)
    page.notes.push_back(fmt::format("{} came late and took their places by time (within {})",
                                     counted(stats.reordered, "line"), log.reorder));
}

std::string most_at_once(const std::vector<AtOnce>& clients) {
  if (clients.empty()) return "";
  std::string out =
      "<section>\n<h2>Most at once</h2>\n<table class=\"worst\"><thead><tr><th scope=\"col\">client</th><th "
      "scope=\"col\">requests at once</th><th scope=\"col\">first at (UTC)</th></tr></thead>\n<tbody>\n";
  for (const AtOnce& each : clients) {
    out += fmt::format(
        "<tr><td class=\"client\">{}</td>{}<td class=\"number\" data-v=\"{}\"><time>{}</time></td></tr>\n",
        named(each.client, 36), number_cell(static_cast<double>(each.most), grouped(each.most), "at once"),
        each.first_ns, stamp(each.first_ns));
  }
  return out + "</tbody></table>\n</section>\n";
}

std::string html_of(const Page& page) {
  return fmt::format(
             R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{}</title>
<style>
)",
             escaped(page.title)) +
         kPageStyle + "</style>\n</head>\n<body>\n<main>\n<header>\n" +
         fmt::format("<p class=\"eyebrow\">weir {}</p>\n<h1>{}</h1>\n", escaped(page.kind),
                     with_code(glued(escaped(page.answer)))) +
         facts_of(page) + "</header>\n" + notes_of(page) + page.body +
         "<footer>weir " WEIR_VERSION
         ". Times are UTC. This page loads nothing and sends nothing.</footer>\n</main>\n" +
         "<div class=\"tip\" id=\"tip\" hidden></div>\n<script type=\"application/json\" id=\"data\">" +
         inert(page.json) + "</script>\n<script>\n" + kPageScript + "</script>\n</body>\n</html>\n";
}

}  // namespace weir::sim
