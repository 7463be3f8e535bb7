import FoundationEssentials
package import TandemIO
package import TandemModel
package import TandemQuery
package import TandemWire

/// A generator of random small messages, in which every optional part occurs sometimes.
package struct MessageMaker {
    package var random: SeededGenerator

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Parts

    package mutating func int(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    package mutating func bool() -> Bool { Bool.random(using: &random) }

    package mutating func u64() -> UInt64 { random.next() >> UInt64(int(0...63)) }

    package mutating func u32() -> UInt32 { UInt32(truncatingIfNeeded: u64()) }

    package mutating func tag() -> EntityTag { EntityTag(truncatingIfNeeded: u64()) }

    package mutating func slot() -> Int { int(0...(PropertyMask.capacity - 1)) }

    package mutating func list<Item>(_ most: Int = 4, _ make: (inout Self) -> Item) -> [Item] {
        (0..<int(0...most)).map { _ in make(&self) }
    }

    package mutating func maybe<Item>(_ make: (inout Self) -> Item) -> Item? {
        bool() ? make(&self) : nil
    }

    package mutating func bytes(_ most: Int = 40) -> [UInt8] {
        list(most) { UInt8(truncatingIfNeeded: $0.random.next()) }
    }

    package mutating func text() -> String {
        let letters: [Character] = ["a", "Z", "ß", "é", "日", "🏆", " ", "\"", "\0", "\n"]
        return String(list(12) { $0.letter(letters) })
    }

    private mutating func letter(_ letters: [Character]) -> Character {
        letters[int(0...(letters.count - 1))]
    }

    package mutating func reference() -> ObjectReference {
        ObjectReference(tag: tag(), number: u64())
    }

    package mutating func references() -> [ObjectReference] { list { $0.reference() } }

    package mutating func row() -> Row { Row(bytes: bytes()) }

    package mutating func stored() -> StoredObject {
        StoredObject(object: reference(), version: u64(), row: row())
    }

    package mutating func value() -> PropertyValue {
        switch int(0...10) {
        case 0: .null
        case 1: .bool(bool())
        case 2: .int(Int64(bitPattern: u64()))
        case 3: .double(Double(int(-1_000...1_000)) / 8)
        case 4: .decimal(Decimal(int(-99_999...99_999)) / 100)
        case 5: .string(text())
        case 6: .date(Double(int(0...2_000_000)))
        case 7: .data(bytes())
        case 8: .uuid(uuid())
        case 9: .url(text())
        default: .reference(reference())
        }
    }

    private mutating func uuid() -> UUID {
        let words = (random.next(), random.next())
        return UUID(uuid: unsafeBitCast(words, to: uuid_t.self))
    }

    package mutating func link(isAdded: Bool? = nil) -> LinkChange {
        let actions: [LinkChange.Action] =
            isAdded == true ? [.add, .place] : [.add, .place, .remove]
        return LinkChange(
            slot: slot(), target: reference(), actions[int(0...(actions.count - 1))],
            rank: bool() ? rank() : nil)
    }

    /// Returns a rank, which is never nil.
    package mutating func rank() -> Rank? {
        Rank(bytes(Rank.byteLimit - 1) + [UInt8(int(1...255))])
    }

    package mutating func position() -> Position {
        Position(log: LogID(high: u64(), low: u64()), epoch: u32(), number: u64())
    }

    package mutating func lease() -> Lease { Lease(first: u64() >> 1, count: u32(), epoch: u32()) }

    package mutating func hash() -> StableHash { StableHash(first: u64(), second: u64()) }

    package mutating func request() -> FetchDescriptor {
        FetchDescriptor(
            entity: text(), predicate: maybe { ObjectPredicate($0.predicate(3)) },
            sort: list { SortComponent($0.text() + "k", ascending: $0.bool()) },
            limit: maybe { $0.int(0...1_000) }, offset: int(0...1_000),
            includesSubentities: bool())
    }

    mutating func predicate(_ depth: Int) -> PredicateTree {
        switch int(0...(depth > 0 ? 4 : 1)) {
        case 0: .constant(bool())
        case 1:
            .comparison(
                Comparison(
                    .keyPath(list { $0.text() }), .equal, .constant(value()),
                    options: bool() ? .caseInsensitive : [], quantifier: bool() ? .any : .direct))
        case 2: .and(list(3) { $0.predicate(depth - 1) })
        case 3: .or(list(3) { $0.predicate(depth - 1) })
        default: .not(predicate(depth - 1))
        }
    }

    package mutating func transaction() -> EncodedTransaction {
        let change = list(3) { maker in
            Change(
                .insert, maker.reference(), changed: PropertyMask(low: maker.u64(), high: 0),
                row: maker.row(), links: maker.list { $0.link() })
        }
        return EncodedTransaction(
            Transaction(
                position: u64(), time: Int64(u32()),
                principal: Principal(author: text(), context: text(), uid: u32()),
                saveID: bytes(16), contentHash: hash(), batch: maybe { $0.progress() },
                content: .objects(change)))
    }

    private mutating func progress() -> BatchProgress {
        BatchProgress(reached: reference(), done: u64(), hasEnded: bool())
    }

    package mutating func error() -> TandemError {
        let codes = TandemError.Code.allCases
        var error = TandemError(codes[int(0...(codes.count - 1))], text())
        error.offset = maybe { $0.int(0...10_000) }
        error.problems = list { maker in
            ValidationProblem(
                object: ObjectID(entity: maker.text(), number: maker.u64()),
                property: maker.maybe { $0.text() }, message: maker.text())
        }
        error.conflicts = list { maker in
            MergeConflict(
                object: maker.reference(), baseVersion: maker.u64(),
                theirs: maker.maybe { $0.row() }, theirsVersion: maker.u64())
        }
        return error
    }
}
