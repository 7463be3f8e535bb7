import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The committer when the disk or the map is full, with the test's own disk and clock.
@Suite(.ownThread) struct ShortageTests {
    private let text = PropertyValue.string(String(repeating: "x", count: 20_000))

    private func fill(_ client: Peer, _ bench: EngineBench) throws -> UInt64 {
        for number in UInt64(1)...200 {
            do {
                try client.save([try bench.bench.insert("Node", number, ["name": text])])
            } catch let error as TandemError {
                #expect(error.code == .readOnly)
                return number
            }
        }
        Issue.record("the disk did not fill up")
        return 0
    }

    /// Sends saves as one batch on a full disk, expects all to be refused, and waits until the
    /// daemon retries.
    ///
    /// Returns the errors, in the order of the saves.
    private func refuse(
        _ saves: [SaveRequest], of clients: [Peer], _ bench: EngineBench, _ clock: ManualClock
    ) throws -> [TandemError] {
        bench.bench.disk.faults.writesUntilFailure = 1
        bench.bench.disk.faults.writeErrno = 28
        let ids = try zip(clients, saves).map { try $0.send(.save($1)) }
        let errors = try zip(clients, ids).compactMap { client, id -> TandemError? in
            guard case .failure(let error) = try client.answer(id) else { return nil }
            return error
        }
        #expect(errors.map(\.code) == saves.map { _ in .readOnly })
        clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        return errors
    }

    @Test func `laws 3 and 8: clients are notified of a full disk and of the end of the shortage`()
        throws
    {
        let clock = ManualClock(monotonicNanoseconds: 5, wallMicroseconds: 1_000_000)
        let bench = try EngineBench(clock: clock)
        let saver = try bench.client(Hello(author: "a", interests: ["Node"]))
        bench.bench.disk.capacityBytes = 300 << 10
        let refused = try fill(saver, bench)
        let state = try #require(saver.states.last)
        #expect(saver.states.count == 1)
        #expect(state.isReadOnly && state.since == 1_000_000)
        #expect(state.reason.contains("/journal"))
        #expect(bench.engine.status["readOnlyReason"] == .string(state.reason))
        #expect(bench.engine.status["readOnlySince"] == .double(1))
        // A client that connects now is notified immediately, and can read.
        let late = try bench.client()
        #expect(late.welcome?.isReadOnly == true)
        #expect(late.states == saver.states)
        let count = try late.fetch(Fetch(request: FetchDescriptor(entity: "Node"), kind: .count))
        #expect(count.count == refused - 1)
        // The shortage is not retried before its time.
        bench.bench.disk.capacityBytes = nil
        try bench.engine.committer.retryIfDue()
        #expect(bench.engine.committer.isReadOnly)
        clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        try bench.engine.committer.retryIfDue()
        try bench.turn()
        for client in [saver, late] {
            try client.read()
            #expect(client.states.map(\.isReadOnly) == [true, false])
        }
        try saver.save([try bench.bench.insert("Node", refused, ["name": text])])
        #expect(saver.pushes.map(\.transaction.position) == Array(2...(refused + 1)))
    }

    @Test func `laws 1 and 3: a batch that fitted only in part has no effect`() throws {
        let clock = ManualClock()
        let bench = try CommitBench(clock: clock)
        try bench.save([try bench.insert("Node", 1, ["name": text])])
        let before = try dump(bench.store)
        let end = bench.committer.position
        bench.disk.faults.writesUntilFailure = 1
        bench.disk.faults.writeErrno = 28
        bench.disk.faults.bytesKept = 700
        let error = try bench.refusal([try bench.insert("Node", 2, ["name": text])])
        #expect(error?.code == .readOnly)
        #expect(bench.committer.position == end)
        #expect(try dump(bench.store) == before)
        // The disk has space again at once; the daemon notices with its next retry.
        #expect(try bench.refusal([try bench.insert("Node", 2)])?.code == .readOnly)
        clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        let saved = try bench.save([try bench.insert("Node", 2)])
        #expect(saved.position == end + 1)
        let after = try dump(bench.store)
        try bench.cutPower(seed: seed)
        #expect(try dump(bench.store) == after)
    }

    @Test func `law 3: all saves of a batch without space are refused and may be repeated`() throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(clock: clock)
        let (one, two) = (try bench.client(), try bench.client())
        let saves = [
            one.saveRequest([try bench.bench.insert("Node", 1)]),
            two.saveRequest([try bench.bench.insert("Node", 2)]),
        ]
        _ = try refuse(saves, of: [one, two], bench, clock)
        for (client, save) in zip([one, two], saves) {
            guard case .saved(let saved) = try client.ask(.save(save)) else {
                Issue.record("the repeated save was refused")
                return
            }
            #expect(saved.wrote && !saved.isRepeat)
        }
        #expect(bench.position.number == 3)
    }

    @Test func `law 3: no save is answered based on the effect of a failed batch`() throws {
        let clock = ManualClock()
        let bench = try EngineBench(clock: clock)
        let (one, two) = (try bench.client(), try bench.client())
        try one.save([try bench.bench.insert("Node", 1)])
        // The second save has no effect of its own, because the first one in the same batch does
        // the same.
        let saves = try [one, two].map { client in
            client.saveRequest([
                try bench.bench.update("Node", 1, ["name": PropertyValue.string("x")])
            ])
        }
        _ = try refuse(saves, of: [one, two], bench, clock)
        guard case .saved(let saved) = try two.ask(.save(saves[1])) else {
            Issue.record("the repeated save was refused")
            return
        }
        #expect(saved.wrote && !saved.isRepeat && saved.position == bench.position.number)
    }

    @Test func `laws 1 and 3: a failed batch causes no conflicts`()
        throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(clock: clock)
        let (one, two) = (try bench.client(), try bench.client())
        try one.save([try bench.bench.insert("Node", 1)])
        let version = try bench.bench.version("Node", 1)
        let saves = try [one, two].enumerated().map { index, client in
            let name = ["name": PropertyValue.string("\(index)")]
            return client.saveRequest([
                try bench.bench.update("Node", 1, name, version: version)
            ])
        }
        let errors = try refuse(saves, of: [one, two], bench, clock)
        #expect(errors.flatMap(\.conflicts).isEmpty)
        // The client that repeats its save first succeeds; the other one has a conflict.
        guard case .saved(let saved) = try two.ask(.save(saves[1])),
            case .failure(let error) = try one.ask(.save(saves[0]))
        else {
            Issue.record("the failed batch had an effect")
            return
        }
        #expect(saved.wrote && error.conflicts.map(\.theirsVersion) == [saved.position])
    }

    @Test
    func `law 3: a save without effect whose answer can't be stored is refused, not forgotten`()
        throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(clock: clock)
        let client = try bench.client()
        let number = client.welcome?.lease.first ?? 0
        try client.save([try bench.bench.insert("Node", number, ["name": text])])
        let same = try bench.bench.update("Node", number, ["name": text])
        let request = client.saveRequest([same])
        // The batch has nothing to write to the journal, and the checkpoint has no space.
        bench.engine.committer.enterReadOnly(.store, "no room")
        guard case .failure(let error) = try client.ask(.save(request)) else {
            Issue.record("answered, although the answer could not be stored")
            return
        }
        #expect(error.code == .readOnly)
        // It is counted as refused, not as saved.
        #expect(bench.engine.reporter.metrics.saves.count == 1)
        #expect(bench.engine.status["refusedSaves"]?["readOnly"] == .int(1))
        clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        guard case .saved(let first) = try client.ask(.save(request)),
            case .saved(let second) = try client.ask(.save(request))
        else {
            Issue.record("refused with room")
            return
        }
        #expect(!first.wrote && !first.isRepeat)
        #expect(second.isRepeat && second.position == first.position)
    }

    @Test func `law 3: a store at its quota refuses saves and keeps acknowledged ones`() throws {
        let clock = ManualClock()
        let bench = try CommitBench(quotaBytes: 2 << 20, clock: clock)
        var number: UInt64 = 0
        /// Saves until a save is refused twice, the second time with no changes waiting for a
        /// checkpoint.
        func fill() throws {
            var refusals = 0
            while refusals < 2, number < 500 {
                let refusal = try bench.refusal([
                    try bench.insert("Node", number + 1, ["name": text])
                ])
                guard let refusal else {
                    (number, refusals) = (number + 1, 0)
                    continue
                }
                #expect(refusal.code == .readOnly && refusal.message.contains("mapBytes"))
                // Saves are refused by the same figure that `tandem health` reports.
                #expect(Maintenance.percent(bench.store) >= 90)
                refusals += 1
                // The daemon retries, and commits its pending changes.
                clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
                try bench.committer.retryIfDue()
                #expect(!bench.committer.isReadOnly)
            }
        }
        try fill()
        #expect(number > 20 && number < 500)
        let expected = try dump(bench.store)
        #expect(bench.committer.position == number + 1)
        #expect(bench.store.checkpointPosition == number + 1)
        try bench.crash()
        #expect(try dump(bench.store) == expected)
        let again = try bench.refusal([try bench.insert("Node", number + 1, ["name": text])])
        #expect(again?.code == .readOnly)
        // Deletions free space, once there is space for the deletions themselves.
        try bench.crash(quotaBytes: 3 << 20)
        #expect(try dump(bench.store) == expected)
        for deleted in 1...(number / 2) { try bench.save([try bench.delete("Node", deleted)]) }
        try bench.committer.checkpoint()
        try bench.crash(quotaBytes: 2 << 20)
        #expect(Maintenance.percent(bench.store) < 80)
        try bench.save([try bench.insert("Node", number + 1, ["name": text])])
    }

    @Test
    func `law 3: a model change beyond the quota is refused without effect`() throws {
        let clock = ManualClock()
        let bench = try CommitBench(quotaBytes: 2 << 20, clock: clock)
        for number in UInt64(1)...55 {
            try bench.save([try bench.insert("Node", number, ["name": text])])
        }
        try bench.committer.checkpoint()
        let expected = try dump(bench.store)
        var model = graphModel
        model.entities["Node"]?.attributes["motto"] = Attribute("motto", .string)
        let error = #expect(throws: TandemError.self) {
            try bench.committer.install(model, by: Principal())
        }
        #expect(error?.code == .readOnly && bench.committer.isReadOnly)
        #expect(try dump(bench.store) == expected)
        clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        try bench.committer.retryIfDue()
        #expect(!bench.committer.isReadOnly && bench.committer.position == 56)
        try bench.crash(quotaBytes: 16 << 20)
        #expect(try dump(bench.store) == expected)
        try bench.committer.install(model, by: Principal())
        #expect(try bench.model.version == 2)
    }

    @Test(arguments: [300 << 10, 512 << 10])
    func `law 3: a store that reaches its quota at any save loses nothing`(_ quota: Int) throws {
        let clock = ManualClock()
        let bench = try CommitBench(quotaBytes: quota, clock: clock)
        var random = SplitMix64(seed: seed)
        var number: UInt64 = 0
        var kept: UInt64 = 0
        for _ in 0..<80 {
            number += 1
            let size = Int.random(in: 1...9_000, using: &random)
            let name = PropertyValue.string(String(repeating: "y", count: size))
            if try bench.refusal([try bench.insert("Node", number, ["name": name])]) == nil {
                kept += 1
            }
            if Int.random(in: 0..<5, using: &random) == 0 { try bench.committer.checkpoint() }
            clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        }
        #expect(bench.committer.position == kept + 1)
        let expected = try dump(bench.store)
        #expect(kept > 20 && kept < 80)
        try bench.crash()
        #expect(try dump(bench.store) == expected, "seed \(seed)")
    }

    @Test func `laws 7 and 8: a client that does not read receives the latest state only`() throws {
        let clock = ManualClock()
        let bench = try EngineBench(clock: clock)
        let saver = try bench.client()
        let silent = try bench.client(Hello(author: "silent", interests: ["Node"]))
        // Fills the silent client's socket and its queue.
        for number in UInt64(1)...120 {
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        #expect(!silent.session.hasRoom)
        let queued = silent.session.outboundBytes
        for round in 0..<500 {
            if round.isMultiple(of: 2) {
                bench.engine.committer.enterReadOnly(.store, "round \(round)")
            } else {
                bench.engine.committer.leaveReadOnly(.store)
            }
            bench.engine.announceReadOnlyState()
        }
        #expect(silent.session.outboundBytes == queued)
        #expect(!bench.engine.committer.isReadOnly)
    }
}
