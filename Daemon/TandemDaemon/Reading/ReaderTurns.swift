import Synchronization
import TandemIO

/// Which reads have a turn, and whose is the next.
///
/// A read that has not had one yet and one that goes on have it alternately, so that a new read soon begins and an old one still
/// ends. Among reads of one kind it is the user's whose last turn is longest ago, and among those of one user the oldest: so
/// they end one after the other instead of all at last.
struct TurnOrder {
    /// A read that waits for its turn.
    private struct Waiter {
        let ticket: UInt64
        let user: UInt32
        /// Its place among all reads, by their first ticket.
        let age: UInt64
    }

    private var free: Int
    private var (new, begun): ([Waiter], [Waiter]) = ([], [])
    private var wasNew = false
    private var lastTicket: UInt64 = 0
    /// When users had their last turn, counted in turns.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    /// So many reads at a time.
    init(turns count: Int) { free = count }

    var isEmpty: Bool { new.isEmpty && begun.isEmpty }

    /// Takes a turn for a read, which is new or has an age from when it was.
    ///
    /// Returns the read's ticket, and whether it has to wait until ``giveBack()`` returns it.
    mutating func take(user: UInt32, age: UInt64? = nil) -> (ticket: UInt64, waits: Bool) {
        precondition(free == 0 || isEmpty, "Reads wait only for turns that are taken.")
        lastTicket += 1
        guard free == 0 else {
            free -= 1
            serve(user)
            return (lastTicket, false)
        }
        let waiter = Waiter(ticket: lastTicket, user: user, age: age ?? lastTicket)
        if age == nil { new.append(waiter) } else { begun.append(waiter) }
        return (lastTicket, true)
    }

    /// Gives a turn back; returns the ticket of the read that has it now, if any waits.
    mutating func giveBack() -> UInt64? {
        wasNew = begun.isEmpty || (!new.isEmpty && !wasNew)
        guard let waiter = wasNew ? next(&new) : next(&begun) else {
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

/// Lets as many reads go on at a time as there are turns; the threads of the others wait.
///
/// So a read that takes long holds up the next one for ``sliceNanoseconds`` at most, and no more threads compete for the processor
/// than are wanted.
final class ReaderTurns: Sendable {
    private struct State {
        var order: TurnOrder
        var waiting: [UInt64: WorkQueue<Void>] = [:]
    }

    private let state: Locked<State>
    private let waiters = Atomic<Int>(0)
    private let clock: any Clock

    /// A read has its turn for so long before others that wait.
    static let sliceNanoseconds: UInt64 = 10_000_000

    init(_ count: Int, _ clock: any Clock = SystemClock()) {
        state = Locked(State(order: TurnOrder(turns: count)))
        self.clock = clock
    }

    /// Waits for a turn for a new read.
    func take(user: UInt32) -> ReaderTurn {
        let ticket = wait(user: user, age: nil)
        return ReaderTurn(self, user: user, age: ticket)
    }

    /// Whether any read waits for a turn.
    var isAwaited: Bool { waiters.load(ordering: .relaxed) > 0 }

    var now: UInt64 { clock.monotonicNanoseconds }

    /// Waits for a turn; returns the ticket.
    @discardableResult
    fileprivate func wait(user: UInt32, age: UInt64?) -> UInt64 {
        let granted = WorkQueue<Void>()
        let (ticket, waits) = state.withLock { state in
            let (ticket, waits) = state.order.take(user: user, age: age)
            if waits { state.waiting[ticket] = granted }
            return (ticket, waits)
        }
        guard waits else { return ticket }
        waiters.add(1, ordering: .relaxed)
        _ = granted.take()
        waiters.subtract(1, ordering: .relaxed)
        return ticket
    }

    fileprivate func giveBack() {
        let granted: WorkQueue<Void>? = state.withLock { state in
            state.order.giveBack().flatMap { state.waiting.removeValue(forKey: $0) }
        }
        granted?.add(())
    }
}

/// A read's turn; bound to the thread that took it, which ends it.
final class ReaderTurn {
    private let turns: ReaderTurns
    private let user: UInt32
    private let age: UInt64
    private var began: UInt64

    fileprivate init(_ turns: ReaderTurns, user: UInt32, age: UInt64) {
        (self.turns, self.user, self.age) = (turns, user, age)
        began = turns.now
    }

    /// The time by the clock of the turns, in nanoseconds.
    var now: UInt64 { turns.now }

    /// Whether another read waits, and this one had its time.
    var isOver: Bool { turns.isAwaited && turns.now - began >= ReaderTurns.sliceNanoseconds }

    /// Lets a read that waits go first; returns when it is this one's turn again.
    func passOn() {
        turns.giveBack()
        turns.wait(user: user, age: age)
        began = turns.now
    }

    func end() { turns.giveBack() }
}
