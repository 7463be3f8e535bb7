import TandemIO
import Testing

@testable import TandemDaemon

/// A poller that returns the events of the test's script, then none; it never waits.
final class ScriptedPoller: EventPoller {
    var rounds: [() throws -> [Poller.Event]] = []
    /// The interest requested last, by token.
    private(set) var interests: [UInt64: Interest] = [:]

    func readable(_ peer: Peer) -> Poller.Event {
        Poller.Event(
            token: peer.session.id, isReadable: true, isWritable: false, isClosed: false)
    }

    func writable(_ peer: Peer) -> Poller.Event {
        Poller.Event(
            token: peer.session.id, isReadable: false, isWritable: true, isClosed: false)
    }

    func add(_ target: Int32, token: UInt64, interest: Interest) throws(IOError) {
        interests[token] = interest
    }

    func modify(_ target: Int32, token: UInt64, interest: Interest) throws(IOError) {
        interests[token] = interest
    }

    func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) throws(IOError) {
        events.removeAll()
        guard !rounds.isEmpty else { return }
        let round = rounds.removeFirst()
        do {
            events = try round()
        } catch {
            Issue.record("\(error)")
        }
    }
}
