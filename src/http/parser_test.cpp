#include "http/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace weir::inline v0_1::http {

static std::ostream& operator<<(std::ostream& out, RequestParser::Status status) {
  constexpr const char* kNames[] = {"incomplete", "head", "whole", "skipped", "refused"};
  return out << kNames[static_cast<std::size_t>(status)];
}

namespace {

using Status = RequestParser::Status;

// What came of bytes, as text, so that two ways of feeding them can be compared.
std::string told(const RequestParser& parser, Status status) {
  if (status == Status::refused)
    return std::to_string(parser.refusal().status) + " " + std::string(parser.refusal().detail);
  if (status != Status::whole) return "unfinished";
  const Message& message = parser.message();
  std::string text = std::string(message.method) + " " + std::string(message.target) + " 1." +
                     std::to_string(message.minor) + (message.keep_alive ? " keeps" : " closes");
  for (const Field& field : message.fields)
    text += "|" + std::string(field.name) + "=" + std::string(field.value);
  return text + "|" + std::string(message.body);
}

// Every request in the bytes, up to the first that is not whole.
std::string at_once(std::string_view bytes) {
  RequestParser parser;
  FieldRoom room;
  std::string all;
  for (;;) {
    const Status status = parser.next(bytes, room);
    all += told(parser, status);
    if (status != Status::whole) return all;
    bytes.remove_prefix(parser.consumed());
    if (bytes.empty()) return all;
    all += "\n";
  }
}

// The same, fed `step` bytes at a time, from memory that moves.
std::string in_steps(std::string_view bytes, std::size_t step) {
  RequestParser parser;
  FieldRoom room;
  std::string all;
  std::string kept;
  while (!bytes.empty()) {
    kept = std::string(kept) + std::string(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    std::string next = kept;
    kept.assign(kept.size(), '#');
    kept.swap(next);
    for (;;) {
      const Status status = parser.next(kept, room);
      if (status == Status::refused) return all + told(parser, status);
      if (status != Status::whole) break;
      all += told(parser, status);
      kept.erase(0, parser.consumed());
      if (kept.empty()) break;
      all += "\n";
    }
    if (!kept.empty() && bytes.empty()) return all + "unfinished";
    if (kept.empty() && !bytes.empty()) all += "\n";
  }
  return all;
}

std::string both(std::string_view bytes) {
  const std::string whole = at_once(bytes);
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}})
    EXPECT_EQ(in_steps(bytes, step), whole) << "in steps of " << step << ":\n" << bytes.substr(0, 300);
  return whole;
}

std::string with(std::string_view fields, std::string_view body = "") {
  return "POST /v1/check HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

struct ParserRow {
  std::string bytes;
  std::string told;
};

TEST(HttpParser, requests_are_found_however_their_bytes_come) {
  const std::vector<ParserRow> rows{
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 keeps|Host=a|"},
      {"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 closes|"},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / 1.0 keeps|Connection=keep-alive|"},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
       "GET / 1.1 closes|Host=a|Connection=x, Close|"},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1 keeps|Host=a|"},
      {"ODD /?a=b HTTP/1.1\r\nhOST:a\r\nX:  \t b c \t\r\nEmpty:\r\n\r\n",
       "ODD /?a=b 1.1 keeps|hOST=a|X=b c|Empty=|"},
      {with("Content-Length: 3\r\n", "abc"), "POST /v1/check 1.1 keeps|Host=a|Content-Length=3|abc"},
      {with("Content-Length: 0\r\n"), "POST /v1/check 1.1 keeps|Host=a|Content-Length=0|"},
      {with("Content-Length: 0003\r\n", "a\r\n"),
       "POST /v1/check 1.1 keeps|Host=a|Content-Length=0003|a\r\n"},
      {with("Content-Length: 3\r\n", "abcGET /x HTTP/1.1\r\nHost: b\r\n\r\n"),
       "POST /v1/check 1.1 keeps|Host=a|Content-Length=3|abc\nGET /x 1.1 keeps|Host=b|"},
      {with("Content-Length: 3\r\n", "abc\r\nGET /x HTTP/1.1\r\nHost: b\r\n\r\n"),
       "POST /v1/check 1.1 keeps|Host=a|Content-Length=3|abc\nGET /x 1.1 keeps|Host=b|"},
      {with("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n"),
       "POST /v1/check 1.1 keeps|Host=a|Transfer-Encoding=chunked|abc0123456789"},
      {with("Transfer-Encoding: Chunked\r\n", "0\r\nTrailer: x\r\n\r\nGET /x HTTP/1.1\r\nHost: b\r\n\r\n"),
       "POST /v1/check 1.1 keeps|Host=a|Transfer-Encoding=Chunked|\nGET /x 1.1 keeps|Host=b|"},
      {with("Content-Length: 3\r\n", "ab"), "unfinished"},
      {with("Transfer-Encoding: chunked\r\n", "3\r\nab"), "unfinished"},
      {with("Transfer-Encoding: chunked\r\n", "0\r\n"), "unfinished"},
  };
  for (const ParserRow& row : rows) EXPECT_EQ(both(row.bytes), row.told) << row.bytes;
}

TEST(HttpParser, what_two_readers_could_understand_differently_is_refused) {
  const std::string twice = "400 Content-Length twice";
  const std::string number = "400 a Content-Length that is not one number";
  const std::string chunk = "400 a malformed chunk";
  const auto chunked = [](std::string_view body) { return with("Transfer-Encoding: chunked\r\n", body); };
  const std::vector<ParserRow> rows{
      {with("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), twice},
      {with("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), number},
      {with("Content-Length: 3, 3\r\n", "abc"), number},
      {with("Content-Length: +3\r\n", "abc"), number},
      {with("Content-Length: -1\r\n", "abc"), number},
      {with("Content-Length: 0x3\r\n", "abc"), number},
      {with("Content-Length: 3 3\r\n", "abc"), number},
      {with("Content-Length:\r\n", "abc"), number},
      {with("Content-Length: 18446744073709551618\r\n", "abc"), number},
      {with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
       "400 Transfer-Encoding twice, or beside Content-Length"},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"), number},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
       "400 Transfer-Encoding twice, or beside Content-Length"},
      {with("Transfer-Encoding: identity\r\nContent-Length: 3\r\n", "abc"),
       "400 Transfer-Encoding beside Content-Length"},
      {with("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), "501 a Transfer-Encoding other than chunked"},
      {with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
       "501 a Transfer-Encoding other than chunked"},
      {with("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
       "501 a Transfer-Encoding other than chunked"},
      {with("Transfer-Encoding: \x0b"
            "chunked\r\n",
            "0\r\n\r\n"),
       "400 the request's head is malformed"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 Transfer-Encoding in HTTP/1.0"},
      {with("X: a\r\n b\r\n"), "400 a field that goes on in the next line"},
      {with("X: a\r\n\tTransfer-Encoding: chunked\r\n"), "400 a field that goes on in the next line"},
      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 a field that goes on in the next line"},
      {with("X: a\rb\r\n"), "400 a CR that ends no line"},
      {with("X: a\r\r\n"), "400 a CR that ends no line"},
      {"GET / HTTP/1.1\nHost: a\n\n", "400 a line that ends with LF alone"},
      {with("X: a\nY: b\r\n"), "400 a line that ends with LF alone"},
      {with(std::string("X: a\0b\r\n", 8)), "400 the request's head is malformed"},
      {with("Content-Length : 3\r\n", "abc"), "400 the request's head is malformed"},
      {with(": 3\r\n"), "400 the request's head is malformed"},
      {with("No colon\r\n"), "400 the request's head is malformed"},
      {with("X\x01: a\r\n"), "400 the request's head is malformed"},
      {with("X: \x7f\r\n"), "400 the request's head is malformed"},
      {"GET / HTTP/1.1\r\n\r\n", "400 missing Host"},
      {with("Host: b\r\n"), "400 Host twice"},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 a malformed Host"},
      {"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", "400 a malformed Host"},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {"GET /\r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 the request does not begin with a method"},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "400 the request's head is malformed"},
      {"\x16\x03\x01\x02", "400 this is TLS, and here plain HTTP is spoken"},
      {std::string("\0\0\0", 3), "400 the request does not begin with a method"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here"},
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here"},
      {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here"},
      {with("Expect: 200-ok\r\n"), "417 an Expect other than 100-continue"},
      {chunked("+3\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("0x3\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked(" 3\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("3 \r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("-1\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("g\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("3\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("3\rabc\r\n0\r\n\r\n"), chunk},
      {chunked("3;\nx\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("3\r\nabcd\r\n0\r\n\r\n"), chunk},
      {chunked("3\r\nabc0\r\n\r\n"), chunk},
      {chunked("3\r\nabc\n0\r\n\r\n"), chunk},
      {chunked("10000000000000003\r\nabc\r\n0\r\n\r\n"), chunk},
      {chunked("0\r\nX\r\n\r\n"), chunk},
      {chunked("0\r\nContent-Length: 5\r\n\r\n"), chunk},
      {chunked("0\r\nX: a\n\r\n\r\n"), chunk},
      {chunked("100001\r\n"), "413 a body of more than 1 MiB"},
      {chunked("ffffffffffffffff\r\n"), "413 a body of more than 1 MiB"},
      {with("Content-Length: 1048577\r\n"), "413 a body of more than 1 MiB"},
      {with("Content-Length: 9223372036854775808\r\n"), "413 a body of more than 1 MiB"},
  };
  for (const ParserRow& row : rows) EXPECT_EQ(both(row.bytes), row.told) << row.bytes;
}

TEST(HttpParser, heads_and_bodies_are_bounded) {
  const auto line = [](std::size_t size) { return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\n"; };
  EXPECT_NE(at_once(line(kMostTarget) + "Host: a\r\n\r\n").find("keeps"), std::string::npos);
  EXPECT_EQ(at_once(line(kMostTarget + 1) + "Host: a\r\n\r\n"), "414 the request's target is too long");
  // Before its end is there.
  EXPECT_EQ(at_once("GET /" + std::string(kMostTarget + 64, 'a')),
            "414 the request's first line is too long");
  EXPECT_EQ(at_once(std::string(kMostHead, 'A')), "414 the request's first line is too long");

  std::string fields;
  for (std::size_t i = 1; i < kMostFields; ++i) fields += "X: y\r\n";
  EXPECT_NE(at_once(with(fields)).find("keeps"), std::string::npos);
  EXPECT_EQ(at_once(with(fields + "X: y\r\n")), "431 too many fields");
  EXPECT_EQ(at_once(with("X: " + std::string(kMostHead, 'a') + "\r\n")),
            "431 the request's fields are too long");
  EXPECT_EQ(at_once("GET / HTTP/1.1\r\nX: " + std::string(kMostHead, 'a')),
            "431 the request's fields are too long");

  const std::string most(kMostBody, 'b');
  const std::string length = "Content-Length: " + std::to_string(kMostBody) + "\r\n";
  EXPECT_TRUE(at_once(with(length, most)).ends_with(most));
  EXPECT_TRUE(
      at_once(with("Transfer-Encoding: chunked\r\n", "100000\r\n" + most + "\r\n0\r\n\r\n")).ends_with(most));
  std::string small = "80000\r\n" + std::string(0x80000, 'b') + "\r\n";
  for (int i = 0; i < 400'000; ++i) small += "1\r\nb\r\n";
  EXPECT_EQ(at_once(with("Transfer-Encoding: chunked\r\n", small)), "413 a body of more than 1 MiB");
  EXPECT_EQ(at_once(with("Transfer-Encoding: chunked\r\n", "0\r\nX: " + std::string(2 * kMostHead, 'a'))),
            "431 the fields after the body are too long");
}

TEST(HttpParser, a_client_that_waits_to_be_told_is_known_by_its_head) {
  RequestParser parser;
  FieldRoom room;
  const std::string head = with("Content-Length: 2\r\nExpect: 100-Continue\r\n");
  ASSERT_EQ(parser.next(head, room), Status::head);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(parser.message().path, "/v1/check");
  const std::string all = head + "ab";
  ASSERT_EQ(parser.next(all, room), Status::whole);
  EXPECT_EQ(parser.message().body, "ab");
  EXPECT_EQ(at_once("GET / HTTP/1.0\r\nExpect: 200-ok\r\n\r\n"), "GET / 1.0 closes|Expect=200-ok|");
}

// What comes of bytes whose bodies are thrown away, fed `step` bytes at a time: the paths of the requests,
// and the refusal, if there is one. At most `most` bytes are kept at a time.
std::string without_bodies(std::string_view bytes, std::size_t step, std::size_t most) {
  RequestParser parser([](const Message& head) { return head.path != "/kept"; });
  FieldRoom room;
  std::string all;
  std::string kept;
  while (!bytes.empty()) {
    kept += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (bool more = true; more && !kept.empty();) {
      const Status status = parser.next(kept, room);
      if (status == Status::refused) return all + std::to_string(parser.refusal().status);
      if (status == Status::whole)
        all += std::string(parser.message().path) + std::string(parser.message().body) + " ";
      more = (status == Status::whole || status == Status::skipped) && parser.consumed() > 0;
      if (more) kept.erase(0, parser.consumed());
    }
    EXPECT_LE(kept.size(), most);
    EXPECT_LE(parser.kept(), std::size_t{4096});
  }
  return all + (parser.skipping() ? "and more" : "");
}

TEST(HttpParser, a_body_is_thrown_away_as_it_comes) {
  const auto chunked = [](const std::string& body) { return with("Transfer-Encoding: chunked\r\n", body); };
  const std::string next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string kept = "POST /kept HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const std::vector<ParserRow> rows = {
      {with("Content-Length: 9\r\n", "GET / HTT") + next, "/v1/check /next "},
      {with("Content-Length: 0\r\n") + next, "/v1/check /next "},
      {with("Content-Length: 9\r\n", "12345678"), "/v1/check and more"},
      {with("Content-Length: 9\r\n", "123456789") + kept + next, "/v1/check /keptabc /next "},
      {chunked("3\r\nabc\r\n0\r\n\r\n") + next, "/v1/check /next "},
      {chunked("3;a=\"b\"\r\nabc\r\n00\r\nX: y\r\n\r\n") + kept, "/v1/check /keptabc "},
      {chunked("3\r\nabc\r\n0\r\n"), "/v1/check and more"},
      {chunked("3\r\nabcd\r\n0\r\n\r\n") + next, "/v1/check 400"},
      {chunked("x\r\n"), "/v1/check 400"},
      {with("Content-Length: 1\r\nContent-Length: 1\r\n", "a"), "400"},
      {with("Transfer-Encoding: gzip\r\n", "a"), "501"},
  };
  for (const ParserRow& row : rows) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, row.bytes.size()})
      EXPECT_EQ(without_bodies(row.bytes, step, row.bytes.size()), row.told) << row.bytes << " by " << step;
  }
}

TEST(HttpParser, what_is_thrown_away_is_not_kept_however_long_it_is) {
  const std::string long_body(3 * kMostBody, 'b');
  const std::string next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::size_t step = 10'000;
  const auto told = [&](const std::string& bytes) { return without_bodies(bytes, step, step + kMostHead); };
  EXPECT_EQ(told(with("Content-Length: " + std::to_string(long_body.size()) + "\r\n", long_body) + next),
            "/v1/check /next ");
  const std::string in_one = "300000\r\n" + long_body + "\r\n0\r\n\r\n";
  EXPECT_EQ(told(with("Transfer-Encoding: chunked\r\n", in_one) + next), "/v1/check /next ");
  // A line of it has to be understood as one, and so is bounded.
  EXPECT_EQ(told(with("Transfer-Encoding: chunked\r\n", "3;" + long_body)), "/v1/check 431");
  EXPECT_EQ(told(with("Transfer-Encoding: chunked\r\n", "0\r\nX: " + long_body)), "/v1/check 431");
}

}  // namespace
}  // namespace weir::http
