public import Tandem
import TandemIO
public import TandemModel
import TandemWire

/// A way to a daemon that a test drives by hand: it decides what becomes of saves, what is heard, and when a connection is cut.
///
/// Everything that passes is the real daemon's word, so that a script can hold it back, lose or refuse it, but never tell a
/// client what no daemon would. What others do, do by another container of the same daemon.
///
///     let daemon = try EmbeddedDaemon(.inMemory())
///     let script = ScriptedTransport(daemon.transport)
///     let container = PersistentContainer(model: model, transport: script.transport)
///     script.next(.lost)          // the save happens, its answer gets lost
///     try context.save()          // … and is asked for again, under the save's id
///
/// Any thread may call it.
public final class ScriptedTransport: Sendable {
    /// What becomes of a save, or of a part of a batch insert.
    public enum Fate: Sendable {
        /// It is carried out and answered.
        case answered
        /// It is carried out; instead of the answer the connection is cut.
        case lost
        /// The connection is cut before the daemon hears of it.
        case cut
        /// The daemon never hears of it; the client is told this.
        case refused(TandemError)
    }

    private struct State {
        var fates: [Fate] = []
        var saves = 0
        var questions = 0
        var isAway = false
        var lines: [ScriptedLine] = []
        var isHolding = false
    }

    private let base: Transport
    private let state = Locked(State())

    /// A script that lets everything pass until it is told something else.
    public init(_ transport: Transport) { base = transport }

    /// What the container is given.
    public var transport: Transport { .connected { [self] in try connect() } }

    /// Sets what becomes of the next saves, one after another; those that follow are answered.
    public func next(_ fates: Fate...) { state.withLock { $0.fates += fates } }

    /// How many saves and parts of batch inserts came by, their repetitions too.
    public var saves: Int { state.withLock { $0.saves } }

    /// How many questions came by that do nothing else: fetches, reads, waits for a position; their repetitions too.
    ///
    /// So the round trips of what reads are counted.
    public var questions: Int { state.withLock { $0.questions } }

    /// Cuts all connections; clients connect anew.
    public func cut() {
        let lines = state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
        for line in lines { line.end() }
    }

    /// Cuts all connections and refuses others, until ``comeBack()``.
    public func goAway() {
        state.withLock { $0.isAway = true }
        cut()
    }

    /// Takes connections again.
    public func comeBack() { state.withLock { $0.isAway = false } }

    /// Holds back whatever the daemon says, pushes and answers alike, in its order; who blocks meanwhile waits.
    public func hold() {
        let lines = state.withLock { state in
            state.isHolding = true
            return state.lines
        }
        for line in lines { line.hold() }
    }

    /// Hands out what was held back.
    public func release() {
        let lines = state.withLock { state in
            state.isHolding = false
            return state.lines
        }
        for line in lines { line.release() }
    }

    private func connect() throws -> Socket {
        let daemon = try base.connect()
        let (near, far) = try Socket.pair()
        let line = ScriptedLine(
            client: far, daemon: daemon, fate: { [self] in fate() },
            noteQuestion: { [self] in state.withLock { $0.questions += 1 } })
        let isHolding = try state.withLock { state in
            if state.isAway {
                throw TandemError(.disconnected, "the script lets nobody through")
            }
            state.lines.removeAll { $0.isOver }
            state.lines.append(line)
            return state.isHolding
        }
        if isHolding { line.hold() }
        try line.start()
        return near
    }

    private func fate() -> Fate {
        state.withLock { state in
            state.saves += 1
            return state.fates.isEmpty ? .answered : state.fates.removeFirst()
        }
    }
}
