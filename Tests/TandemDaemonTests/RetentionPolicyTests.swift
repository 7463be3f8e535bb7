import TandemJournal
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct RetentionPolicyTests {
    /// Ten segments of ten positions and a hundred bytes; the last one is being written.
    let segments = (0..<10 as Range<UInt64>).map {
        JournalSegment(first: $0 * 10 + 1, last: $0 * 10 + 10, bytes: 100)
    }

    /// Plans by age: the last transaction of a segment is one second old for each later position.
    func plan(
        _ policy: RetentionPolicy, checkpoint: UInt64 = 100, floors: [UInt64] = []
    ) -> RetentionPlan {
        let state = RetentionState(
            segments: segments, checkpoint: checkpoint, floors: floors, now: 100_000_000)
        return policy.plan(state) { Int64($0.last) * 1_000_000 }
    }

    @Test func `without bounds everything is kept`() {
        #expect(plan(RetentionPolicy()) == RetentionPlan(trimBelow: 1))
    }

    @Test func `segments above the size are removed`() {
        #expect(
            plan(RetentionPolicy(keepBytes: 650))
                == RetentionPlan(trimBelow: 41, segments: 4, bytes: 400))
        #expect(plan(RetentionPolicy(keepBytes: 1_000)).segments == 0)
        // The last segment stays, whatever its size.
        #expect(plan(RetentionPolicy(keepBytes: 1)).trimBelow == 91)
    }

    @Test func `age counts from a segment's last transaction`() {
        #expect(plan(RetentionPolicy(keepSeconds: 75)).trimBelow == 21)
        #expect(plan(RetentionPolicy(keepSeconds: 0)).trimBelow == 91)
        #expect(plan(RetentionPolicy(keepSeconds: 90)).segments == 0)
        // A segment of unknown age, or from the future, is not old.
        let state = RetentionState(segments: segments, checkpoint: 100, floors: [], now: 50)
        #expect(RetentionPolicy(keepSeconds: 0).plan(state) { _ in nil }.segments == 0)
        #expect(RetentionPolicy(keepSeconds: 0).plan(state) { _ in .max }.segments == 0)
    }

    @Test func `age is due when the oldest segment's last transaction exceeds it`() {
        func due(_ policy: RetentionPolicy, checkpoint: UInt64 = 100) -> Int64? {
            let state = RetentionState(
                segments: segments, checkpoint: checkpoint, floors: [0], now: 0)
            return policy.due(state) { Int64($0.last) * 1_000_000 }
        }
        #expect(due(RetentionPolicy(keepSeconds: 75)) == 86_000_000)
        #expect(due(RetentionPolicy(keepSeconds: .max)) == nil)
        #expect(due(RetentionPolicy(keepBytes: 1)) == nil)
        // Segments that the stored checkpoint does not include are removed after a checkpoint, if
        // at all.
        #expect(due(RetentionPolicy(keepSeconds: 75), checkpoint: 9) == nil)
        let last = RetentionState(
            segments: [segments[9]], checkpoint: 100, floors: [], now: 0)
        #expect(RetentionPolicy(keepSeconds: 1).due(last) { _ in 0 } == nil)
        #expect(
            plan(RetentionPolicy(keepSeconds: 75), checkpoint: 100).segments == 2
                && RetentionPolicy(keepSeconds: 75).plan(
                    RetentionState(segments: segments, checkpoint: 100, floors: [], now: 86_000_000)
                ) { Int64($0.last) * 1_000_000 }.segments == 1)
    }

    @Test func `one bound that is exceeded is enough`() {
        #expect(plan(RetentionPolicy(keepBytes: 650, keepSeconds: 85)).trimBelow == 41)
        #expect(plan(RetentionPolicy(keepBytes: 950, keepSeconds: 65)).trimBelow == 31)
    }

    @Test func `nothing above the durable checkpoint is removed, not even over the cap`() {
        #expect(plan(RetentionPolicy(keepBytes: 1), checkpoint: 34).trimBelow == 31)
        #expect(plan(RetentionPolicy(capBytes: 1), checkpoint: 34).trimBelow == 31)
        #expect(plan(RetentionPolicy(capBytes: 1), checkpoint: 0).segments == 0)
    }

    @Test func `below the cap no reader loses a segment that it needs`() {
        #expect(plan(RetentionPolicy(keepBytes: 1), floors: [60, 29, 80]).trimBelow == 21)
        #expect(plan(RetentionPolicy(keepBytes: 1), floors: [30]).trimBelow == 31)
        #expect(plan(RetentionPolicy(keepBytes: 1), floors: [0]).segments == 0)
    }

    @Test func `over the cap the oldest segments are removed and their readers expired`() {
        let both = RetentionPolicy(keepBytes: 200, capBytes: 700)
        #expect(
            plan(both, floors: [15])
                == RetentionPlan(trimBelow: 31, segments: 3, bytes: 300, expires: true))
        // A reader that needs only segments below the cap keeps them.
        #expect(!plan(both, floors: [40]).expires && plan(both, floors: [40]).trimBelow == 41)
    }

    @Test func `an expired reader retains nothing`() {
        let late = segments.map {
            JournalSegment(first: $0.first + 500, last: $0.last + 500, bytes: 100)
        }
        let state = RetentionState(
            segments: late, checkpoint: 1_000, floors: [499, 600, 0, .max], now: 0)
        #expect(RetentionPolicy(keepBytes: 500).plan(state) { _ in nil }.trimBelow == 551)
    }

    @Test func `a plan has a bounded number of segments`() {
        let state = RetentionState(segments: segments, checkpoint: 100, floors: [], now: 0)
        #expect(RetentionPolicy(keepBytes: 0).plan(state, limit: 3) { _ in nil }.trimBelow == 31)
    }

    @Test func `the standard policy keeps 7 days or 1 GiB, and needed segments below 4 GiB`() {
        let day: Int64 = 86_400_000_000
        /// Segments of 64 MiB, one for each day up to today.
        func plan(_ count: UInt64, daily: Bool = true, floors: [UInt64] = []) -> RetentionPlan {
            let segments = (0..<count).map { (number: UInt64) -> JournalSegment in
                JournalSegment(first: number * 10 + 1, last: number * 10 + 10, bytes: 64 << 20)
            }
            let state = RetentionState(
                segments: segments, checkpoint: count * 10, floors: floors, now: 1_000 * day)
            return RetentionPolicy.standard.plan(state) { (segment: JournalSegment) -> Int64? in
                guard daily else { return state.now }
                let age = Int64(count) - Int64(segment.last / 10)
                return state.now - age * day
            }
        }
        // In a small journal, segments older than a week are removed.
        #expect(plan(8).segments == 0)
        #expect(plan(12).segments == 4)
        // Within a week, segments above 1 GiB are removed.
        #expect(plan(16, daily: false).segments == 0)
        #expect(plan(40, daily: false).segments == 24)
        // A consumer, a client or a pin keeps both.
        #expect(plan(12, floors: [25, 90]).segments == 2)
        #expect(plan(64, daily: false, floors: [0]).segments == 0)
        // No reader can fill the disk.
        let over = plan(70, daily: false, floors: [0])
        #expect(over.segments == 6 && over.expires)
    }

    @Test func `random plans respect every bound`() {
        var random = SplitMix64(seed: seed)
        func some(_ range: ClosedRange<UInt64>) -> UInt64? {
            Bool.random(using: &random) ? .random(in: range, using: &random) : nil
        }
        for round in 0..<5_000 {
            let policy = RetentionPolicy(
                keepBytes: some(0...1_200), keepSeconds: some(0...120), capBytes: some(0...1_200))
            let checkpoint = UInt64.random(in: 0...110, using: &random)
            let floors = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                UInt64.random(in: 0...110, using: &random)
            }
            let plan = plan(policy, checkpoint: checkpoint, floors: floors)
            let what: Comment = "seed \(seed) round \(round)"
            #expect(plan.trimBelow <= checkpoint + 1 || plan.segments == 0, what)
            #expect(plan.trimBelow <= 91 && plan.bytes == UInt64(plan.segments) * 100, what)
            let isNeeded = floors.contains { $0 + 1 < plan.trimBelow }
            #expect(plan.expires == isNeeded, what)
            if isNeeded { #expect(policy.capBytes != nil, what) }
            if let cap = policy.capBytes, plan.trimBelow < 91, plan.trimBelow + 9 <= checkpoint {
                #expect(1_000 - plan.bytes <= cap, what)
            }
            if policy.keepsAll { #expect(plan.segments == 0, what) }
        }
    }
}
