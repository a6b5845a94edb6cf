#include "resp/value.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::resp {
namespace {

using Status = Parsed::Status;

// As a person would write it: "OK" -no 5 nil [1 2] >[...]
std::string told(const Value& value) {
  std::string all;
  switch (value.type) {
    case Value::Type::string:
      return '"' + std::string(value.text) + '"';
    case Value::Type::error:
      return "-" + std::string(value.text);
    case Value::Type::integer:
      return std::to_string(value.integer);
    case Value::Type::null:
      return "nil";
    case Value::Type::push:
      all = ">";
      break;
    case Value::Type::array:
      break;
  }
  all += "[";
  for (const Value& item : value.items) all += (&item == value.items.data() ? "" : " ") + told(item);
  return all + "]";
}

std::string told(const Parsed& parsed) {
  if (parsed.status == Status::more) return "more";
  return parsed.status == Status::value ? told(parsed.value) : "broken: " + std::string(parsed.why);
}

struct Row {
  std::string bytes;
  std::string value;
};

const Row kRows[] = {
    {"+OK\r\n", "\"OK\""},
    {"+\r\n", "\"\""},
    {"-ERR no\r\n", "-ERR no"},
    {"-NOSCRIPT No matching script.\r\n", "-NOSCRIPT No matching script."},
    {":0\r\n", "0"},
    {":-9223372036854775808\r\n", "-9223372036854775808"},
    {"$5\r\nhello\r\n", "\"hello\""},
    {"$0\r\n\r\n", "\"\""},
    {"$4\r\n\r\n\r\n\r\n", "\"\r\n\r\n\""},
    {"$-1\r\n", "nil"},
    {"*-1\r\n", "nil"},
    {"_\r\n", "nil"},
    {"*0\r\n", "[]"},
    {"*1\r\n*1\r\n*0\r\n", "[[[]]]"},
    {"*3\r\n:1\r\n$3\r\ntwo\r\n_\r\n", "[1 \"two\" nil]"},
    {"*2\r\n*2\r\n:1\r\n:2\r\n*3\r\n:3\r\n*1\r\n:4\r\n:5\r\n", "[[1 2] [3 [4] 5]]"},
    {"*4\r\n:1\r\n$10\r\n1732147200\r\n$6\r\n123456\r\n$-1\r\n", "[1 \"1732147200\" \"123456\" nil]"},
    {"#t\r\n", "1"},
    {"#f\r\n", "0"},
    {",1.5\r\n", "\"1.5\""},
    {",inf\r\n", "\"inf\""},
    {"(3492890328409238509324850943850943825024385\r\n", "\"3492890328409238509324850943850943825024385\""},
    {"!7\r\nERR\nno!\r\n", "-ERR\nno!"},
    {"=8\r\ntxt:Some\r\n", "\"Some\""},
    {"=4\r\ntxt:\r\n", "\"\""},
    {"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "[\"a\" 1 \"b\" 2]"},
    {"%0\r\n", "[]"},
    {"~2\r\n+a\r\n+b\r\n", "[\"a\" \"b\"]"},
    {">2\r\n+invalidate\r\n*1\r\n+key\r\n", ">[\"invalidate\" [\"key\"]]"},
    {"|1\r\n+ttl\r\n:3600\r\n:5\r\n", "5"},
    {"*2\r\n|1\r\n+a\r\n*1\r\n:9\r\n:1\r\n|0\r\n+b\r\n", "[1 \"b\"]"},
};

TEST(ReplyParser, reads_every_type) {
  ReplyParser parser;
  for (const Row& row : kRows) {
    const std::string bytes = row.bytes + "+next\r\n";
    const Parsed parsed = parser.parse(bytes);
    EXPECT_EQ(told(parsed), row.value) << row.bytes;
    EXPECT_EQ(parsed.used, row.bytes.size()) << row.bytes;
  }
}

TEST(ReplyParser, cut_at_every_byte_it_waits_for_more) {
  ReplyParser parser;
  for (const Row& row : kRows) {
    for (std::size_t size = 0; size < row.bytes.size(); ++size) {
      // Of this size exactly, so that AddressSanitizer sees a byte read too far.
      const std::vector<char> piece(row.bytes.begin(), row.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const Parsed parsed = parser.parse({piece.data(), piece.size()});
      EXPECT_EQ(told(parsed), "more") << row.bytes << " cut at " << size;
      EXPECT_EQ(parsed.used, 0U);
    }
  }
}

TEST(ReplyParser, answers_in_a_row_are_read_one_by_one) {
  ReplyParser parser;
  std::string bytes;
  for (const Row& row : kRows) bytes += row.bytes;
  std::string_view rest = bytes;
  for (const Row& row : kRows) {
    const Parsed parsed = parser.parse(rest);
    EXPECT_EQ(told(parsed), row.value);
    rest.remove_prefix(parsed.used);
  }
  EXPECT_EQ(told(parser.parse(rest)), "more");
}

TEST(ReplyParser, says_what_is_wrong) {
  const Row rows[] = {
      {"HTTP/1.1 400 Bad Request\r\n", "an answer begins with an unknown type byte"},
      {"\r\n\r\n", "an answer begins with an unknown type byte"},
      {"*1\r\nxyz", "an answer begins with an unknown type byte"},
      {"+OK\rno\r\n", "a line of an answer does not end with CRLF"},
      {":\r\n", "a number in an answer is not one"},
      {":1.5\r\n", "a number in an answer is not one"},
      {":+1\r\n", "a number in an answer is not one"},
      {":01\r\n", "a number in an answer is not one"},
      {":9223372036854775808\r\n", "a number in an answer is not one"},
      {"$x\r\n", "a number in an answer is not one"},
      {"$?\r\n", "a number in an answer is not one"},
      {"*?\r\n", "a number in an answer is not one"},
      {"$-2\r\n", "a length in an answer is negative"},
      {"*-2\r\n", "a length in an answer is negative"},
      {"%-5\r\n", "a length in an answer is negative"},
      {"$2\r\nabcd\r\n", "a string in an answer is longer than its length"},
      {"$2\r\nab\n\r", "a string in an answer is longer than its length"},
      {"_x\r\n", "a null in an answer has a value"},
      {"#x\r\n", "a boolean in an answer is not one"},
      {"=3\r\ntxt\r\n", "a verbatim string in an answer does not say what it is"},
      {"=5\r\ntext:\r\n", "a verbatim string in an answer does not say what it is"},
      {"=-1\r\n", "a verbatim string in an answer does not say what it is"},
      {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
       "an answer is nested more than 8 deep"},
      {"$1048576\r\n", "the answer is larger than 1 MiB"},
      {"$9223372036854775807\r\n", "the answer is larger than 1 MiB"},
      {"*349526\r\n", "the answer is larger than 1 MiB"},
      {"%174763\r\n", "the answer is larger than 1 MiB"},
      {"*9223372036854775807\r\n", "the answer is larger than 1 MiB"},
  };
  ReplyParser parser;
  for (const Row& row : rows) EXPECT_EQ(told(parser.parse(row.bytes)), "broken: " + row.value) << row.bytes;
}

TEST(ReplyParser, nests_eight_deep_and_reads_one_mebibyte) {
  ReplyParser parser;
  std::string deep;
  for (int i = 0; i < 8; ++i) deep += "*1\r\n";
  EXPECT_EQ(told(parser.parse(deep + ":1\r\n")), "[[[[[[[[1]]]]]]]]");

  const std::string head = "$1048564\r\n";
  std::string large = head + std::string(1'048'564, 'x') + "\r\n";
  ASSERT_EQ(large.size(), ReplyParser::kMostBytes);
  EXPECT_EQ(parser.parse(large).used, large.size());
  EXPECT_EQ(told(parser.parse(std::string_view(large).substr(0, large.size() - 1))), "more");
  EXPECT_EQ(told(parser.parse("+" + std::string(ReplyParser::kMostBytes, 'x'))),
            "broken: the answer is larger than 1 MiB");

  std::string many = "*300000\r\n";
  for (int i = 0; i < 300'000; ++i) many += "_\r\n";
  const Parsed parsed = parser.parse(many);
  ASSERT_EQ(parsed.status, Status::value) << parsed.why;
  EXPECT_EQ(parsed.value.items.size(), 300'000U);
}

// Room is made when the bytes for it are there, and what cannot come within the bound is refused before.
TEST(ReplyParser, a_promise_takes_no_memory) {
  ReplyParser parser;
  EXPECT_EQ(told(parser.parse("*300000\r\n*2\r\n:1\r\n")), "more");
  EXPECT_EQ(told(parser.parse("*200000\r\n*200000\r\n:1\r\n")), "more");
  std::string bytes = "*200000\r\n*200000\r\n";
  bytes.resize(900'000, '_');
  EXPECT_EQ(told(parser.parse(bytes)), "broken: the answer is larger than 1 MiB");
}

TEST(ReplyParser, text_lies_in_the_input) {
  ReplyParser parser;
  const std::string bytes = "*2\r\n$5\r\nhello\r\n+OK\r\n";
  const Parsed parsed = parser.parse(bytes);
  EXPECT_EQ(parsed.value.items[0].text.data(), bytes.data() + 8);
  EXPECT_EQ(parsed.value.items[1].text.data(), bytes.data() + 16);
}

}  // namespace
}  // namespace weir::resp
