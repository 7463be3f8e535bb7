import TandemIO
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Reads that are carried out in steps, between which others save.
extension RandomGraph {
    /// Carries out a read in steps of one to three; with a chance of so many percent, and 25 times at most, something is saved after one.
    mutating func inSteps(
        _ read: ReadUnderWay, _ random: inout SplitMix64, savingPercent percent: Int
    ) throws -> ReadUnderWay {
        var saves = 0
        var left = Int.random(in: 1...3, using: &random)
        while !(try read.step(bench.committer, &left)) {
            if saves < 25, Int.random(in: 0..<100, using: &random) < percent {
                try step()
                saves += 1
            }
            left = Int.random(in: 1...3, using: &random)
        }
        return ended(read)
    }

    /// Carries out a read in one step.
    func atOnce(_ read: ReadUnderWay) throws -> ReadUnderWay {
        var left = Int.max >> 1
        #expect(try read.step(bench.committer, &left))
        return ended(read)
    }

    private func ended(_ read: ReadUnderWay) -> ReadUnderWay {
        #expect(read.past != nil || read.position == bench.committer.position)
        return read
    }
}

extension EngineBench {
    /// A daemon that reads ten at a turn, and has given out a million numbers.
    static func ofSmallTurns() throws -> EngineBench {
        var limits = DaemonLimits()
        limits.sliceReads = 10
        let bench = try EngineBench(limits: limits, engineClock: ManualClock())
        _ = try bench.bench.committer.lease(1 << 20)
        return bench
    }

    /// Asks, and saves at each turn until the answer is there; how many turns that took, and the answer.
    func turns(
        _ question: ClientMessage, saving save: (_ turn: Int) throws -> SaveOperation
    ) throws -> (turns: Int, answer: DaemonMessage) {
        let (asker, saver) = (try client(), try client())
        let id = try asker.send(question)
        var turns = 0
        while asker.received.isEmpty, turns < 1_000 {
            let saved = try saver.send(.save(saver.saveRequest([try save(turns)])))
            try turn()
            try saver.read()
            #expect(saver.received.last?.id == saved)
            try asker.read()
            turns += 1
        }
        return (turns, try asker.answer(id))
    }
}
