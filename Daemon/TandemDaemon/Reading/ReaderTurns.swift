import Synchronization
import TandemIO

/// The order in which reads take turns.
///
/// New and continued reads alternate, so that a new read starts soon and an old one still finishes.
/// Within each kind, the next turn goes to the user served least recently. Among the reads of one
/// user, the oldest one is next, so that they finish one after another instead of all at the end.
struct TurnOrder {
    /// A read that waits for its turn.
    private struct Waiter {
        let ticket: UInt64
        let user: UInt32
        /// The first ticket of the read: older reads have lower ones.
        let age: UInt64
    }

    private var free: Int
    private var (new, continued): ([Waiter], [Waiter]) = ([], [])
    private var wasNew = false
    private var lastTicket: UInt64 = 0
    /// The most recent turn of each user, as a turn number.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    /// Creates an order in which at most `count` reads have a turn at the same time.
    init(turns count: Int) { free = count }

    var isEmpty: Bool { new.isEmpty && continued.isEmpty }

    /// Requests a turn for a read; `age` is the read's first ticket, or nil for a new read.
    ///
    /// Returns a ticket, and whether the read has to wait until ``release()`` returns that ticket.
    mutating func acquire(user: UInt32, age: UInt64? = nil) -> (ticket: UInt64, waits: Bool) {
        precondition(free == 0 || isEmpty, "Reads wait only while all turns are taken.")
        lastTicket += 1
        guard free == 0 else {
            free -= 1
            serve(user)
            return (lastTicket, false)
        }
        let waiter = Waiter(ticket: lastTicket, user: user, age: age ?? lastTicket)
        if age == nil { new.append(waiter) } else { continued.append(waiter) }
        return (lastTicket, true)
    }

    /// Releases a turn; returns the ticket of the read that gets the turn, or nil if no read waits.
    mutating func release() -> UInt64? {
        wasNew = continued.isEmpty || (!new.isEmpty && !wasNew)
        guard let waiter = wasNew ? next(&new) : next(&continued) else {
            free += 1
            return nil
        }
        serve(waiter.user)
        return waiter.ticket
    }

    private mutating func serve(_ user: UInt32) {
        turns += 1
        served[user] = turns
    }

    private func rank(_ waiter: Waiter) -> (UInt64, UInt64) {
        (served[waiter.user] ?? 0, waiter.age)
    }

    private func next(_ waiters: inout [Waiter]) -> Waiter? {
        let next = waiters.indices.min { rank(waiters[$0]) < rank(waiters[$1]) }
        return next.map { waiters.remove(at: $0) }
    }
}

/// A limit on the number of concurrent reads, which blocks the threads of all other reads.
///
/// While reads wait, a turn ends after ``sliceNanoseconds``, so that no read waits for the end of a
/// long one. The limit leaves the daemon's thread its share of the processor.
final class ReaderTurns: Sendable {
    private struct State {
        var order: TurnOrder
        var waiting: [UInt64: WorkQueue<Void>] = [:]
    }

    private let state: Locked<State>
    private let waiters = Atomic<Int>(0)
    private let clock: any Clock

    /// The length of a turn while other reads wait.
    static let sliceNanoseconds: UInt64 = 10_000_000

    init(_ count: Int, _ clock: any Clock = SystemClock()) {
        state = Locked(State(order: TurnOrder(turns: count)))
        self.clock = clock
    }

    /// Blocks until a new read has a turn.
    func acquire(user: UInt32) -> ReaderTurn {
        let ticket = wait(user: user, age: nil)
        return ReaderTurn(self, user: user, age: ticket)
    }

    /// Whether any read waits for a turn.
    var isAwaited: Bool { waiters.load(ordering: .relaxed) > 0 }

    var now: UInt64 { clock.monotonicNanoseconds }

    /// Blocks until a read has a turn; returns its ticket.
    @discardableResult
    fileprivate func wait(user: UInt32, age: UInt64?) -> UInt64 {
        let (ticket, granted) = state.withLock { state -> (UInt64, WorkQueue<Void>?) in
            let (ticket, waits) = state.order.acquire(user: user, age: age)
            guard waits else { return (ticket, nil) }
            let granted = WorkQueue<Void>()
            state.waiting[ticket] = granted
            return (ticket, granted)
        }
        guard let granted else { return ticket }
        waiters.add(1, ordering: .relaxed)
        _ = granted.dequeue()
        waiters.subtract(1, ordering: .relaxed)
        return ticket
    }

    fileprivate func release() {
        let granted: WorkQueue<Void>? = state.withLock { state in
            state.order.release().flatMap { state.waiting.removeValue(forKey: $0) }
        }
        granted?.add(())
    }
}

/// The turn of a read on a thread.
protocol ReadTurn: AnyObject {
    /// The time in nanoseconds, to measure how long reads wait.
    var now: UInt64 { get }

    /// Whether the read is to pass the turn on.
    var isOver: Bool { get }

    /// Passes the turn to another read, and blocks until this read has a turn again.
    func passOn()
}

/// The turn of a read; only the thread that acquired the turn may use and end it.
final class ReaderTurn: ReadTurn {
    private let turns: ReaderTurns
    private let user: UInt32
    private let age: UInt64
    private var began: UInt64

    fileprivate init(_ turns: ReaderTurns, user: UInt32, age: UInt64) {
        (self.turns, self.user, self.age) = (turns, user, age)
        began = turns.now
    }

    /// The time of the turns' clock, in nanoseconds.
    var now: UInt64 { turns.now }

    /// Whether another read is waiting, and this turn has used up its time slice.
    var isOver: Bool { turns.isAwaited && turns.now - began >= ReaderTurns.sliceNanoseconds }

    func passOn() {
        turns.release()
        turns.wait(user: user, age: age)
        began = turns.now
    }

    func end() { turns.release() }
}
