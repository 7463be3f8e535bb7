import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The loop's spinning: it polls repeatedly for the next request before it sleeps.
@Suite(.ownThread) struct SpinTests {
    /// A poller that returns no event before a given poll, with a clock that advances with every
    /// poll.
    private final class Waits: EventPoller {
        let clock: ManualClock
        /// The next event, and the number of polls until it arrives; during a sleep it arrives at
        /// once.
        var next: (event: Poller.Event, looks: Int)?
        private(set) var timeouts: [Int32] = []

        init(_ clock: ManualClock) { self.clock = clock }

        func add(_ target: Int32, token: UInt64, interest: Interest) {}
        func modify(_ target: Int32, token: UInt64, interest: Interest) {}

        func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) {
            events.removeAll()
            timeouts.append(timeoutMilliseconds)
            clock.advance(byNanoseconds: 100)
            guard let (event, looks) = next else { return }
            if timeoutMilliseconds == 0, looks > 1 {
                next = (event, looks - 1)
                return
            }
            // Sleeping takes longer than any poll.
            if timeoutMilliseconds != 0 { clock.advance(byNanoseconds: 1_000_000) }
            next = nil
            events = [event]
        }

        func drainTimeouts() -> [Int32] {
            defer { timeouts = [] }
            return timeouts
        }
    }

    private struct World {
        let bench: EngineBench
        let client: Peer
        let waits: Waits
        let loop: ServiceLoop

        /// Creates a daemon that spins for up to a thousand nanoseconds, which are ten polls.
        init(cores: Int = 2) throws {
            let clock = ManualClock()
            bench = try EngineBench(engineClock: clock)
            client = try bench.client()
            waits = Waits(clock)
            loop = try ServiceLoop(
                bench.engine, listener: nil, poller: waits,
                spin: SpinPolicy(longestNanoseconds: 1_000, cores: cores))
            _ = bench.engine.reporter.consumeHasAnswered()
        }

        /// Sends a message that arrives after this many polls; returns the loop's waits until it
        /// was handled.
        func pass(_ message: ClientMessage?, after looks: Int) throws -> [Int32] {
            if let message { _ = try client.send(message) }
            let event = Poller.Event(
                token: client.session.id, isReadable: true, isWritable: false, isClosed: false)
            waits.next = message == nil ? nil : (event, looks)
            _ = try loop.pass()
            try client.read()
            return waits.drainTimeouts()
        }
    }

    private let question = ClientMessage.fetch(Fetch(request: FetchDescriptor(entity: "Node")))

    /// Checks that the loop slept at once: one wait, limited or not.
    private func expectAsleep(
        _ waits: [Int32], _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(waits.count == 1 && waits[0] != 0, "\(waits)", sourceLocation: location)
    }

    @Test func `after an answer the loop polls for the next request, and sleeps if none arrives`()
        throws
    {
        let world = try World()
        expectAsleep(try world.pass(question, after: 1))
        // The next request arrives at the fifth poll, and so do the following ones.
        for _ in 0..<3 { #expect(try world.pass(question, after: 5) == [0, 0, 0, 0, 0]) }
        #expect(world.client.received.count == 4)
        // Now nothing arrives while the loop spins: ten polls, then a sleep; the next time it
        // sleeps at once.
        let looks = try world.pass(question, after: 50)
        #expect(looks.prefix(10) == Array(repeating: 0, count: 10)[...])
        #expect(looks.count == 11 && looks.last != 0)
        expectAsleep(try world.pass(question, after: 1))
        #expect(try world.pass(question, after: 5) == [0, 0, 0, 0, 0])
        #expect(world.client.received.count == 7)
    }

    @Test func `a loop that answered nothing sleeps at once, whatever came before`() throws {
        let world = try World()
        expectAsleep(try world.pass(nil, after: 0))
        _ = try world.pass(question, after: 1)
        // After this request the loop polls once for the next one; an idle daemon sleeps.
        _ = try world.pass(nil, after: 0)
        for _ in 0..<3 { expectAsleep(try world.pass(nil, after: 0)) }
        // A save's answer is not immediate, so it causes no spinning.
        let save = ClientMessage.save(
            world.client.saveRequest([try world.bench.bench.insert("Node", 1)]))
        _ = try world.pass(save, after: 1)
        expectAsleep(try world.pass(nil, after: 0))
    }

    @Test func `a save that arrives while the loop spins is handled at once`() throws {
        let world = try World()
        _ = try world.pass(question, after: 1)
        let insert = try world.bench.bench.insert("Node", 1)
        let save = ClientMessage.save(world.client.saveRequest([insert]))
        let before = world.bench.position.number
        #expect(try world.pass(save, after: 2) == [0, 0])
        #expect(world.bench.position.number == before + 1)
        #expect(world.client.received.count == 2)
    }

    @Test func `with one core the loop always sleeps`() throws {
        let world = try World(cores: 1)
        for _ in 0..<3 { expectAsleep(try world.pass(question, after: 1)) }
    }
}
