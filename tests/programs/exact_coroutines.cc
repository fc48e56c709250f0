// SPDX-License-Identifier: BSD-3-Clause
/* Coroutines of C++20, counted by the functions that they call. main 1 -> walk 3: each takes the 5 values of a
   generator, whose body calls made 1 before each value, and ended 1 after the last one. main -> stop 2: each destroys a
   generator at its third value: made 3, ended 0. chain 4 waits for link, which calls awaited 1 and resumes chain, which
   calls resumed 1. In all made 21, ended 3, awaited 4, resumed 4, ~Guard 5 (a local object of each generator). */
#include <cstdio>
#include <exception>
#include <utility>
#include "keep.h"

#if __has_include(<coroutine>) && (defined(__cpp_impl_coroutine) || !defined(__clang__))
#include <coroutine>
namespace co = std;
#else
/* clang 14 looks for the library's part of coroutines in std::experimental. */
namespace std
{
namespace experimental
{
template <typename R, typename...> struct coroutine_traits {
    using promise_type = typename R::promise_type;
};
template <typename P = void> struct coroutine_handle;
template <> struct coroutine_handle<void> {
    void *frame = nullptr;
    static coroutine_handle from_address(void *p) noexcept
    {
        coroutine_handle h;
        h.frame = p;
        return h;
    }
    void *address() const noexcept { return frame; }
    void resume() const { __builtin_coro_resume(frame); }
    void operator()() const { resume(); }
    void destroy() const { __builtin_coro_destroy(frame); }
    bool done() const { return __builtin_coro_done(frame); }
};
template <typename P> struct coroutine_handle : coroutine_handle<void> {
    static coroutine_handle from_address(void *p) noexcept
    {
        coroutine_handle h;
        h.frame = p;
        return h;
    }
    static coroutine_handle from_promise(P &p) { return from_address(__builtin_coro_promise(&p, alignof(P), true)); }
    P &promise() const { return *static_cast<P *>(__builtin_coro_promise(frame, alignof(P), false)); }
};
struct suspend_always {
    bool await_ready() const noexcept { return false; }
    void await_suspend(coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
};
} // namespace experimental
} // namespace std
namespace co = std::experimental;
#endif

static volatile int sink;

static KEEP void made(int i) { sink = i + 2; }

static KEEP void ended() { sink = -1; }

static KEEP void awaited(int i) { sink = i + 4; }

static KEEP void resumed(int i) { sink = i + 5; }

struct Guard {
    KEEP ~Guard() { sink = -2; }
};

struct Generator {
    struct promise_type {
        int value = 0;
        Generator get_return_object() { return {co::coroutine_handle<promise_type>::from_promise(*this)}; }
        co::suspend_always initial_suspend() noexcept { return {}; }
        co::suspend_always final_suspend() noexcept { return {}; }
        co::suspend_always yield_value(int v)
        {
            value = v;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    co::coroutine_handle<promise_type> handle;
    bool next()
    {
        handle.resume();
        return !handle.done();
    }
};

static Generator count(int n)
{
    Guard guard;
    for (int i = 0; i < n; i++) {
        made(i);
        co_yield i;
    }
    ended();
}

struct Task {
    struct promise_type {
        co::coroutine_handle<> waiting;
        struct Final {
            bool await_ready() noexcept { return false; }
            co::coroutine_handle<> await_suspend(co::coroutine_handle<promise_type> h) noexcept
            {
                return h.promise().waiting;
            }
            void await_resume() noexcept {}
        };
        Task get_return_object() { return {co::coroutine_handle<promise_type>::from_promise(*this)}; }
        co::suspend_always initial_suspend() noexcept { return {}; }
        Final final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    co::coroutine_handle<promise_type> handle;
    bool await_ready() { return false; }
    co::coroutine_handle<> await_suspend(co::coroutine_handle<> h)
    {
        handle.promise().waiting = h;
        return handle;
    }
    void await_resume() {}
};

struct Detached {
    struct promise_type {
        Detached get_return_object() { return {co::coroutine_handle<promise_type>::from_promise(*this)}; }
        co::suspend_always initial_suspend() noexcept { return {}; }
        co::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    co::coroutine_handle<promise_type> handle;
};

static Task link(int i)
{
    awaited(i);
    co_return;
}

static Detached chain(int i)
{
    Task task = link(i);
    co_await task;
    resumed(i);
    task.handle.destroy();
}

static KEEP int walk(int n)
{
    int total = 0;
    Generator generator = count(n);
    while (generator.next()) total += generator.handle.promise().value;
    generator.handle.destroy();
    return total;
}

static KEEP int stop(int most)
{
    int total = 0;
    Generator generator = count(10);
    while (generator.next() && generator.handle.promise().value < most) total++;
    generator.handle.destroy();
    return total;
}

int main()
{
    int total = 0;
    for (int i = 0; i < 3; i++) total += walk(5);
    for (int i = 0; i < 2; i++) total += stop(2);
    for (int i = 0; i < 4; i++) {
        Detached detached = chain(i);
        detached.handle.resume();
        detached.handle.destroy();
    }
    std::printf("%d\n", total);
    return total != 34;
}
