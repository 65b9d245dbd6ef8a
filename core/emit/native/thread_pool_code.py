"""The threads that run the chunks of parallel loops: one pool for the process, written in LLVM assembly.

    i32 @parallel.run(ptr %body, ptr %environment, i64 %count, i64 %chunks, i64 %gap, ptr %context, i64 %threads)

calls ``i32 %body(ptr %environment, i64 %low, i64 %high, i64 %slot, ptr %context)`` for ``%chunks`` ranges that cover
0 ... count - 1. The calling thread takes part, and with ``%threads`` - 1 workers takes one chunk after the other. Bounds of
chunks do not depend on timing. Chunk k has slot 2k; if there is a gap, the last ``gap`` iterations of each chunk but the
last wait until all chunks are done, then run as slot 2k + 1.

Every chunk has a context of its own (``program_text``). The error of the lowest slot becomes the program's, as if the
iterations had run in order; chunks above it are left out or stop where they look for signals. The memory of a chunk's
stacks moves to the program's list.

Only one loop at a time uses the workers. A loop that finds them busy, because it is nested or because another thread of
Python runs one, runs all chunks in its own thread, with the same result. A caller waits only for workers that have joined
its loop, so a process that has lost them by ``fork`` goes on alone; ``os.register_at_fork`` then starts a new pool.
"""

from __future__ import annotations

import platform
import sys

from .interrupts import BUDGET, SIGNALLED
from .processor_stack import DEEPEST
from .program_text import ProgramText

_STACK = 4 * DEEPEST  # bytes of a worker's stack
_SPINS = 4000  # looks at a variable before a thread sleeps, some 50 microseconds
_FAR = 1 << 62

IS_LINUX, IS_MACOS = sys.platform.startswith("linux"), sys.platform == "darwin"

# Words of a loop that is being run, on the stack of the calling thread.
_BODY, _ENVIRONMENT, _COUNT, _CHUNKS, _GAP, _CONTEXT, _NEXT = range(7)
_FAILED = ProgramText.FAILED
_PHASE, _JOINED, _WANTED, _ERROR = range(8, 12)
_ERROR_WORDS = ProgramText.LENGTHS
_WORDS = _ERROR + _ERROR_WORDS

# Words of the pool.
_MUTEX, _WORK, _DONE, _GENERATION, _LOOP, _ACTIVE, _STARTED, _BUSY = 0, 16, 32, 48, 49, 50, 51, 52
_POOL_WORDS = 64

_TEXT = """
@pool = global [POOL_WORDS x i64] zeroinitializer, align 64

; Start with no workers. Called once, and in the child after a fork.
define void @parallel.reset() nounwind {
  call void @llvm.memset.p0.i64(ptr @pool, i8 0, i64 POOL_BYTES, i1 false)
  %1 = call i32 @pthread_mutex_init(ptr MUTEX, ptr null)
  %2 = call i32 @pthread_cond_init(ptr WORK, ptr null)
  %3 = call i32 @pthread_cond_init(ptr DONE, ptr null)
  ret void
}

; Wait for some time until the word at %place is not %old, without sleeping.
define internal void @spin(ptr %place, i64 %old) nounwind {
start:
  br label %look
look:
  %i = phi i64 [ 0, %start ], [ %next, %again ]
  %now = load atomic i64, ptr %place acquire, align 8
  %same = icmp eq i64 %now, %old
  br i1 %same, label %again, label %end
again:
  PAUSE
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, SPINS
  br i1 %more, label %look, label %end
end:
  ret void
}

; Run chunks of a loop until none is left.
define internal void @chunks(ptr %loop, i64 %limit) nounwind {
start:
  %context = alloca [LENGTHS x i64], align 16
  %count = load i64, ptr LOOP(COUNT)
  %number = load i64, ptr LOOP(CHUNKS)
  %gap = load i64, ptr LOOP(GAP)
  %phase = load i64, ptr LOOP(PHASE)
  %body = load ptr, ptr LOOP(BODY)
  %environment = load ptr, ptr LOOP(ENVIRONMENT)
  %ofgaps = sub i64 %number, %phase
  br label %take
take:
  %k = atomicrmw add ptr LOOP(NEXT), i64 1 seq_cst
  %some = icmp slt i64 %k, %ofgaps
  br i1 %some, label %look, label %end
look:
  %twice = mul i64 %k, 2
  %slot = add i64 %twice, %phase
  %failed = load atomic i64, ptr LOOP(FAILED) monotonic, align 8
  %matters = icmp slt i64 %slot, %failed
  br i1 %matters, label %prepare, label %end
prepare:
  %p = mul i64 %count, %k
  %first = sdiv i64 %p, %number
  %p2 = add i64 %p, %count
  %stop = sdiv i64 %p2, %number
  %kk = add i64 %k, 1
  %islast = icmp eq i64 %kk, %number
  %rest = select i1 %islast, i64 0, i64 %gap
  %middle = sub i64 %stop, %rest
  %isgap = icmp ne i64 %phase, 0
  %low = select i1 %isgap, i64 %middle, i64 %first
  %high = select i1 %isgap, i64 %stop, i64 %middle
  call void @llvm.memset.p0.i64(ptr %context, i8 0, i64 HEADER_BYTES, i1 false)
  store i64 %limit, ptr WORD(LIMIT)
  store i64 BUDGET, ptr WORD(WORKLEFT)
  store ptr %loop, ptr WORD(LOOPWORD)
  store i64 %slot, ptr WORD(SLOTWORD)
  %status = call i32 %body(ptr %environment, i64 %low, i64 %high, i64 %slot, ptr %context)
  %bad = icmp ne i32 %status, 0
  %stacks = load ptr, ptr WORD(STACKS)
  %has = icmp ne ptr %stacks, null
  %report = or i1 %bad, %has
  br i1 %report, label %tell, label %take
tell:
  call void @report(ptr %loop, ptr %context, i64 %slot, i1 %bad)
  br label %take
end:
  ret void
}

; Give what a chunk has left to the loop: the blocks of its stacks, and its error if none of a lower slot is there.
define internal void @report(ptr %loop, ptr %context, i64 %slot, i1 %bad) noinline cold nounwind {
start:
  %1 = call i32 @pthread_mutex_lock(ptr MUTEX)
  %stacks = load ptr, ptr WORD(STACKS)
  %has = icmp ne ptr %stacks, null
  br i1 %has, label %walk, label %error
walk:
  %block = phi ptr [ %stacks, %start ], [ %next, %walk ]
  %next = load ptr, ptr %block
  %islast = icmp eq ptr %next, null
  br i1 %islast, label %join, label %walk
join:
  %parent = load ptr, ptr LOOP(CONTEXT)
  %head = getelementptr i64, ptr %parent, i64 STACKS_WORD
  %before = load ptr, ptr %head
  store ptr %stacks, ptr %head
  store ptr %before, ptr %block
  %any = icmp ne ptr %before, null
  br i1 %any, label %link, label %error
link:
  %back = getelementptr ptr, ptr %before, i64 1
  store ptr %block, ptr %back
  br label %error
error:
  br i1 %bad, label %compare, label %end
compare:
  %number = load i64, ptr %context
  %issignal = icmp eq i64 %number, SIGNALLED
  %rank = select i1 %issignal, i64 -1, i64 %slot
  %failed = load i64, ptr LOOP(FAILED)
  %lower = icmp slt i64 %rank, %failed
  br i1 %lower, label %note, label %end
note:
  store atomic i64 %rank, ptr LOOP(FAILED) monotonic, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr LOOP(ERROR), ptr %context, i64 ERROR_BYTES, i1 false)
  br label %end
end:
  %2 = call i32 @pthread_mutex_unlock(ptr MUTEX)
  ret void
}

define internal ptr @worker(ptr %seen0) nounwind {
start:
  %here = call ptr @llvm.frameaddress.p0(i32 0)
  %address = ptrtoint ptr %here to i64
  %limit = sub i64 %address, DEEPEST
  %first = ptrtoint ptr %seen0 to i64
  br label %rest
rest:
  %seen = phi i64 [ %first, %start ], [ %now, %leave ]
  call void @spin(ptr GENERATION, i64 %seen)
  %1 = call i32 @pthread_mutex_lock(ptr MUTEX)
  br label %check
check:
  %now = load i64, ptr GENERATION
  %same = icmp eq i64 %now, %seen
  br i1 %same, label %sleep, label %awake
sleep:
  %2 = call i32 @pthread_cond_wait(ptr WORK, ptr MUTEX)
  br label %check
awake:
  %loop = load ptr, ptr CURRENT
  %gone = icmp eq ptr %loop, null
  br i1 %gone, label %leave, label %ask
ask:
  %joined = load i64, ptr LOOP(JOINED)
  %wanted = load i64, ptr LOOP(WANTED)
  %room = icmp slt i64 %joined, %wanted
  br i1 %room, label %join, label %leave
join:
  %more = add i64 %joined, 1
  store i64 %more, ptr LOOP(JOINED)
  %a = load i64, ptr ACTIVE
  %a1 = add i64 %a, 1
  store atomic i64 %a1, ptr ACTIVE release, align 8
  %3 = call i32 @pthread_mutex_unlock(ptr MUTEX)
  call void @chunks(ptr %loop, i64 %limit)
  %4 = call i32 @pthread_mutex_lock(ptr MUTEX)
  %b = load i64, ptr ACTIVE
  %b1 = sub i64 %b, 1
  store atomic i64 %b1, ptr ACTIVE release, align 8
  %5 = call i32 @pthread_cond_signal(ptr DONE)
  br label %leave
leave:
  %6 = call i32 @pthread_mutex_unlock(ptr MUTEX)
  br label %rest
}

; Start workers until there are %wanted. They get no signals: those go to threads of Python.
define internal void @hire(i64 %wanted) noinline cold nounwind {
start:
  %attributes = alloca [128 x i8], align 16
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %thread = alloca ptr
  %1 = call i32 @sigfillset(ptr %all)
  %2 = call i32 @pthread_sigmask(i32 SETMASK, ptr %all, ptr %old)
  %3 = call i32 @pthread_attr_init(ptr %attributes)
  %4 = call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 DETACHED)
  %5 = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACKSIZE)
  %seen = load i64, ptr GENERATION
  %argument = inttoptr i64 %seen to ptr
  br label %look
look:
  %n = load i64, ptr STARTED
  %enough = icmp sge i64 %n, %wanted
  br i1 %enough, label %end, label %make
make:
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr %argument)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %made, label %end
made:
  %n1 = add i64 %n, 1
  store i64 %n1, ptr STARTED
  br label %look
end:
  %6 = call i32 @pthread_attr_destroy(ptr %attributes)
  %7 = call i32 @pthread_sigmask(i32 SETMASK, ptr %old, ptr null)
  ret void
}

; Run the chunks, or their gaps, with the workers if %shared.
define internal void @phase(ptr %loop, i64 %number, i64 %limit, i1 %shared) nounwind {
start:
  %deadline = alloca [2 x i64], align 16
  %own = alloca [LENGTHS x i64], align 16
  store i64 %number, ptr LOOP(PHASE)
  store i64 0, ptr LOOP(NEXT)
  store i64 0, ptr LOOP(JOINED)
  br i1 %shared, label %publish, label %alone
alone:
  call void @chunks(ptr %loop, i64 %limit)
  ret void
publish:
  %1 = call i32 @pthread_mutex_lock(ptr MUTEX)
  store ptr %loop, ptr CURRENT
  %g = load i64, ptr GENERATION
  %g1 = add i64 %g, 1
  store atomic i64 %g1, ptr GENERATION release, align 8
  %2 = call i32 @pthread_cond_broadcast(ptr WORK)
  %3 = call i32 @pthread_mutex_unlock(ptr MUTEX)
  call void @chunks(ptr %loop, i64 %limit)
  %4 = call i32 @pthread_mutex_lock(ptr MUTEX)
  store ptr null, ptr CURRENT
  %5 = call i32 @pthread_mutex_unlock(ptr MUTEX)
  br label %watch
watch:
  %active = load atomic i64, ptr ACTIVE acquire, align 8
  %idle = icmp eq i64 %active, 0
  br i1 %idle, label %done, label %wait
wait:
  call void @spin(ptr ACTIVE, i64 %active)
  %6 = call i32 @clock_gettime(i32 0, ptr %deadline)
  %seconds = load i64, ptr %deadline
  %nanoat = getelementptr i64, ptr %deadline, i64 1
  %nano = load i64, ptr %nanoat
  %later = add i64 %nano, 50000000
  %over = icmp sge i64 %later, 1000000000
  %s1 = zext i1 %over to i64
  %seconds1 = add i64 %seconds, %s1
  %reduced = sub i64 %later, 1000000000
  %nano1 = select i1 %over, i64 %reduced, i64 %later
  store i64 %seconds1, ptr %deadline
  store i64 %nano1, ptr %nanoat
  %7 = call i32 @pthread_mutex_lock(ptr MUTEX)
  %still = load i64, ptr ACTIVE
  %unchanged = icmp eq i64 %still, %active
  br i1 %unchanged, label %sleep, label %unlock
sleep:
  %8 = call i32 @pthread_cond_timedwait(ptr DONE, ptr MUTEX, ptr %deadline)
  br label %unlock
unlock:
  %slept = phi i32 [ 0, %wait ], [ %8, %sleep ]
  %9 = call i32 @pthread_mutex_unlock(ptr MUTEX)
  %late = icmp ne i32 %slept, 0
  br i1 %late, label %poll, label %watch
poll:
  %before = load atomic i64, ptr LOOP(FAILED) monotonic, align 8
  %stopping = icmp eq i64 %before, -1
  br i1 %stopping, label %watch, label %signals
signals:
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 HEADER_BYTES, i1 false)
  %status = call i32 @signalled(ptr %own)
  %raised = icmp ne i32 %status, 0
  br i1 %raised, label %stop, label %watch
stop:
  call void @report(ptr %loop, ptr %own, i64 0, i1 true)
  br label %watch
done:
  ret void
}

define i32 @parallel.run(ptr %body, ptr %environment, i64 %count, i64 %chunks, i64 %gap, ptr %context, i64 %threads) nounwind {
start:
  %loop = alloca [LOOP_WORDS x i64], align 16
  store ptr %body, ptr LOOP(BODY)
  store ptr %environment, ptr LOOP(ENVIRONMENT)
  store i64 %count, ptr LOOP(COUNT)
  store i64 %chunks, ptr LOOP(CHUNKS)
  store i64 %gap, ptr LOOP(GAP)
  store ptr %context, ptr LOOP(CONTEXT)
  store i64 FAR, ptr LOOP(FAILED)
  %others = sub i64 %threads, 1
  %most = sub i64 %chunks, 1
  %wanted = call i64 @llvm.smin.i64(i64 %others, i64 %most)
  store i64 %wanted, ptr LOOP(WANTED)
  %limit = load i64, ptr WORD(LIMIT)
  %any = icmp sgt i64 %wanted, 0
  br i1 %any, label %ask, label %run
ask:
  %pair = cmpxchg ptr BUSY, i64 0, i64 1 seq_cst seq_cst
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %staff, label %run
staff:
  %n = load i64, ptr STARTED
  %few = icmp slt i64 %n, %wanted
  br i1 %few, label %more, label %run
more:
  call void @hire(i64 %wanted)
  br label %run
run:
  %shared = phi i1 [ false, %start ], [ false, %ask ], [ true, %staff ], [ true, %more ]
  call void @phase(ptr %loop, i64 0, i64 %limit, i1 %shared)
  %hasgaps = icmp sgt i64 %gap, 0
  br i1 %hasgaps, label %gaps, label %close
gaps:
  call void @phase(ptr %loop, i64 1, i64 %limit, i1 %shared)
  br label %close
close:
  br i1 %shared, label %free, label %result
free:
  store atomic i64 0, ptr BUSY release, align 8
  br label %result
result:
  %failed = load i64, ptr LOOP(FAILED)
  %bad = icmp ne i64 %failed, FAR
  br i1 %bad, label %error, label %good
error:
  %number = load i64, ptr LOOP(ERROR)
  store i64 %number, ptr %context
  %from = getelementptr i64, ptr LOOP(ERROR), i64 VALUES
  %to = getelementptr i64, ptr %context, i64 VALUES
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 VALUE_BYTES, i1 false)
  ret i32 1
good:
  ret i32 0
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
declare i64 @llvm.smin.i64(i64, i64)
declare ptr @llvm.frameaddress.p0(i32)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @clock_gettime(i32, ptr)
"""


def text_of_pool() -> str:
    """Return the text of the pool's module, with the numbers of words in place of their names."""
    text = _TEXT
    loop = dict(
        BODY=_BODY,
        ENVIRONMENT=_ENVIRONMENT,
        COUNT=_COUNT,
        CHUNKS=_CHUNKS,
        GAP=_GAP,
        CONTEXT=_CONTEXT,
        NEXT=_NEXT,
        FAILED=_FAILED,
        PHASE=_PHASE,
        JOINED=_JOINED,
        WANTED=_WANTED,
        ERROR=_ERROR,
    )
    context = dict(
        LIMIT=ProgramText.LIMIT,
        WORKLEFT=ProgramText.WORK,
        LOOPWORD=ProgramText.LOOP,
        SLOTWORD=ProgramText.SLOT,
        STACKS=ProgramText.STACKS,
    )
    lines, count = [], 0
    for line in text.splitlines():
        for mark, base, words in (("LOOP", "%loop", loop), ("WORD", "%context", context)):
            for name, at in words.items():
                if f"{mark}({name})" in line:
                    count += 1
                    lines.append(f"  %at{count} = getelementptr i64, ptr {base}, i64 {at}")
                    line = line.replace(f"{mark}({name})", f"%at{count}")
        lines.append(line)
    text = "\n".join(lines)
    pool = dict(
        MUTEX=_MUTEX, WORK=_WORK, DONE=_DONE, GENERATION=_GENERATION, CURRENT=_LOOP, ACTIVE=_ACTIVE, STARTED=_STARTED
    )
    for name, at in {**pool, "BUSY": _BUSY}.items():
        text = text.replace(f"ptr {name}", f"ptr getelementptr (i64, ptr @pool, i64 {at})")
    pauses = {"x86_64": "pause", "AMD64": "pause", "aarch64": "yield", "arm64": "yield"}
    pause = pauses.get(platform.machine())
    numbers = dict(
        PAUSE=f'call void asm sideeffect "{pause}", ""()' if pause else "",
        POOL_WORDS=_POOL_WORDS,
        POOL_BYTES=8 * _POOL_WORDS,
        LOOP_WORDS=_WORDS,
        SPINS=_SPINS,
        LENGTHS=ProgramText.LENGTHS,
        HEADER_BYTES=8 * ProgramText.VALUES,
        ERROR_BYTES=8 * _ERROR_WORDS,
        VALUE_BYTES=16 * ProgramText.MOST_VALUES,
        VALUES=ProgramText.VALUES,
        STACKS_WORD=ProgramText.STACKS,
        BUDGET=BUDGET,
        DEEPEST=DEEPEST,
        STACKSIZE=_STACK,
        SIGNALLED=SIGNALLED,
        FAR=_FAR,
        SETMASK=2 if IS_LINUX else 3,
        DETACHED=1 if IS_LINUX else 2,
    )
    for name in sorted(numbers, key=len, reverse=True):
        text = text.replace(name, str(numbers[name]))
    return text
