// Where events are delivered to: a file, a Unix socket, or a server of HTTP.
//
// One thread, which may wait, except give_up() and reopen(), which any may call.
#pragma once

#include <memory>
#include <string>

namespace weir::inline v0_1::server {

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // Whole lines. Empty: they are delivered; else why not.
  virtual std::string deliver(const std::string& lines) = 0;
  // It is worth while to wait for more lines first.
  virtual bool gathers() const { return false; }
  virtual void reopen() {}   // a file may have been moved away
  virtual void give_up() {}  // what is under way ends soon
  // For people; without what may be a secret.
  virtual std::string name() const = 0;
};

// `where`: a path, unix:PATH, http://... or https://... Throws std::runtime_error when it is none of these.
std::unique_ptr<EventSink> make_event_sink(const std::string& where);

}  // namespace weir::server
