import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The order in which reads run, and the number of reads that run at a time.
@Suite(.ownThread) struct ReaderTurnsTests {
    @Test func `turns are given to waiting reads, new and old ones alternately`() {
        var order = TurnOrder(turns: 1)
        #expect(!order.acquire(user: 1).waits)
        let old = [2, 1].map { order.acquire(user: 1, age: $0).ticket }
        let new = (0..<2).map { _ in order.acquire(user: 1).ticket }
        let given = (0..<4).map { _ in order.release() }
        // The older of the two running reads is first, whenever it asked for a turn.
        #expect(given == [new[0], old[1], new[1], old[0]])
        #expect(order.release() == nil && order.isEmpty)
        #expect(!order.acquire(user: 1).waits)
    }

    @Test func `law 7: the user whose last turn is longest ago is next`() {
        var order = TurnOrder(turns: 2)
        #expect(!order.acquire(user: 1).waits && !order.acquire(user: 2).waits)
        let greedy = (0..<3).map { _ in order.acquire(user: 2).ticket }
        let modest = order.acquire(user: 1).ticket
        let third = order.acquire(user: 3).ticket
        let given = (0..<5).map { _ in order.release() }
        #expect(given == [third, modest, greedy[0], greedy[1], greedy[2]])
    }

    @Test func `a read passes its turn on if its time is over and another read waits`() throws {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1)
        let turns = ReaderTurns(1, clock)
        let turn = turns.acquire(user: 1)
        clock.advance(byNanoseconds: 2 * ReaderTurns.sliceNanoseconds)
        // No other read waits.
        #expect(!turn.isOver)
        let events = Locked<[String]>([])
        let thread = try KernelThread.start(name: "second") {
            let second = turns.acquire(user: 2)
            events.withLock { $0.append("second") }
            second.end()
        }
        while !turns.isAwaited {}
        #expect(turn.isOver)
        turn.passOn()
        events.withLock { $0.append("first") }
        turn.end()
        thread.join()
        #expect(events.withLock(\.self) == ["second", "first"])
    }

    @Test func `a read keeps its turn until its time is over`() throws {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1)
        let turns = ReaderTurns(1, clock)
        let turn = turns.acquire(user: 1)
        let thread = try KernelThread.start(name: "second") { turns.acquire(user: 2).end() }
        while !turns.isAwaited {}
        clock.advance(byNanoseconds: ReaderTurns.sliceNanoseconds - 1)
        #expect(!turn.isOver)
        clock.advance(byNanoseconds: 1)
        #expect(turn.isOver)
        turn.end()
        thread.join()
        #expect(!turns.isAwaited)
    }

    @Test func `never more reads run than there are turns, and all finish`() throws {
        let turns = ReaderTurns(2)
        let counts = Locked((now: 0, most: 0, ended: 0))
        let threads = try (0..<8).map { number in
            try KernelThread.start(name: "read") {
                for _ in 0..<200 {
                    let turn = turns.acquire(user: UInt32(number % 3))
                    counts.withLock { counts in
                        counts.now += 1
                        counts.most = max(counts.most, counts.now)
                    }
                    counts.withLock { counts in
                        counts.now -= 1
                        counts.ended += 1
                    }
                    turn.end()
                }
            }
        }
        for thread in threads { thread.join() }
        let ended = counts.withLock(\.self)
        #expect(ended.now == 0 && ended.most <= 2 && ended.ended == 1_600)
    }

    // MARK: Room

    private let nodes = ClientMessage.fetch(Fetch(request: FetchDescriptor(entity: "Node")))

    @Test
    func `law 7: a user's reads leave room for others, and the daemon waits meanwhile`()
        throws
    {
        let bench = try EngineBench.ofReaders()
        try bench.insertNodes(10)
        let greedy = try (0..<6).map { _ in
            try bench.client(as: PeerCredentials(uid: 5_001, gid: 1, pid: 1))
        }
        bench.holdReaders(true)
        for client in greedy { _ = try client.send(nodes) }
        for _ in 0..<5 { try bench.turn() }
        // There is room for four reads, and the user may run two, so that two remain for others.
        #expect(bench.engine.reads.running.count == 2 && bench.engine.reads.waiting.count == 4)
        #expect(!bench.engine.reads.hasReadToStart)
        let modest = try bench.client(as: PeerCredentials(uid: 5_002, gid: 1, pid: 1))
        let id = try modest.send(nodes)
        for _ in 0..<3 { try bench.turn() }
        #expect(modest.session.read?.job != nil)
        bench.holdReaders(false)
        #expect(try modest.answer(id).fetched.objects.count == 10)
        for client in greedy { #expect(try client.answer(1).fetched.objects.count == 10) }
    }
}
