#include "server/takeover_word.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace weir::inline v0_1::server {
namespace {

void require(bool done, const char* what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

TakeoverWord::TakeoverWord() : descriptor_(memfd_create("takeover", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  require(static_cast<bool>(descriptor_), "memfd_create");
  require(ftruncate(descriptor_.get(), sizeof(Word)) == 0, "ftruncate");
  // Nobody makes it shorter: what is mapped stays there.
  require(fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0, "F_ADD_SEALS");
  map();
}

TakeoverWord::TakeoverWord(net::OwnedDescriptor descriptor) : descriptor_(std::move(descriptor)) {
  const int seals = fcntl(descriptor_.get(), F_GET_SEALS);
  require(seals >= 0, "F_GET_SEALS");
  const bool is_long = lseek(descriptor_.get(), 0, SEEK_END) >= static_cast<off_t>(sizeof(Word));
  if ((seals & F_SEAL_SHRINK) == 0 || !is_long) errno = EINVAL;
  require((seals & F_SEAL_SHRINK) != 0 && is_long, "the word of a takeover");
  map();
}

void TakeoverWord::map() {
  void* const mapped = mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  require(mapped != MAP_FAILED, "mmap");
  word_ = static_cast<Word*>(mapped);  // it is all zeros: unsaid
}

TakeoverWord::~TakeoverWord() { munmap(word_, sizeof(Word)); }

bool TakeoverWord::say(std::uint32_t what) {
  std::uint32_t said = kUnsaid;
  return word_->compare_exchange_strong(said, what) || said == what;
}

}  // namespace weir::server
