import Testing

@testable import TandemJournal

@Suite(.ownThread) struct VacuumPlanTests {
    /// Ten segments of ten positions and a hundred bytes; the last one is being written.
    let segments = (0..<10 as Range<UInt64>).map {
        JournalSegment(first: $0 * 10 + 1, last: $0 * 10 + 10, bytes: 100)
    }

    /// Plans by age: the last transaction of a segment is one second old for each later position.
    func plan(
        _ vacuum: Vacuum, checkpoint: UInt64 = 100, floors: [UInt64] = [], limit: Int = .max
    ) -> VacuumPlan {
        let state = RetentionState(
            segments: segments, checkpoint: checkpoint, floors: floors, now: 100_000_000)
        return vacuum.plan(state, limit: limit) { Int64($0.last) * 1_000_000 }
    }

    @Test func `any bound causes removal, and the last segment stays`() {
        #expect(plan(Vacuum()).removal.segments == 0)
        #expect(plan(Vacuum(keepBytes: 650)).removal.trimBelow == 41)
        #expect(plan(Vacuum(keepSeconds: 75)).removal.trimBelow == 21)
        #expect(plan(Vacuum(before: 31)).removal.trimBelow == 31)
        #expect(plan(Vacuum(before: 30)).removal.trimBelow == 21)
        #expect(plan(Vacuum(keepBytes: 950, keepSeconds: 75, before: 41)).removal.trimBelow == 41)
        for all in [Vacuum(keepBytes: 0), Vacuum(keepSeconds: 0), Vacuum(before: 1_000)] {
            #expect(plan(all).removal == RetentionPlan(trimBelow: 91, segments: 9, bytes: 900))
        }
    }

    @Test func `a holder retains the segments it needs and later ones, and their size is reported`()
    {
        let held = plan(Vacuum(keepBytes: 0), floors: [25, 100, 90, 20])
        #expect(held.removal.trimBelow == 21)
        #expect(held.held == [700, 0, 0, 700])
        #expect(!held.isMore && !held.removal.expires)
        let forced = plan(Vacuum(keepBytes: 0, isForced: true), floors: [25, 100, 90, 20])
        #expect(forced.removal.trimBelow == 91 && forced.removal.expires)
        #expect(forced.held == [700, 0, 0, 700])
        // Only segments that the request covers count.
        #expect(plan(Vacuum(before: 31), floors: [5, 25]).held == [300, 100])
    }

    @Test func `an expired holder retains nothing`() {
        let state = RetentionState(
            segments: Array(segments.dropFirst(3)), checkpoint: 100, floors: [29, 30], now: 0)
        let plan = Vacuum(keepBytes: 0).plan(state) { _ in nil }
        #expect(plan.held == [0, 600] && plan.removal.segments == 0)
    }

    @Test func `law 1: segments that the stored checkpoint does not include stay, forced or not`() {
        let forced = plan(Vacuum(before: 1_000, isForced: true), checkpoint: 39)
        #expect(forced.removal.trimBelow == 31 && !forced.isMore)
    }

    @Test func `segments beyond the limit of one request are reported as more`() {
        let part = plan(Vacuum(keepBytes: 0), limit: 4)
        #expect(part.removal.segments == 4 && part.isMore)
        #expect(!plan(Vacuum(keepBytes: 0), limit: 9).isMore)
        // Another request would not remove retained segments.
        #expect(!plan(Vacuum(keepBytes: 0), floors: [40], limit: 4).isMore)
        #expect(plan(Vacuum(keepBytes: 0), floors: [45], limit: 3).isMore)
    }
}
