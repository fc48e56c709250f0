# SPDX-License-Identifier: BSD-3-Clause
"""A program that profiles itself in many ways. In each way it calls a function of that way's name 100 times before,
100 times while its profiler runs, and 100 times after. Arguments: the ways; none: all that vtrace records beside."""

import _thread
import cProfile
import pstats
import sys
import threading
import types


def hundred(work):
    for _ in range(100):
        work()


def told(work, seen):
    """A profile function."""

    def profile(frame, event, argument):
        if frame.f_code is work.__code__:
            seen.append(event)

    return profile


def setprofile(work):
    seen = []
    sys.setprofile(told(work, seen))
    hundred(work)
    sys.setprofile(None)
    print(len(seen), sys.getprofile())


def saved(work):
    old = sys.getprofile()
    sys.setprofile(lambda *_: None)
    hundred(work)
    sys.setprofile(old)
    print("before:", old)


def all_events(work):
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append((frame.f_code.co_name, event, str(argument)[:20])))
    hundred(work)
    sys.setprofile(None)
    print(len(seen), seen[:3], seen[-3:])


def raises(work):
    def profile(frame, event, argument):
        if frame.f_code is work.__code__:
            raise KeyError(event)

    sys.setprofile(profile)
    try:
        work()
    except KeyError as error:
        print(error, sys.getprofile())
    hundred(types.FunctionType(work.__code__, globals()))


def threads(work):
    seen = []
    threading.setprofile(told(work, seen))
    thread = threading.Thread(target=lambda: hundred(work))
    thread.start()
    thread.join()
    threading.setprofile(None)
    print(len(seen))


def raw_threads(work):
    done = _thread.allocate_lock()
    done.acquire()

    def run(lock, times=2):
        print(sys.getprofile(), times)
        hundred(work)
        lock.release()

    _thread.start_new_thread(run, (done,), {"times": 3})
    done.acquire()


def c_profile(work):
    profile = cProfile.Profile()
    profile.enable()
    hundred(work)
    profile.disable()
    calls = [row[0] for key, row in pstats.Stats(profile).stats.items() if key[2] == work.__name__]
    print(calls, sys.getprofile())


def settrace(work):
    seen = []
    sys.settrace(lambda frame, event, argument: seen.append(event) if frame.f_code is work.__code__ else None)
    hundred(work)
    sys.settrace(None)
    print(len(seen))


def c_profile_in_a_thread(work):
    thread = threading.Thread(target=c_profile, args=(work,))
    thread.start()
    thread.join()


def asks_for_tools(work):
    """Takes five of six tools of sys.monitoring."""
    for tool in range(1, 6):
        sys.monitoring.use_tool_id(tool, "program")
    seen = []
    sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, lambda code, _: seen.append(code.co_name))
    sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
    hundred(work)
    sys.monitoring.set_events(3, 0)
    print(seen.count(work.__name__))
    for tool in range(1, 6):
        sys.monitoring.free_tool_id(tool)


def asks_for_all_tools(work):
    for tool in range(6):
        sys.monitoring.use_tool_id(tool, "program")
    print([sys.monitoring.get_tool(tool) for tool in range(6)])


beside = [setprofile, saved, all_events, raises, threads, raw_threads, c_profile, settrace]
if hasattr(sys, "monitoring"):
    beside += [c_profile_in_a_thread, asks_for_tools]
for way in [globals()[name] for name in sys.argv[1:]] or beside:
    names = {}
    exec(compile(f"def call_{way.__name__}(): pass", __file__, "exec"), globals(), names)
    (function,) = names.values()
    print(way.__name__)
    hundred(function)
    way(function)
    hundred(function)
