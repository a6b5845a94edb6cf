// Names for clang's thread-safety analysis (-Wthread-safety), which proves at compile time that what a lock
// guards is touched only while it is held. Other compilers see nothing.
//
// Source: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html. tests/wont_compile shows that it works.
#pragma once

#if defined(__clang__)
#define WEIR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define WEIR_THREAD_ANNOTATION(x)
#endif

// Of a class: a lock; an object that holds one from its constructor to its destructor.
#define WEIR_CAPABILITY(name) WEIR_THREAD_ANNOTATION(capability(name))
#define WEIR_SCOPED_CAPABILITY WEIR_THREAD_ANNOTATION(scoped_lockable)
// Of a member: only the holder touches it.
#define WEIR_GUARDED_BY(lock) WEIR_THREAD_ANNOTATION(guarded_by(lock))
// Of a function: what it does to a lock, or needs of it.
#define WEIR_ACQUIRE(...) WEIR_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define WEIR_TRY_ACQUIRE(...) WEIR_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define WEIR_RELEASE(...) WEIR_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define WEIR_REQUIRES(...) WEIR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// It is held, although the analysis cannot see why: one of several locks that are held by one object.
#define WEIR_ASSERT_HELD(...) WEIR_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
// The inside of such an object.
#define WEIR_NOT_ANALYSED WEIR_THREAD_ANNOTATION(no_thread_safety_analysis)
