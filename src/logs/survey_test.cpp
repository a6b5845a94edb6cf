#include "logs/survey.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "logs/line_parser_test.hpp"
#include "logs/log_source.hpp"

namespace weir::inline v0_1::logs {
namespace {

const std::atomic<bool> kGoOn{false};

class LogFile {
 public:
  explicit LogFile(const std::string& text) {
    const int fd = ::mkstemp(path_.data());
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fd);
  }
  ~LogFile() { std::remove(path_.c_str()); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "/survey.XXXXXX";
};

// The clients of the requests that the command reads, each with its second where several are asked for; or
// why there is none.
std::string clients(const std::string& text) {
  const LogFile file(text);
  Survey survey;
  try {
    survey = survey_of(file.path(), {}, kGoOn);
  } catch (const std::runtime_error& error) {
    return std::string(error.what()).substr(file.path().size() + 2);
  }
  if (!survey.command) return "none: " + survey.why_not;
  Layout layout;
  if (!survey.command->regex.empty()) layout.set(std::make_shared<const Regex>(survey.command->regex));
  Wanted wanted;
  wanted.set_key(survey.command->key.empty() ? "ip" : survey.command->key);
  wanted.time = survey.command->time;
  if (!survey.command->time_format.empty())
    wanted.time_format = TimeFormat::parse(survey.command->time_format);
  LogStats stats;
  const Filter all_of_them;
  LogSource source(file.path(), wanted, all_of_them, layout, stats, kGoOn);
  LogRecord record{};
  std::string all;
  std::string key;
  for (; source.next(record, key); key.clear()) all += (all.empty() ? "" : " ") + key;
  return all;
}

// What stands before and after each of two clients, who differ.
std::string clients_of(const std::string& before, const std::string& after) {
  std::string text;
  for (int n = 7; n < 9; ++n) text += before + "203.0.113." + std::to_string(n) + after + "\n";
  return clients(text);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

const std::string kBoth = "203.0.113.7 203.0.113.8";
const std::string kTime = "2026-11-21T05:49:47Z ";

TEST(Survey, what_looks_like_an_address_before_the_client_hides_nothing) {
  EXPECT_EQ(clients_of("Mar 17 08:00:38 h app[1]: " + kTime, " GET /"), kBoth);
  EXPECT_EQ(clients_of(kTime + "08:00:38 ", " GET /"), kBoth);
  EXPECT_EQ(clients_of(kTime + "00:1a:2b:3c:4d:5e ", " GET /"), kBoth);
  EXPECT_EQ(clients_of(kTime + "999.1.2.3 ", " GET /"), kBoth);
}

TEST(Survey, a_comma_alone_makes_no_columns) {
  EXPECT_EQ(clients_of(kTime, " x,\"a b\" y"), kBoth);
  EXPECT_EQ(clients_of(kTime, "\tx,\"a b\"\t\"y"), kBoth);
  EXPECT_EQ(clients("a,\"b\n"),
            "none: its lines have no known format, nor a time with its year and an address in one place");
}

TEST(Survey, guessing_ends_whatever_the_line_is) {
  EXPECT_EQ(clients(kTime + repeated("203.0.113.7,x,08:00:01 ", 12'000) + "\n"), "203.0.113.7");
  std::string patterns;
  for (int n = 0; n < 4'000; ++n)
    patterns += "k" + std::to_string(n) + "=203.0.113." + std::to_string(n % 200) + " ";
  EXPECT_EQ(clients(kTime + patterns + "\n"), "203.0.113.0");
  EXPECT_EQ(clients(kTime + std::string(100'000, ' ') + "203.0.113.7\n").substr(0, 4), "none");
}

TEST(Survey, a_line_above_a_mebibyte_is_not_looked_at) {
  const std::string text =
      kTime + "203.0.113.7 GET /\n" + std::string(2 << 20, 'x') + "\n" + kTime + "203.0.113.8 GET /\n";
  EXPECT_EQ(clients(text), kBoth);
  EXPECT_EQ(clients(std::string(10 << 20, 'x')), "every line is longer than 1 MiB");
}

TEST(Survey, lines_that_end_with_a_carriage_return_alone_are_refused) {
  const std::string why =
      "its lines end with a carriage return alone; tr '\\r' '\\n' makes lines of them, which - reads from a "
      "pipe";
  EXPECT_EQ(clients("time,ip\r1795240187,192.0.2.1\r1795240188,192.0.2.2\r"), why);
  EXPECT_EQ(clients(repeated("1795240187,192.0.2.1\r", 10'000)), why);
  EXPECT_EQ(clients("time,ip\r\n1795240187,192.0.2.1\r\n"), "192.0.2.1");
}

TEST(Survey, as_many_columns_as_there_may_be) {
  std::string header = "time,ip";
  std::string line = "1795240187,192.0.2.1";
  for (int n = 0; n < 100'000; ++n) {
    header += ",c" + std::to_string(n);
    line += ",05:49:47";
  }
  const LogFile file(header + "\n" + line + "\n" + line + "\n");
  const Survey survey = survey_of(file.path(), {}, kGoOn);
  EXPECT_EQ(survey.fields.size(), Survey::kMostFields);
  EXPECT_TRUE(survey.more_fields);
  ASSERT_TRUE(survey.command);
  EXPECT_EQ(clients(header.substr(8) + "\n" + line.substr(11) + "\n").substr(0, 4), "none");
}

TEST(Survey, json_of_any_depth) {
  for (const std::size_t depth : {5U, 30U, 900U, 5'000U}) {
    const std::string line = repeated("{\"a\":", depth) + "{\"at\":\"" + kTime.substr(0, 20) +
                             "\",\"who\":\"203.0.113.7\"}" + repeated("}", depth) + "\n";
    EXPECT_EQ(clients(line + line),
              depth < 100 ? "203.0.113.7 203.0.113.7" : "none: no field has times that could be read")
        << depth;
  }
}

// Two records, as JSON within `before` and `after`.
std::string records(const std::string& before, const std::string& after, const std::string& between = ",") {
  const auto record = [](const std::string& n) {
    return "{\"at\":\"2026-11-21T05:49:4" + n + "Z\",\"who\":{\"ip\":\"203.0.113." + n + "\"}}";
  };
  return before + record("7") + between + record("8") + after + "\n";
}

std::string jq(const std::string& path, const std::string& what = "its JSON is not one document a line") {
  return "none: " + what + "; jq -c " + path + " makes a line of each, which - reads from a pipe";
}

TEST(Survey, documents_of_several_requests_are_refused) {
  const std::string several = "each line holds several requests";
  EXPECT_EQ(clients(records("{\"records\":[", "]}")), jq("'.records[]'", several));
  EXPECT_EQ(clients(records("{\"Records\":[", "]}") + records("{\"Records\":[", "]}")),
            jq("'.Records[]'", several));
  EXPECT_EQ(clients(records("{\"time\":1795240187,\"a-b\":[", "]}")), jq("'.\"a-b\"[]'", several));
  EXPECT_EQ(clients(records("{\"a\":[{\"b\":[{\"c\":[", "]}]}]}")), jq("'.a[].b[].c[]'", several));
  EXPECT_EQ(clients(records("[", "]")), jq("'.[]'"));
  EXPECT_EQ(clients(records("[{\"records\":[", "]}]")), jq("'.[].records[]'"));
  EXPECT_EQ(clients(records("", "", "\n")), "203.0.113.7 203.0.113.8");
}

TEST(Survey, one_request_may_have_lists) {
  const std::string line =
      R"({"time":1795240187,"client_ip":"203.0.113.7","tries":[{"at":1795240187,"to":"10.0.0.1"},)"
      R"({"at":1795240188,"to":"10.0.0.2"}],"headers":{"X-Forwarded-For":["192.0.2.1","192.0.2.2"]}})";
  EXPECT_EQ(clients(line + "\n" + line + "\n"), "203.0.113.7 203.0.113.7");
}

TEST(Survey, json_over_several_lines_is_refused) {
  EXPECT_EQ(clients("{\n  \"time\": 1795240187,\n  \"ip\": \"203.0.113.7\"\n}\n"), jq("."));
  EXPECT_EQ(clients(records("{\n\"records\": [\n", "\n]\n}", ",\n")), jq("'.records[]'"));
  EXPECT_EQ(clients(records("[\n", "\n]", ",\n")), jq("'.[]'"));
  std::string many = "{\n\"records\": [";
  for (int n = 0; n < 50'000; ++n) many += records("", ",", ",\n");
  EXPECT_EQ(clients(many), jq("'.records[]'"));
  EXPECT_EQ(clients(records("{\"records\":[" + many.substr(14, 2 << 20), "]}")), jq("'.records[]'"));
  EXPECT_EQ(clients("{\nnot json\n}\n").substr(0, 40), "none: its lines have no known format, no");
}

TEST(Survey, a_version_is_not_an_address) {
  const std::string none =
      "none: its lines have no known format, nor a time with its year and an address in one place";
  const auto log = [](const std::string& before, const std::string& after) {
    std::string text;
    for (int n = 7; n < 9; ++n) text += kTime + before + std::to_string(n) + after + "\n";
    return clients(text);
  };
  EXPECT_EQ(log("GET / 200 \"Mozilla/5.0 Chrome/13", ".0.0.0 Safari/537.36\""), none);
  EXPECT_EQ(log("GET / Chrome/131.0.", ".9 ok"), none);
  EXPECT_EQ(log("started version 44.0.27.", ""), none);
  EXPECT_EQ(log("app 4.2.0.", " started"), none);
  EXPECT_EQ(log("from app/4.2.0.1 to 203.0.113.", " GET /"), kBoth);
  EXPECT_EQ(log("host.example.org/203.0.113.", ":4031 GET /"), kBoth);
  EXPECT_EQ(log("client 4.2.0.", " GET /"), "4.2.0.7 4.2.0.8");
}

TEST(Survey, a_version_in_json_is_not_an_address) {
  const auto log = [](const std::string& member) {
    std::string text;
    for (int n = 7; n < 9; ++n)
      text += R"({"time":179524018)" + std::to_string(n) + "," + member + std::to_string(n) + "\"}\n";
    return clients(text);
  };
  const std::string none = "none: no field has addresses, nor names of accounts";
  EXPECT_EQ(log(R"("app_version":"44.2.0.)"), none);
  EXPECT_EQ(log(R"("app":"4.2.0.)"), none);
  EXPECT_EQ(log(R"("browser":"131.0.0.1","who":"203.0.113.)"), kBoth);
  EXPECT_EQ(log(R"("from":"4.2.0.)"), "4.2.0.7 4.2.0.8");
  EXPECT_EQ(log(R"("client":"app-1","client_ip":"203.0.113.)"), kBoth);
}

TEST(Survey, an_address_is_found_whole) {
  EXPECT_EQ(clients_of(kTime + "CONNECT: Client \"::ffff:", "\""), kBoth);
  EXPECT_EQ(clients_of(kTime + "client:", " GET /"), kBoth);
  EXPECT_EQ(clients_of(kTime + "[", "]:80 GET /"), kBoth);
  const auto v6 = [](const std::string& before, const std::string& after) {
    std::string text;
    for (const char* who : {"2001:db8::5", "2001:db8:1:2:3:4:5:6", "::1"})
      text += kTime + before + who + after + "\n";
    return clients(text);
  };
  const std::string all = "2001:db8::5 2001:db8:1:2:3:4:5:6 ::1";
  EXPECT_EQ(v6("[", "]:80 GET /"), all);
  EXPECT_EQ(v6("client:", " GET /"), all);
  EXPECT_EQ(v6("remote:[", "]:80 GET /"), all);
  EXPECT_EQ(v6("", ": GET /"), all);
}

TEST(Survey, one_line_of_fifty_hides_nothing) {
  for (const char* between : {" ", " from ", " client: ", " [x] "}) {
    std::string text = kTime + "listening on 0.0.0.0:8080\n";
    std::string wanted;
    for (int n = 0; n < 49; ++n) {
      text += kTime + "GET" + between + "203.0.113." + std::to_string(n) + "\n";
      wanted += " 203.0.113." + std::to_string(n);
    }
    const std::string found = clients(text);
    EXPECT_TRUE((" " + found).ends_with(wanted)) << between << found;
  }
}

// Of the lines that have such a word, most have no address after it.
TEST(Survey, most_lines_of_a_place_have_an_address) {
  std::string text;
  for (int n = 0; n < 50; ++n) {
    const std::string number = std::to_string(n);
    text += kTime + "build " + (n % 5 == 0 ? "130.0.67." + number : "130.0.67" + number + ".1") + "\n";
  }
  EXPECT_EQ(clients(text).substr(0, 4), "none");
}

// The milliseconds since the first of ten lines, of which each is a millisecond later.
std::string steps(const std::string& before, const std::string& after) {
  std::string text;
  for (int n = 0; n < 12; ++n) {
    text += before + "2026-11-21T05:49:47." + std::to_string(100 + n) + after + "\n";
  }
  const LogFile file(text);
  const Survey survey = survey_of(file.path(), {}, kGoOn);
  if (!survey.command) return "none: " + survey.why_not;
  return survey.command->time + (survey.finest_ns == 1'000'000 ? " moves" : " stands still");
}

TEST(Survey, a_time_that_never_changes_is_not_the_time) {
  const std::string built = "2026-11-01T00:00:00Z";
  EXPECT_EQ(steps("{\"time\":\"" + built + "\",\"at\":\"", "Z\",\"ip\":\"203.0.113.7\"}"), "at moves");
  EXPECT_EQ(steps("{\"built\":\"" + built + "\",\"deep\":{\"at\":\"", "Z\"},\"ip\":\"203.0.113.7\"}"),
            "deep.at moves");
  EXPECT_EQ(steps("{\"time\":\"", "Z\",\"at\":\"" + built + "\",\"ip\":\"203.0.113.7\"}"), " moves");
  EXPECT_EQ(steps("built=" + built + " ", "Z client 203.0.113.7"), " moves");
  EXPECT_EQ(steps("[01/Nov/2026:00:00:00 +0000] ", "Z client 203.0.113.7"), " moves");
  EXPECT_EQ(steps("", "Z client 203.0.113.7, built " + built), " moves");
  EXPECT_EQ(steps("built=" + built + " client 203.0.113.7 at ", "Z"), " moves");
  EXPECT_EQ(steps("client 203.0.113.7 built=" + built + " at ", "Z"), " moves");
  EXPECT_EQ(steps("{\"time\":\"" + built + "\",\"x\":\"", "\",\"ip\":\"203.0.113.7\"}"), "x moves");
}

}  // namespace
}  // namespace weir::logs
