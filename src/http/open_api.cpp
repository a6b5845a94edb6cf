#include "http/open_api.hpp"

#include <array>
#include <string>

#include "service/verbs.hpp"

namespace weir::inline v0_1::http {
namespace {

using enum service::BodyMember;
using service::About;
using service::Tells;
using service::VerbRow;

// ------------------------------------------------------------------- what is made of the table of verbs

constexpr std::array<std::string_view, kMembers> kMemberSchemas{
    R"({"$ref": "#/components/schemas/Attributes", "description": "The limits file says what they meet"})",
    R"({"type": "string"})",
    R"({"type": "string", "examples": ["10/s burst 20"], "description": "Beside key, its rate; beside attributes, the name of one limit, where the verb takes one"})",
    R"({"type": "array", "minItems": 1, "maxItems": 16, "items": {"type": "object", "additionalProperties": false, "required": ["key", "limit"], "properties": {"key": {"type": "string"}, "limit": {"$ref": "#/components/schemas/Rate"}, "cost": {"$ref": "#/components/schemas/Cost"}}}})",
    R"({"type": "array", "minItems": 1, "maxItems": 1000, "items": {"$ref": "#/components/schemas/Check"}})",
    R"({"$ref": "#/components/schemas/Costs"})",
    R"({"type": "integer", "minimum": 1, "description": "As many units of the cost as there are, down to that; each of checks has the cost of one"})",
    R"({"type": "string", "description": "Of the limits file; with attributes"})",
    R"({"type": "boolean", "default": false})",
    R"({"type": "number", "minimum": 0, "description": "Seconds; the limits file may have a default, which is then the most"})",
    R"({"type": "number", "minimum": 0, "maximum": 86400, "description": "Seconds for which it can be settled: after its moment, or from now if it has come"})",
    R"({"type": "string", "maxLength": 64})",
    R"({"$ref": "#/components/schemas/Actual"})",
    R"({"type": "integer", "minimum": 0, "description": "The units that the other side says are left, instead of a cost"})",
    R"({"type": "string", "description": "Of a limit with several windows, the one that is told of", "examples": ["1min"]})",
    R"({"type": "number", "minimum": 0, "maximum": 86400, "description": "For how many seconds nobody acts, instead of a cost"})",
    R"({"type": "boolean", "default": false, "description": "Of a pause: at its end the key is as if never used, but for what acts then or later; it needs the right that a refund needs"})",
    R"({"type": "integer", "minimum": 1, "maximum": 1024, "default": 100})",
};

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string schema_of(std::string_view name) {
  return R"({"$ref": "#/components/schemas/)" + std::string(name) + R"("})";
}

std::string either(const std::string& one, const std::string& other) {
  return R"({"oneOf": [)" + one + ", " + other + "]}";
}

std::string content_of(const std::string& schema) {
  return R"("content": {"application/json": {"schema": )" + schema + "}}";
}

std::string needs_of(const VerbRow& verb) {
  switch (verb.about) {
    case About::rules:
      return R"("oneOf": [{"required": ["attributes"]}, {"required": ["key", "limit"]}, {"required": ["checks"]}])";
    case About::state:
      return R"("oneOf": [{"required": ["key"]}, {"required": ["attributes"]}])";
    case About::limit:
      return R"("required": ["limit", "attributes"])";
    case About::id:
      break;
  }
  return service::takes(verb, kHold) ? R"("required": ["id", "hold"])" : R"("required": ["id"])";
}

// An object of the members that it may have.
std::string object_of(service::MemberSet members, const std::string& needs) {
  std::string text = R"({"type": "object", "additionalProperties": false, )" + needs + R"(, "properties": {)";
  std::string_view before = "";
  for (std::size_t i = 0; i < kMembers; ++i) {
    if ((members & service::set_of(i)) == 0) continue;
    ((text += before) += "\n        ") += in_quotes(service::kMemberNames[i]) + ": ";
    text += kMemberSchemas[i];
    before = ",";
  }
  return text + "}}";
}

std::string answer_schema(Tells tells) {
  switch (tells) {
    case Tells::decision:
      return schema_of("Answer");
    case Tells::explanation:
      return schema_of("Explanation");
    case Tells::reservation:
      return schema_of("Reservation");
    case Tells::charged:
      return schema_of("Charged");
    case Tells::holds:
      return schema_of("Holds");
    case Tells::forgotten:
    case Tells::given_back:
    case Tells::hold:
    case Tells::wait:
      break;
  }
  const std::string name = in_quotes(service::number_of(tells));
  const bool is_time = service::is_time(tells);
  return R"({"type": "object", "required": [)" + name + R"(], "properties": {)" + name + R"(: {"type": ")" +
         (is_time ? "number" : "integer") + R"(", "minimum": )" + (tells == Tells::wait ? "-1" : "0") +
         (is_time ? R"(, "description": "Seconds"}}})" : "}}}");
}

constexpr std::string_view kPrefer =
    R"("parameters": [{"name": "Prefer", "in": "header", "schema": {"type": "string"}, "example": "wait=10",
                        "description": "wait=N (RFC 7240): the longest wait in seconds. The least of this, max_wait and the limits file's counts; one of them is required"}],
        )";
constexpr std::string_view kDenied =
    R"("429": {"description": "Denied; another status where the limits file says so",
                  "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Denial"}}}},
          )";

std::string path_of(const VerbRow& verb) {
  const bool is_batch = service::takes(verb, kRequests);
  std::string body = schema_of(verb.body);
  std::string answer = answer_schema(verb.tells);
  if (is_batch) {
    body = either(body, schema_of("Batch"));
    answer = either(answer, schema_of("Results"));
  }
  std::string text = "    " + in_quotes(verb.path) + R"(: {
      "post": {
        "x-weir-role": )" +
                     in_quotes(steering::name_of(verb.role)) + R"(,
        "summary": )" +
                     in_quotes(verb.says) + R"(,
        )";
  if (verb.verb == store::Verb::acquire) text += kPrefer;
  text += R"("requestBody": {"required": true, )" + content_of(body) + R"(},
        "responses": {
          "200": {"description": )" +
          in_quotes(verb.answers) + ", " + content_of(answer) + R"(},
          )";
  if (verb.charges) text += kDenied;
  return text + R"("default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
)";
}

std::string paths_of_verbs() {
  std::string text;
  for (const VerbRow& each : service::kVerbs) text += path_of(each);
  return text;
}

std::string bodies_of_verbs() {
  std::string text;
  for (const VerbRow& each : service::kVerbs) {
    const std::string name = "      " + in_quotes(each.body) + ": ";
    if (text.find(name) != std::string::npos) continue;
    text += name + object_of(each.takes & ~service::set_of(kRequests), needs_of(each)) + ",\n";
  }
  return text + R"(      "Batch": )" + object_of(service::set_of(kRequests), R"("required": ["requests"])") +
         ",\n";
}

// ------------------------------------------------------------------------------------------ all the rest

constexpr std::string_view kBegin = R"~~~({
  "openapi": "3.1.0",
  "info": {
    "title": "weir",
    "version": "1",
    "description": "May these keys spend this cost under these limits? docs/http.md of weir says more. x-weir-role is the least role that may, where there are users."
  },
  "security": [{}, {"bearer": []}, {"basic": []}],
  "paths": {
)~~~";

constexpr std::string_view kOtherPaths = R"~~~(    "/v1/top": {
      "get": {
        "x-weir-role": "operate",
        "summary": "Which keys are denied most, or charged most, of late",
        "parameters": [
          {"name": "limit", "in": "query", "description": "Of that limit alone", "schema": {"type": "string"}},
          {"name": "by", "in": "query", "schema": {"enum": ["denied", "cost"], "default": "denied"}},
          {"name": "count", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1024, "default": 10}}
        ],
        "responses": {
          "200": {"description": "Most first: a key's true count is at most `count`, and at least that less `error`", "content": {"application/json": {"schema": {
            "type": "object", "required": ["by", "seconds", "total", "keys", "banned", "top"], "properties": {
              "by": {"enum": ["denied", "cost"]},
              "seconds": {"type": "number", "minimum": 0, "description": "Of how long this is"},
              "total": {"type": "integer", "minimum": 0, "description": "Of all limits, without what bans denied"},
              "keys": {"type": "integer", "minimum": 0, "description": "Of all limits, told apart"},
              "banned": {"type": "integer", "minimum": 0, "description": "Requests of all limits that bans denied"},
              "top": {"type": "array", "items": {"type": "object", "required": ["limit", "key", "count", "error", "banned"], "properties": {
                "limit": {"type": "string"}, "key": {"type": "string"},
                "count": {"type": "integer", "minimum": 0}, "error": {"type": "integer", "minimum": 0},
                "banned": {"type": "boolean", "description": "A ban has denied these"}}}}}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/usage": {
      "post": {
        "x-weir-role": "operate",
        "summary": "How much of a limit that is tracked a key has used",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/UsageOf"}}}},
        "responses": {
          "200": {"description": "By period and by hour", "content": {"application/json": {"schema": {
            "type": "object", "required": ["limit", "key", "windows", "hours"], "properties": {
              "limit": {"type": "string"},
              "key": {"type": "string"},
              "windows": {"type": "array", "items": {"type": "object", "required": ["window", "used", "last", "began", "ends"], "properties": {
                "window": {"type": "string"},
                "used": {"type": "integer", "minimum": 0, "description": "In the period that runs"},
                "last": {"type": "integer", "minimum": 0, "description": "In the one before"},
                "began": {"type": "string", "format": "date-time"}, "ends": {"type": "string", "format": "date-time"}}}},
              "hours": {"type": "array", "minItems": 24, "maxItems": 24, "items": {"type": "integer", "minimum": 0},
                        "description": "In UTC, the oldest first; the last one runs"}}}}}},
          "409": {"description": "It is not tracked: --track-memory is full, or was", "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/overrides": {
      "get": {
        "x-weir-role": "operate",
        "summary": "What operators have set, the oldest first",
        "parameters": [
          {"name": "limit", "in": "query", "schema": {"type": "string"}},
          {"name": "count", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1024, "default": 100}},
          {"name": "after", "in": "query", "schema": {"type": "integer", "minimum": 0}, "description": "A number: those that are greater"}],
        "responses": {
          "200": {"description": "Some, and whether there are more", "content": {"application/json": {"schema": {
            "type": "object", "required": ["overrides", "more"], "properties": {
              "overrides": {"type": "array", "items": {"$ref": "#/components/schemas/Override"}}, "more": {"type": "boolean"}}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      },
      "post": {
        "x-weir-role": "operate",
        "summary": "Ban, raise, lower or shadow, until it ends",
        "parameters": [{"name": "If-Match", "in": "header", "schema": {"type": "string"}, "description": "The hash of the limits file that was looked at"}],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewOverride"}}}},
        "responses": {
          "201": {"description": "It is in force", "headers": {"Location": {"schema": {"type": "string"}}},
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Override"}}}},
          "409": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/overrides/{number}": {
      "get": {
        "x-weir-role": "operate",
        "summary": "One override",
        "parameters": [{"name": "number", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 1}}],
        "responses": {
          "200": {"description": "It", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Override"}}}},
          "404": {"$ref": "#/components/responses/Problem"},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      },
      "delete": {
        "x-weir-role": "operate",
        "summary": "End an override",
        "parameters": [{"name": "number", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 1}},
                       {"name": "reason", "in": "query", "schema": {"type": "string", "maxLength": 256}}],
        "responses": {
          "204": {"description": "It has ended"},
          "404": {"$ref": "#/components/responses/Problem"},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/status": {
      "get": {
        "x-weir-role": "operate",
        "summary": "What the operators' page shows: the server, its limits, the store and the file",
        "parameters": [{"name": "limit", "in": "query", "description": "Of that limit alone", "schema": {"type": "string"}}],
        "responses": {
          "200": {"description": "Now; limits have series of 300 seconds unless there are more than 50", "content": {"application/json": {"schema": {
            "type": "object", "required": ["server", "limits", "store", "file", "role", "user"], "properties": {
              "server": {"type": "object"},
              "limits": {"type": "array", "items": {"type": "object", "required": ["name", "by", "windows", "shadow"]}},
              "limits_left_out": {"type": "integer", "minimum": 1},
              "store": {"type": ["object", "null"]},
              "file": {"type": ["object", "null"]},
              "role": {"enum": ["operate", "admin"]},
              "user": {"type": "string"}}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/audit": {
      "get": {
        "x-weir-role": "admin",
        "summary": "What operators have changed, the newest first",
        "parameters": [{"name": "count", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1024, "default": 10}}],
        "responses": {
          "200": {"description": "Lines of the audit", "content": {"application/json": {"schema": {
            "type": "object", "required": ["lines"], "properties": {"lines": {"type": "array", "items": {"type": "object", "required": ["time", "verb"]}}}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/openapi.json": {
      "get": {"x-weir-role": "decide", "summary": "This description", "responses": {"200": {"description": "OpenAPI 3.1", "content": {"application/json": {}}}}}
    }
  },
  "components": {
    "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}, "basic": {"type": "http", "scheme": "basic"}},
    "responses": {
      "Problem": {"description": "What is wrong (RFC 9457): 400, 401, 403, 404, 405, 413, 415, or 503 when nobody could decide",
                  "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    },
    "schemas": {
      "Cost": {"type": "integer", "minimum": 0, "maximum": 9223372036854775807, "default": 1, "description": "0 looks"},
      "ByLimit": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Cost"}, "examples": [{"tpm": 3000}]},
      "Costs": {"anyOf": [{"$ref": "#/components/schemas/Cost"}, {"$ref": "#/components/schemas/ByLimit"}], "description": "By the names of limits only with attributes"},
      "Actual": {"anyOf": [{"$ref": "#/components/schemas/Cost"}, {"$ref": "#/components/schemas/ByLimit"}], "description": "Left out: what was charged"},
      "Rate": {"type": "string", "maxLength": 128, "examples": ["10/s burst 20"]},
      "Attributes": {"type": "object", "maxProperties": 64, "additionalProperties": {"type": "string"}},
      "Seconds": {"type": ["number", "null"], "minimum": 0, "description": "Exact, with up to nine places"},
      "Reservation": {
        "allOf": [{"$ref": "#/components/schemas/Answer"}],
        "required": ["wait", "id"],
        "properties": {
          "wait": {"$ref": "#/components/schemas/Seconds", "description": "Granted: until the moment to act. Denied: the shortest after which the same request would be granted; null when none helps"},
          "id": {"type": ["string", "null"], "maxLength": 64, "description": "null: there is nothing to cancel or to settle"}
        }
      },
      "UsageOf": {
        "type": "object", "additionalProperties": false, "required": ["limit", "attributes"],
        "properties": {
          "limit": {"type": "string", "description": "It says track: true"},
          "attributes": {"type": "object", "additionalProperties": {"type": "string"}, "description": "All of its by"}}
      },
      "Charged": {
        "type": "object",
        "required": ["charged", "owed", "wait", "reset_after", "by"],
        "properties": {
          "charged": {"type": "integer", "minimum": 0, "description": "Units that are owed now and were not"},
          "owed": {"type": "integer", "minimum": 0, "description": "Units beyond the limit"},
          "wait": {"$ref": "#/components/schemas/Seconds", "description": "Until one more unit is admitted"},
          "reset_after": {"$ref": "#/components/schemas/Seconds"},
          "by": {"type": ["string", "null"]}
        }
      },
)~~~";

constexpr std::string_view kOtherSchemas = R"~~~(      "Holds": {
        "type": "object",
        "required": ["holds"],
        "properties": {"holds": {"type": "array", "items": {
          "type": "object",
          "required": ["id", "cost", "wait", "ends", "client"],
          "properties": {
            "id": {"type": "string"},
            "cost": {"type": "integer", "minimum": 0},
            "wait": {"type": "number", "minimum": 0, "description": "Seconds until its moment; 0: it has come"},
            "ends": {"type": "number", "minimum": 0, "description": "Seconds until it ends by its time"},
            "client": {"type": "string", "description": "Where it was asked from; empty with a shared store"}
          }
        }}}
      },
      "Answer": {
        "type": "object",
        "required": ["allowed", "verdict", "limit", "remaining", "retry_after", "reset_after", "by"],
        "properties": {
          "allowed": {"type": "boolean"},
          "verdict": {"enum": ["allowed", "denied", "never", "busy"]},
          "limit": {"type": ["integer", "null"], "description": "What is admitted at once from rest; null: no limit applied"},
          "remaining": {"type": ["integer", "null"]},
          "retry_after": {"$ref": "#/components/schemas/Seconds", "description": "null: allowed, or waiting does not help"},
          "reset_after": {"$ref": "#/components/schemas/Seconds"},
          "by": {"type": ["string", "null"], "description": "The limit that decides"},
          "granted": {"type": "integer", "minimum": 0, "description": "With at_least: the units; 0 when denied"}
        }
      },
      "Explanation": {
        "allOf": [{"$ref": "#/components/schemas/Answer"}],
        "required": ["limits"],
        "properties": {
          "route_line": {"type": ["integer", "null"]},
          "class": {"type": ["string", "null"]},
          "limits": {"type": "array", "items": {"type": "object", "required": ["name", "key", "rate", "verdict"]}}
        }
      },
      "Denial": {
        "allOf": [{"$ref": "#/components/schemas/Answer"}],
        "required": ["type", "title", "status", "violated-policies"],
        "properties": {
          "type": {"enum": ["https://iana.org/assignments/http-problem-types#quota-exceeded",
                            "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"], "description": "The second of a ban"},
          "title": {"type": "string"},
          "status": {"type": "integer"},
          "violated-policies": {"type": "array", "items": {"type": "string"}}
        }
      },
      "Whom": {"anyOf": [{"const": "all"}, {"type": "object", "minProperties": 1, "maxProperties": 64, "additionalProperties": {"type": "string"},
                "description": "All must hold: texts, patterns with *, addresses, CIDRs"}]},
      "Kind": {"enum": ["ban", "raise", "lower", "shadow_on", "shadow_off"]},
      "NewOverride": {
        "type": "object", "additionalProperties": false,
        "required": ["kind", "limit", "reason"],
        "oneOf": [{"required": ["for"]}, {"required": ["until"]}],
        "properties": {
          "kind": {"$ref": "#/components/schemas/Kind"},
          "limit": {"type": "string"},
          "when": {"$ref": "#/components/schemas/Whom"},
          "rate": {"type": ["array", "null"], "items": {"type": "string"}, "description": "Of raise and lower"},
          "for": {"type": "number", "minimum": 1, "maximum": 31622400},
          "until": {"type": "string"},
          "reason": {"type": "string", "minLength": 1, "maxLength": 256}
        }
      },
      "Override": {
        "type": "object",
        "required": ["number", "kind", "limit", "when", "rate", "until", "reason", "user", "set_at", "durable"],
        "properties": {
          "number": {"type": "integer", "minimum": 1},
          "kind": {"$ref": "#/components/schemas/Kind"},
          "limit": {"type": "string"},
          "when": {"$ref": "#/components/schemas/Whom"},
          "rate": {"type": ["array", "null"], "items": {"type": "string"}},
          "until": {"type": "string", "format": "date-time"},
          "reason": {"type": "string"},
          "user": {"type": "string"},
          "set_at": {"type": "string", "format": "date-time"},
          "durable": {"type": "boolean"}
        }
      },
      "Results": {
        "type": "object", "required": ["results"],
        "properties": {"results": {"type": "array", "items": {
          "type": "object", "required": ["status"],
          "description": "With the members of Answer, or with errors, or with detail",
          "properties": {"status": {"type": "integer"}}}}}
      },
      "Problem": {
        "type": "object",
        "required": ["title", "status", "detail"],
        "properties": {
          "title": {"type": "string"},
          "status": {"type": "integer"},
          "detail": {"type": "string"},
          "errors": {"type": "array", "items": {
            "type": "object", "required": ["pointer", "detail"],
            "properties": {"pointer": {"type": "string", "format": "json-pointer"}, "detail": {"type": "string"}}}}
        }
      }
    }
  }
}
)~~~";

}  // namespace

std::string_view open_api() {
  static const std::string kDocument = std::string(kBegin) + paths_of_verbs() + std::string(kOtherPaths) +
                                       bodies_of_verbs() + std::string(kOtherSchemas);
  return kDocument;
}

}  // namespace weir::http
