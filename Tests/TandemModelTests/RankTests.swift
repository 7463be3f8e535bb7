import TandemModel
import TestSupport
import Testing

/// Ranks, and the choice of ranks for a list.
struct RankTests {
    private func random(_ chance: inout SplitMix64) -> Rank {
        while true {
            let bytes = (0..<(1 + chance.next(4))).map { _ in
                [0, 1, 127, 254, 255, UInt8(chance.next(256))][chance.next(6)]
            }
            if let rank = Rank(bytes) { return rank }
        }
    }

    private func isAscending(_ ranks: [Rank]) -> Bool {
        zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 }
    }

    @Test func `new ranks ascend strictly between their neighbours`() throws {
        for run in 0..<500 {
            var chance = SplitMix64(seed: seed &+ UInt64(run))
            let ends = [random(&chance), random(&chance)].sorted()
            let low = chance.next(4) == 0 ? nil : ends[0]
            let high = chance.next(4) == 0 ? nil : ends[1]
            let count = 1 + chance.next(chance.next(20) == 0 ? 300 : 5)
            let ranks = Rank.between(low, high, count: count)
            if let low, let high, low == high {
                #expect(ranks == nil)
                continue
            }
            let found = try #require(ranks, "TANDEM_SEED=\(seed) run \(run)")
            #expect(found.count == count)
            #expect(
                isAscending([low].compactMap { $0 } + found + [high].compactMap { $0 }),
                "TANDEM_SEED=\(seed) run \(run) \([low, high]) \(found)")
        }
    }

    @Test func `invalid ranks are refused`() {
        #expect(Rank([]) == nil)
        #expect(Rank([1, 0]) == nil)
        #expect(Rank([UInt8](repeating: 1, count: Rank.byteLimit + 1)) == nil)
        #expect(Rank([UInt8](repeating: 1, count: Rank.byteLimit)) != nil)
        for bytes in [[0], [2, 1, 0], [25] + [UInt8](repeating: 1, count: 25)] as [[UInt8]] {
            var reader = ByteReader(bytes)
            #expect(throws: CodingError.self) { try reader.rank() }
        }
    }

    // MARK: Plans

    /// A list whose members are identified by their numbers.
    private struct List {
        var members: [RankPlan.Member] = []
        private(set) var changes = 0

        var numbers: [UInt64] { members.map(\.member.number) }

        /// Changes the order of the members; returns the number of ranks changed.
        @discardableResult
        mutating func arrange(_ wanted: [UInt64]) -> Int {
            let known = Dictionary(
                uniqueKeysWithValues: members.map { ($0.member.number, $0.rank) })
            let order = wanted.map { number in
                RankPlan.Member(
                    member: ObjectReference(tag: 1, number: number), rank: known[number] ?? nil)
            }
            let plan = RankPlan(order)
            members = order.map { ($0.member, plan.changed[$0.member] ?? $0.rank) }
                .sorted(by: RankPlan.isBefore)
            changes += plan.changed.count
            return plan.changed.count
        }

        var longest: Int { members.compactMap { $0.rank?.bytes.count }.max() ?? 0 }
    }

    @Test
    func `a plan gives the wanted order and leaves a longest increasing subsequence unchanged`() {
        for run in 0..<200 {
            var chance = SplitMix64(seed: seed &+ UInt64(run))
            var list = List()
            let count = 1 + chance.next(12)
            list.members = (0..<count).map { index in
                let rank = chance.next(5) == 0 ? nil : Rank([UInt8(1 + chance.next(250))])
                return (ObjectReference(tag: 1, number: UInt64(1 + index)), rank)
            }
            let known = list.members.sorted(by: RankPlan.isBefore)
            let wanted = list.numbers.shuffled(using: &chance)
            let moved = list.arrange(wanted)
            #expect(list.numbers == wanted, "TANDEM_SEED=\(seed) run \(run)")
            // The old indexes of the ranked members; a longest increasing subsequence of them can
            // keep its ranks.
            let order = wanted.compactMap { number in
                known.firstIndex { $0.member.number == number && $0.rank != nil }
            }
            let fewest = count - longestRun(order)
            #expect(moved >= fewest, "TANDEM_SEED=\(seed) run \(run)")
            let isTied = Set(known.compactMap(\.rank)).count < known.compactMap(\.rank).count
            if !isTied { #expect(moved == fewest, "TANDEM_SEED=\(seed) run \(run)") }
        }
    }

    /// Returns the length of a longest increasing subsequence, by dynamic programming.
    private func longestRun(_ values: [Int]) -> Int {
        var best = [Int](repeating: 1, count: values.count)
        for at in values.indices {
            for earlier in 0..<at where values[earlier] < values[at] {
                best[at] = max(best[at], best[earlier] + 1)
            }
        }
        return best.max() ?? 0
    }

    @Test func `members in order are left alone`() {
        var list = List()
        list.arrange([3, 1, 2])
        #expect(list.arrange([3, 1, 2]) == 0)
        #expect(list.arrange([3, 2]) == 0)
        #expect(list.arrange([2, 3]) == 1)
    }

    @Test(arguments: ["front", "second", "before the last", "between two"])
    func `insertions at one index end in ranks of bounded length`(_ place: String) {
        var list = List()
        var numbers: [UInt64] = []
        let count = Volume.of(160, deep: 400)
        for number in 1...UInt64(count) {
            let at =
                switch place {
                case "front": 0
                case "second": min(1, numbers.count)
                case "before the last": max(0, numbers.count - 1)
                default: numbers.count / 2
                }
            numbers.insert(number, at: at)
            list.arrange(numbers)
        }
        #expect(list.numbers == numbers)
        #expect(list.longest <= Rank.byteLimit / 2)
        // Compared with the number of insertions, few neighbours were moved.
        #expect(list.changes < 3 * count, "\(list.changes)")
    }

    @Test func `appending makes no rank longer`() {
        var last = Rank.between(nil, nil)?.first
        for _ in 0..<20_000 { last = Rank.between(last, nil)?.first }
        #expect(last?.bytes.count ?? 99 <= 4)
    }

    @Test func `members of equal rank get room between them`() throws {
        let rank = try #require(Rank([0x80]))
        var list = List()
        list.members = (1...5).map { (ObjectReference(tag: 1, number: $0), rank) }
        list.arrange([1, 2, 9, 3, 4, 5])
        #expect(list.numbers == [1, 2, 9, 3, 4, 5])
    }

    @Test func `ranks without room between them get some`() throws {
        let full = try #require(Rank([UInt8](repeating: 255, count: Rank.byteLimit)))
        let least = try #require(Rank([UInt8](repeating: 0, count: Rank.byteLimit - 1) + [1]))
        var list = List()
        list.members = [
            (ObjectReference(tag: 1, number: 1), least), (ObjectReference(tag: 1, number: 2), full),
        ]
        list.arrange([3, 1, 2, 4])
        #expect(list.numbers == [3, 1, 2, 4])
        #expect(list.longest <= Rank.byteLimit / 2)
    }

    // MARK: Coding

    @Test func `a link survives encoding and decoding, and takes 12 bytes without a rank`() throws {
        let target = ObjectReference(tag: 3, number: 77)
        let rank = try #require(Rank([7, 200]))
        for action in [LinkChange.Action.remove, .add, .place] {
            for link in [
                LinkChange(slot: 9, target: target, action),
                LinkChange(slot: 9, target: target, action, rank: rank),
            ] {
                var writer = ByteWriter()
                link.encode(into: &writer)
                #expect(writer.count == (link.rank == nil ? 12 : 15))
                var reader = ByteReader(writer.bytes)
                #expect(try LinkChange(from: &reader) == link)
                #expect(reader.isAtEnd)
            }
        }
        var reader = ByteReader([9, 3, 3, 0, 77, 0, 0, 0, 0, 0, 0, 0])
        #expect(throws: CodingError.self) { try LinkChange(from: &reader) }
    }

    @Test func `a change has ranks if and only if the relationship is ordered`() throws {
        let model = try CompiledModel(
            ManagedObjectModel {
                Entity("Team") {
                    Relationship("line", to: "Player", inverse: "team", toMany: true, ordered: true)
                    Relationship("fans", to: "Player", inverse: "likes", toMany: true)
                }
                Entity("Player") {
                    Relationship("team", to: "Team", inverse: "line")
                    Relationship("likes", to: "Team", inverse: "fans", toMany: true)
                }
            })
        let team = try #require(model.entity(named: "Team"))
        let object = ObjectReference(tag: team.tag, number: 1)
        let rank = Rank([1])
        func isValid(_ name: String, _ action: LinkChange.Action, _ rank: Rank?) throws -> Bool {
            let slot = try #require(team.slot(of: name))
            let link = LinkChange(slot: slot, target: object, action, rank: rank)
            return Change(.touch, object, changed: PropertyMask([slot]), links: [link])
                .isValid(for: team)
        }
        for action in [LinkChange.Action.add, .remove] {
            #expect(try isValid("line", action, rank))
            #expect(try !isValid("line", action, nil))
            #expect(try isValid("fans", action, nil))
            #expect(try !isValid("fans", action, rank))
        }
        #expect(try !isValid("line", .place, rank))
    }

    @Test func `only a to-many relationship can be ordered`() {
        let model = ManagedObjectModel {
            Entity("A") {
                Relationship("bs", to: "B", inverse: "a", toMany: true)
            }
            Entity("B") { Relationship("a", to: "A", inverse: "bs", ordered: true) }
        }
        #expect {
            try CompiledModel(model)
        } throws: { error in
            "\(error)".contains("B.a: `ordered` applies to to-many relationships only")
        }
    }
}

extension SplitMix64 {
    fileprivate mutating func next(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}
