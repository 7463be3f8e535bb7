import Synchronization
import TandemIO

/// Which reads have a turn, and whose is the next.
///
/// A read that has not had one yet and one that goes on have it alternately, so that a new read soon begins and an old one still
/// ends. Among reads of one kind it is the user's whose last turn is longest ago.
struct TurnOrder {
    /// A read that waits for its turn.
    private struct Waiter {
        let ticket: UInt64
        let user: UInt32
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

    /// Takes a turn for a read; nil if there is one, else the ticket of the read, which has to wait.
    mutating func take(user: UInt32, isNew: Bool) -> UInt64? {
        precondition(free == 0 || isEmpty, "Reads wait only for turns that are taken.")
        guard free == 0 else {
            free -= 1
            serve(user)
            return nil
        }
        lastTicket += 1
        let waiter = Waiter(ticket: lastTicket, user: user)
        if isNew { new.append(waiter) } else { begun.append(waiter) }
        return lastTicket
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

    private func next(_ waiters: inout [Waiter]) -> Waiter? {
        let next = waiters.indices.min {
            (served[waiters[$0].user] ?? 0) < (served[waiters[$1].user] ?? 0)
        }
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

    /// Waits for a turn.
    func take(user: UInt32, isNew: Bool = true) -> ReaderTurn {
        wait(user: user, isNew: isNew)
        return ReaderTurn(self, user: user)
    }

    /// Whether any read waits for a turn.
    var isAwaited: Bool { waiters.load(ordering: .relaxed) > 0 }

    var now: UInt64 { clock.monotonicNanoseconds }

    fileprivate func wait(user: UInt32, isNew: Bool) {
        let granted: WorkQueue<Void>? = state.withLock { state in
            guard let ticket = state.order.take(user: user, isNew: isNew) else { return nil }
            let granted = WorkQueue<Void>()
            state.waiting[ticket] = granted
            return granted
        }
        guard let granted else { return }
        waiters.add(1, ordering: .relaxed)
        _ = granted.take()
        waiters.subtract(1, ordering: .relaxed)
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
    private var began: UInt64

    fileprivate init(_ turns: ReaderTurns, user: UInt32) {
        (self.turns, self.user) = (turns, user)
        began = turns.now
    }

    /// Lets a read that waits go first, if this one had its time; returns when it is its turn again.
    func passOn() {
        guard turns.isAwaited, turns.now - began >= ReaderTurns.sliceNanoseconds else { return }
        turns.giveBack()
        turns.wait(user: user, isNew: false)
        began = turns.now
    }

    func end() { turns.giveBack() }
}
